//! Configuration of the additive layer: table, axes, scale, dropout, growth.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Result, bail};
use pe_core::{POSITIONS, Preset, SinusoidalConfig};

use crate::tensors::axes::AxisOrder;

/// Configuration of a [`PositionalEncoding`](crate::PositionalEncoding): plain data, checked by the
/// layer's constructors.
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
    /// Specification of the table, including its width `d_model`.
    pub sinusoidal: SinusoidalConfig,
    /// Maximum sequence length: positions are `0 .. max_seq_len`. Defaults to 5000, as in PyTorch's
    /// tutorial and labml.
    pub max_seq_len: usize,
    /// Probability of dropout in training, in `[0, 1)`. Defaults to 0.1 in [`new`](Self::new), as
    /// in the paper, and to 0 in [`from_preset`](Self::from_preset).
    pub dropout: f32,
    /// Seed of the dropout. Defaults to 0. Layers with equal seeds drop the same elements, so the
    /// layers of one model need different seeds.
    pub seed: u64,
    /// Order of the input's axes. Defaults to batch first.
    pub axis_order: AxisOrder,
    /// Factor of the input. Defaults to none.
    pub scale: EmbeddingScale,
    /// When the rows of the table are built. Defaults to [`Growth::AsNeeded`].
    pub growth: Growth,
    /// Type of the table, if it differs from the layer's type. The only other type is `f32`, which
    /// keeps the table's accuracy for `f16` and `bf16` inputs.
    pub table_dtype: Option<DType>,
}

impl PositionalEncodingConfig {
    /// Returns the configuration of the paper's encoding for a width, with all defaults.
    pub const fn new(d_model: usize) -> Self {
        Self::of(SinusoidalConfig::new(d_model))
    }

    /// Returns the configuration for the table of a known library, without dropout. All other fields
    /// have their defaults. A preset determines only the table, not axis order, scale, or dropout.
    ///
    /// ```
    /// use pe_candle::{PositionalEncodingConfig, Preset};
    ///
    /// let config = PositionalEncodingConfig {
    ///     max_seq_len: 1500,
    ///     ..PositionalEncodingConfig::from_preset(Preset::Whisper, 384)
    /// };
    /// assert_eq!(config.dropout, 0.0);
    /// ```
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

    /// Checks the fields that do not affect the table's entries.
    pub(crate) fn check(&self) -> Result<()> {
        check_max_seq_len(self.max_seq_len)?;
        if let EmbeddingScale::Factor(factor) = self.scale
            && !(factor as f32).is_finite()
        {
            bail!("the embedding scale {factor:?} is not a finite number within f32's range");
        }
        Ok(())
    }

    /// Returns the factor of the input, if any.
    pub(crate) fn factor(&self) -> Option<f64> {
        match self.scale {
            EmbeddingScale::None => None,
            EmbeddingScale::SqrtDModel => Some((self.sinusoidal.d_model as f64).sqrt()),
            EmbeddingScale::Factor(factor) => Some(factor),
        }
    }
}

/// Checks the maximum sequence length of any layer.
pub(crate) fn check_max_seq_len(rows: usize) -> Result<()> {
    if rows == 0 || rows as u64 > POSITIONS {
        bail!("max_seq_len {rows} is outside 1..={POSITIONS}");
    }
    Ok(())
}

/// Factor of the input before the encoding is added.
///
/// Embeddings are often initialized with much smaller values than the encoding's. The paper multiplies
/// them by `sqrt(d_model)`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub enum EmbeddingScale {
    /// No factor.
    #[default]
    None,
    /// The square root of `d_model`.
    SqrtDModel,
    /// Any factor that is finite in `f32`.
    Factor(f64),
}

/// Time at which a layer builds the rows of its tables. The entries are the same either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Growth {
    /// Builds rows on demand. A constructor takes microseconds for any `max_seq_len`. A call that
    /// needs more rows than the table has builds a table of at least twice as many.
    #[default]
    AsNeeded,
    /// Builds all `max_seq_len` rows in the constructor, so that no call builds any.
    AtOnce,
}
