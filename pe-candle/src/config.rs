//! What an additive encoding is made from: table, axes, scale, dropout, growth.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Result, bail};
use pe_core::{POSITIONS, Preset, SinusoidalConfig};

/// What a [`PositionalEncoding`](crate::PositionalEncoding) is made from: plain data, checked
/// when the layer is made.
///
/// ```
/// use pe_candle::{AxisOrder, EmbeddingScale, PositionalEncodingConfig};
///
/// let config = PositionalEncodingConfig {
///     axis_order: AxisOrder::SequenceFirst,
///     scale: EmbeddingScale::SqrtDModel,
///     dropout: 0.0,
///     ..PositionalEncodingConfig::new(512)
/// };
/// assert_eq!(config.max_seq_len, 5000);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PositionalEncodingConfig {
    /// The specification of the table, its width `d_model` included.
    pub sinusoidal: SinusoidalConfig,
    /// Rows of the table: the positions `0 .. max_seq_len`. 5000 by default, as in PyTorch's
    /// tutorial and labml.
    pub max_seq_len: usize,
    /// Probability of dropout in training, in `[0, 1)`. 0.1 by default, as in the paper.
    pub dropout: f32,
    /// Seed of the dropout; 0 by default. Layers of one model that drop with equal seeds drop
    /// the same elements.
    pub seed: u64,
    /// Order of the input's axes; batch first by default.
    pub axis_order: AxisOrder,
    /// What the input is multiplied by; nothing by default.
    pub scale: EmbeddingScale,
    /// What happens beyond `max_seq_len`; an error by default.
    pub growth: Growth,
    /// Type of the table, if it is not the one that the layer is made for: `f32` is the one
    /// choice, and keeps the table's accuracy for `f16` and `bf16` inputs.
    pub table_dtype: Option<DType>,
}

impl PositionalEncodingConfig {
    /// The paper's encoding of the given width, with all defaults.
    pub const fn new(d_model: usize) -> Self {
        Self::of(SinusoidalConfig::new(d_model))
    }

    /// The table of a known library, all else by default. A preset fixes the table alone: axis
    /// order and scale are the caller's to say.
    pub const fn from_preset(preset: Preset, d_model: usize) -> Self {
        Self::of(preset.config(d_model))
    }

    const fn of(sinusoidal: SinusoidalConfig) -> Self {
        Self {
            sinusoidal,
            max_seq_len: 5000,
            dropout: 0.1,
            seed: 0,
            axis_order: AxisOrder::BatchFirst,
            scale: EmbeddingScale::None,
            growth: Growth::Fixed,
            table_dtype: None,
        }
    }

    /// Checks what does not concern the table's numbers.
    pub(crate) fn check(&self) -> Result<()> {
        let rows = self.max_seq_len;
        if rows == 0 || rows as u64 > POSITIONS {
            bail!("max_seq_len {rows} is outside 1..={POSITIONS}");
        }
        if let EmbeddingScale::Factor(factor) = self.scale
            && !(factor as f32).is_finite()
        {
            bail!("the embedding scale {factor:?} is not a finite number within f32's range");
        }
        if let Growth::Grow { limit } = self.growth
            && (limit < rows || limit as u64 > POSITIONS)
        {
            bail!("the growth limit {limit} is outside max_seq_len {rows}..={POSITIONS}");
        }
        Ok(())
    }

    /// What the input is multiplied by, if anything.
    pub(crate) fn factor(&self) -> Option<f64> {
        match self.scale {
            EmbeddingScale::None => None,
            EmbeddingScale::SqrtDModel => Some((self.sinusoidal.d_model as f64).sqrt()),
            EmbeddingScale::Factor(factor) => Some(factor),
        }
    }
}

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

/// What the input is multiplied by before the encoding is added.
///
/// Embeddings are often initialised so small that the encoding would drown them; the paper
/// multiplies them by `sqrt(d_model)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum EmbeddingScale {
    /// Nothing.
    #[default]
    None,
    /// The square root of `d_model`.
    SqrtDModel,
    /// Any finite number.
    Factor(f64),
}

/// What happens when positions beyond `max_seq_len` are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Growth {
    /// An error that says what was asked for and what the table holds.
    #[default]
    Fixed,
    /// The table is made again, at least twice as long, up to `limit` rows; beyond them the
    /// error.
    Grow {
        /// The most rows, at least `max_seq_len`.
        limit: usize,
    },
}
