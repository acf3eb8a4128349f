//! The order of axes of inputs.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

/// The order of the axes of the input. `B` is the batch, `T` the time, that is, the position in
/// the sequence.
///
/// There is no guessing: `[T, B, d_model]` read as `[B, T, d_model]` has a legal shape and
/// wrong positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AxisOrder {
    /// `[B, T, d_model]`, as most models in Candle have it.
    #[default]
    BatchFirst,
    /// `[T, B, d_model]`, as PyTorch's tutorial and labml have it.
    SequenceFirst,
    /// `[T, d_model]`, a single sequence.
    Unbatched,
}

impl AxisOrder {
    /// Batch and time of a shape.
    pub(crate) fn read(self, dims: &[usize]) -> Option<(usize, usize)> {
        match (self, dims) {
            (Self::BatchFirst, [batch, time, _]) => Some((*batch, *time)),
            (Self::SequenceFirst, [time, batch, _]) => Some((*batch, *time)),
            (Self::Unbatched, [time, _]) => Some((1, *time)),
            _ => None,
        }
    }

    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::BatchFirst => "batch-first input must have shape [B, T, d_model]",
            Self::SequenceFirst => "sequence-first input must have shape [T, B, d_model]",
            Self::Unbatched => "unbatched input must have shape [T, d_model]",
        }
    }
}

/// The order of the axes of queries and keys: `B` is the batch, `H` the heads, `T` the time, that
/// is, the position in the sequence.
///
/// There is no guessing: `[B, T, H, head_dim]` read as `[B, H, T, head_dim]`, or `[T, B, H, head_dim]`
/// read as `[B, T, H, head_dim]`, has a legal shape and wrong positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeadOrder {
    /// `[B, H, T, head_dim]`, as most models in Candle have it.
    #[default]
    HeadFirst,
    /// `[B, T, H, head_dim]`, as flash-attention takes it.
    TimeFirst,
    /// `[T, B, H, head_dim]`, as Megatron, ChatGLM, and GLM-4 in Candle have it.
    SequenceFirst,
}

impl HeadOrder {
    /// Batch and time of a shape.
    pub(crate) fn read(self, dims: &[usize]) -> Option<(usize, usize)> {
        match (self, dims) {
            (Self::HeadFirst, [batch, _, time, _]) => Some((*batch, *time)),
            (Self::TimeFirst, [batch, time, _, _]) => Some((*batch, *time)),
            (Self::SequenceFirst, [time, batch, _, _]) => Some((*batch, *time)),
            _ => None,
        }
    }

    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::HeadFirst => "head-first input must have shape [B, H, T, head_dim]",
            Self::TimeFirst => "time-first input must have shape [B, T, H, head_dim]",
            Self::SequenceFirst => "sequence-first input must have shape [T, B, H, head_dim]",
        }
    }
}
