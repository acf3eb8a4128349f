//! What an additive encoding is made from: table, axes, scale, dropout, growth.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Result, bail};
use pe_core::{POSITIONS, Preset, SinusoidalConfig};

use crate::tensors::axes::AxisOrder;

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
    /// The most positions there may be: `0 .. max_seq_len`. Defaults to 5000, as in PyTorch's
    /// tutorial and labml.
    pub max_seq_len: usize,
    /// Probability of dropout in training, in `[0, 1)`. Defaults to 0.1 in [`new`](Self::new), as
    /// in the paper, and to 0 in [`from_preset`](Self::from_preset).
    pub dropout: f32,
    /// Seed of the dropout; 0 by default. Layers of one model that drop with equal seeds drop
    /// the same elements.
    pub seed: u64,
    /// Order of the input's axes; batch first by default.
    pub axis_order: AxisOrder,
    /// What the input is multiplied by; nothing by default.
    pub scale: EmbeddingScale,
    /// When the rows of the table are built. Defaults to [`Growth::AsNeeded`].
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

    /// Takes the table of a known library, without dropout, and all else by default. A preset fixes
    /// the table alone: axis order, scale, and dropout are the caller's to say.
    pub const fn from_preset(preset: Preset, d_model: usize) -> Self {
        Self {
            dropout: 0.0,
            ..Self::of(preset.config(d_model))
        }
    }

    const fn of(sinusoidal: SinusoidalConfig) -> Self {
        Self {
            sinusoidal,
            max_seq_len: 5000,
            dropout: 0.1,
            seed: 0,
            axis_order: AxisOrder::BatchFirst,
            scale: EmbeddingScale::None,
            growth: Growth::AsNeeded,
            table_dtype: None,
        }
    }

    /// Checks what does not concern the table's numbers.
    pub(crate) fn check(&self) -> Result<()> {
        check_max_seq_len(self.max_seq_len)?;
        if let EmbeddingScale::Factor(factor) = self.scale
            && !(factor as f32).is_finite()
        {
            bail!("the embedding scale {factor:?} is not a finite number within f32's range");
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

/// Checks the number of positions of any layer.
pub(crate) fn check_max_seq_len(rows: usize) -> Result<()> {
    if rows == 0 || rows as u64 > POSITIONS {
        bail!("max_seq_len {rows} is outside 1..={POSITIONS}");
    }
    Ok(())
}

/// What the input is multiplied by before the encoding is added.
///
/// Embeddings are often initialized so small that the encoding would drown them; the paper
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

/// When a layer builds the rows of its tables. The numbers are the same either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Growth {
    /// On demand: a layer costs microseconds to make, whatever its `max_seq_len`. A call that
    /// needs more rows than there are builds a table of at least twice as many.
    #[default]
    AsNeeded,
    /// All `max_seq_len` rows when the layer is made, so that no call has to.
    AtOnce,
}
