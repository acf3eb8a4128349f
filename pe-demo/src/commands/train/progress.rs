//! Bars on the terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::encoder::Scheme;

/// A bar for each scheme, with the time left. There are none where the target is not a terminal, and none are left at the end.
#[derive(Debug)]
pub(super) struct Progress {
    bars: MultiProgress,
}

impl Progress {
    pub(super) fn new(target: ProgressDrawTarget) -> Self {
        Self {
            bars: MultiProgress::with_draw_target(target),
        }
    }

    pub(super) fn add(&self, scheme: Scheme, steps: u64, done: u64) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new(steps));
        let template = "{prefix:<10} {wide_bar:.cyan} {pos:>5}/{len}  {msg:<24}  {eta:>4} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(scheme.name());
        bar.set_position(done);
        bar.reset_eta();
        bar
    }
}
