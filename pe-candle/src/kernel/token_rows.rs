//! The row of a table that each token uses.

use std::sync::Arc;

/// The row of a table that each token uses.
#[derive(Debug, Clone)]
pub(crate) enum TokenRows {
    /// Row `first + t`.
    From(usize),
    /// One id for each step, `[T]`.
    PerStep(Arc<[u32]>),
    /// One id for each token, `[B, T]`.
    PerToken(Arc<[u32]>),
    /// Row `first[b] + t`, with one `first` for each sequence, `[B]`.
    PerSequence(Arc<[u32]>),
    /// The table has a row for each token, `[B, T]`.
    Each,
    /// The table has a row for each head and step, `[H, T]`. Only rotations have heads.
    PerHead,
}

impl TokenRows {
    /// Returns the row of a token, where sequences have `steps` tokens.
    #[inline(always)]
    pub(super) fn of(&self, batch: usize, time: usize, steps: usize) -> usize {
        match self {
            Self::From(first) => first + time,
            Self::PerStep(ids) => ids[time] as usize,
            Self::PerToken(ids) => ids[batch * steps + time] as usize,
            Self::PerSequence(firsts) => firsts[batch] as usize + time,
            // For rows by head, `batch` is the head.
            Self::Each | Self::PerHead => batch * steps + time,
        }
    }
}
