//! Bars on a terminal. There are none where standard error is not a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Creates a bar of a length, or one that only moves, in a style of indicatif's templates.
pub(crate) fn bar(target: ProgressDrawTarget, length: Option<u64>, template: &str) -> ProgressBar {
    styled(ProgressBar::with_draw_target(length, target), template)
}

/// Creates a bar for each of several jobs: its name, how many steps it has, and how many are done.
/// The bars are gone once they are finished.
pub(crate) fn bars<'a>(
    target: ProgressDrawTarget,
    jobs: impl IntoIterator<Item = (&'a str, u64, u64)>,
) -> Vec<ProgressBar> {
    let all = MultiProgress::with_draw_target(target);
    let template = "{prefix:<10} {wide_bar:.cyan} {pos:>5}/{len}  {msg:<24}  {eta:>4} left";
    let add = |(name, steps, done): (&'a str, u64, u64)| {
        let bar = styled(all.add(ProgressBar::new(steps)), template);
        bar.set_prefix(name.to_owned());
        bar.set_position(done);
        bar.reset_eta();
        bar
    };
    jobs.into_iter().map(add).collect()
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
