//! Orders of the axes of inputs.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

/// Order of the axes of the input. `B` is the batch and `T` the time, the position in the
/// sequence.
///
/// The order is never guessed, because `[T, B, d_model]` read as `[B, T, d_model]` has a valid shape
/// and wrong positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AxisOrder {
    /// `[B, T, d_model]`, as in most models in Candle.
    #[default]
    BatchFirst,
    /// `[T, B, d_model]`, as in PyTorch's tutorial and labml.
    SequenceFirst,
    /// `[T, d_model]`, a single sequence.
    Unbatched,
}

impl AxisOrder {
    /// Returns batch and time of a shape, or `None` for another number of axes.
    pub(crate) fn read(self, dims: &[usize]) -> Option<(usize, usize)> {
        match (self, dims) {
            (Self::BatchFirst, [batch, time, _]) => Some((*batch, *time)),
            (Self::SequenceFirst, [time, batch, _]) => Some((*batch, *time)),
            (Self::Unbatched, [time, _]) => Some((1, *time)),
            _ => None,
        }
    }

    /// Returns the requirement on shapes, for messages.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::BatchFirst => "batch-first input must have shape [B, T, d_model]",
            Self::SequenceFirst => "sequence-first input must have shape [T, B, d_model]",
            Self::Unbatched => "unbatched input must have shape [T, d_model]",
        }
    }
}

/// Order of the axes of queries and keys. `B` is the batch, `H` the heads, and `T` the time, the
/// position in the sequence.
///
/// The order is never guessed, because `[B, T, H, head_dim]` read as `[B, H, T, head_dim]`, or
/// `[T, B, H, head_dim]` read as `[B, T, H, head_dim]`, has a valid shape and wrong positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeadOrder {
    /// `[B, H, T, head_dim]`, as in most models in Candle.
    #[default]
    HeadFirst,
    /// `[B, T, H, head_dim]`, as flash-attention expects.
    TimeFirst,
    /// `[T, B, H, head_dim]`, as in Megatron, and in ChatGLM and GLM-4 in Candle.
    SequenceFirst,
}

impl HeadOrder {
    /// Returns batch and time of a shape, or `None` for another number of axes.
    pub(crate) fn read(self, dims: &[usize]) -> Option<(usize, usize)> {
        match (self, dims) {
            (Self::HeadFirst, [batch, _, time, _]) => Some((*batch, *time)),
            (Self::TimeFirst, [batch, time, _, _]) => Some((*batch, *time)),
            (Self::SequenceFirst, [time, batch, _, _]) => Some((*batch, *time)),
            _ => None,
        }
    }

    /// Returns the requirement on shapes, for messages.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::HeadFirst => "head-first input must have shape [B, H, T, head_dim]",
            Self::TimeFirst => "time-first input must have shape [B, T, H, head_dim]",
            Self::SequenceFirst => "sequence-first input must have shape [T, B, H, head_dim]",
        }
    }
}
