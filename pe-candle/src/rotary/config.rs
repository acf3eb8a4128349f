//! What a rotary embedding is made from: frequencies, head, layout, axes, length.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Result, bail};
use pe_core::hf_config::HfLayer;
use pe_core::{POSITIONS, PairLayout, RotaryConfig};

use crate::config::Growth;

/// What a [`RotaryEmbedding`](crate::RotaryEmbedding) is made from: plain data, checked when
/// the layer is made.
///
/// ```
/// use pe_candle::{PairLayout, RotaryEmbeddingConfig};
/// use pe_core::RotaryConfig;
///
/// // A quarter of each head is rotated, as in GPT-NeoX.
/// let config = RotaryEmbeddingConfig {
///     rotary: RotaryConfig { base: 10_000.0, ..RotaryConfig::new(16) },
///     max_seq_len: 2048,
///     ..RotaryEmbeddingConfig::new(64)
/// };
/// assert_eq!(config.layout, PairLayout::HalfSplit);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RotaryEmbeddingConfig {
    /// The frequencies, with the width `rotary_dim` that is rotated: the first columns of each
    /// head. The others pass unchanged.
    pub rotary: RotaryConfig,
    /// The width of a head.
    pub head_dim: usize,
    /// Which columns make a pair; half-split by default, as most models have it.
    pub layout: PairLayout,
    /// Order of the axes of queries and keys; head first by default.
    pub axis_order: HeadOrder,
    /// Rows of the tables: the positions `0 .. max_seq_len`; by default
    /// `max_position_embeddings` of the frequencies, or 4096 without it.
    pub max_seq_len: usize,
    /// What happens beyond `max_seq_len`; an error by default.
    pub growth: Growth,
    /// Type of the tables, if it is not the default: `f64` for a layer made for `f64`, and
    /// `f32` for all others. The one other choice is the type that the layer is made for, for
    /// the numbers of models that round their tables.
    pub table_dtype: Option<DType>,
}

impl RotaryEmbeddingConfig {
    /// Heads of the given width, rotated as a whole with base 10000, all else by default.
    pub const fn new(head_dim: usize) -> Self {
        Self::of(RotaryConfig::new(head_dim), head_dim)
    }

    /// The frequencies given, all else by default.
    pub const fn of(rotary: RotaryConfig, head_dim: usize) -> Self {
        let max_seq_len = match rotary.max_position_embeddings {
            Some(length) => length,
            None => 4096,
        };
        Self {
            rotary,
            head_dim,
            layout: PairLayout::HalfSplit,
            axis_order: HeadOrder::HeadFirst,
            max_seq_len,
            growth: Growth::Fixed,
            table_dtype: None,
        }
    }

    /// Checks what does not concern the frequencies.
    pub(super) fn check(&self) -> Result<()> {
        let (rotary_dim, head_dim) = (self.rotary.rotary_dim, self.head_dim);
        if rotary_dim > head_dim {
            bail!("rotary_dim {rotary_dim} exceeds head_dim {head_dim}");
        }
        let rows = self.max_seq_len;
        if rows == 0 || rows as u64 > POSITIONS {
            bail!("max_seq_len {rows} is outside 1..={POSITIONS}");
        }
        if let Growth::Grow { limit } = self.growth
            && (limit < rows || limit as u64 > POSITIONS)
        {
            bail!("the growth limit {limit} is outside max_seq_len {rows}..={POSITIONS}");
        }
        Ok(())
    }

    /// The type of the tables of a layer made for inputs of a type.
    pub(super) fn table_dtype(&self, dtype: DType) -> DType {
        self.table_dtype.unwrap_or(match dtype {
            DType::F64 => DType::F64,
            _ => DType::F32,
        })
    }
}

/// What a model's `config.json` says of a type of layers: frequencies, head, layout and
/// `max_position_embeddings`; all else by default.
impl From<&HfLayer> for RotaryEmbeddingConfig {
    fn from(layer: &HfLayer) -> Self {
        Self {
            layout: layer.layout,
            ..Self::of(layer.rotary.clone(), layer.head_dim)
        }
    }
}

/// The order of the axes of queries and keys: `B` is the batch, `H` the heads, `T` the time, that
/// is, the position in the sequence.
///
/// There is no guessing: `[B, T, H, head_dim]` read as `[B, H, T, head_dim]` has a legal shape
/// and wrong positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum HeadOrder {
    /// `[B, H, T, head_dim]`, as most models in Candle have it.
    #[default]
    HeadFirst,
    /// `[B, T, H, head_dim]`, as flash-attention takes it.
    TimeFirst,
}

impl HeadOrder {
    /// Batch and time of a shape.
    pub(crate) fn read(self, dims: &[usize]) -> Option<(usize, usize)> {
        match (self, dims) {
            (Self::HeadFirst, [batch, _, time, _]) => Some((*batch, *time)),
            (Self::TimeFirst, [batch, time, _, _]) => Some((*batch, *time)),
            _ => None,
        }
    }

    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::HeadFirst => "head-first input must have shape [B, H, T, head_dim]",
            Self::TimeFirst => "time-first input must have shape [B, T, H, head_dim]",
        }
    }
}
