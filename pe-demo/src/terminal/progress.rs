//! Bars on a terminal. There are none where standard error is not a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Creates a bar of a length, or one that only moves, in a style of indicatif's templates.
pub(crate) fn bar(target: ProgressDrawTarget, length: Option<u64>, template: &str) -> ProgressBar {
    styled(ProgressBar::with_draw_target(length, target), template)
}

/// Bars of many jobs: one for each that runs, and one for all together.
pub(crate) struct Bars {
    group: MultiProgress,
    all: ProgressBar,
}

impl Bars {
    /// Creates the bar of all jobs, which have `steps` together.
    pub(crate) fn new(target: ProgressDrawTarget, steps: u64) -> Self {
        let group = MultiProgress::with_draw_target(target);
        let all = group.add(ProgressBar::new(steps));
        let template = "{msg:<29} {wide_bar:.green} {percent:>3} %  {eta:>4} left";
        Self {
            all: styled(all, template),
            group,
        }
    }

    /// Creates the bar of a job above that of all: its name, how many steps it has, and how many are
    /// done. Returns both bars.
    pub(crate) fn job(&self, name: String, steps: u64, done: u64) -> [ProgressBar; 2] {
        let bar = self.group.insert_before(&self.all, ProgressBar::new(steps));
        let bar = styled(
            bar,
            "{prefix:<29} {wide_bar:.cyan} {pos:>5}/{len}  {msg:<23}",
        );
        bar.set_prefix(name);
        bar.set_position(done);
        self.all.inc(done);
        self.all.reset_eta();
        [bar, self.all.clone()]
    }

    /// Shows how many jobs are done.
    pub(crate) fn note(&self, text: String) {
        self.all.set_message(text);
    }

    /// Removes the bar of all.
    pub(crate) fn finish(&self) {
        self.all.finish_and_clear();
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
