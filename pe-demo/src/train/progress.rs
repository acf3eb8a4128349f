//! Bars on the terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::encoder::Scheme;

/// A bar for each scheme, with the time left, on standard error. There are none where that is
/// not a terminal, and none are left at the end.
#[derive(Debug, Default)]
pub(super) struct Progress {
    bars: MultiProgress,
}

impl Progress {
    pub(super) fn add(&self, scheme: Scheme, steps: u64, done: u64) -> ProgressBar {
        let bar = self.bars.add(ProgressBar::new(steps));
        let template = "{prefix:<10} {wide_bar} {pos:>5}/{len}  {msg:<24}  {eta:>4} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(scheme.name());
        bar.set_position(done);
        bar.reset_eta();
        bar
    }
}
