//! What a rotary embedding is made from: frequencies, head, layout, axes, length.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Result, bail};
use pe_core::hf_config::{self, HfConfig, HfLayer, UnknownKeys};
use pe_core::{PairLayout, RotaryConfig, RotaryRecipe};

use crate::layers::config::{Growth, check_max_seq_len};
use crate::tensors::axes::HeadOrder;

/// The positions of a layer whose config says nothing of them.
const MAX_SEQ_LEN: usize = 4096;

/// What a [`RotaryEmbedding`](crate::RotaryEmbedding) is made from: plain data, checked when
/// the layer is made.
///
/// ```
/// use pe_candle::{PairLayout, RotaryConfig, RotaryEmbeddingConfig};
///
/// // Whole heads of 128 columns, with the base and the length of a model.
/// let config = RotaryEmbeddingConfig {
///     max_seq_len: Some(32_768),
///     ..RotaryEmbeddingConfig::with_base(128, 1e6)
/// };
/// assert_eq!((config.head_dim(), config.max_seq_len()), (128, 32_768));
///
/// // A quarter of each head of 64 columns, as in GPT-NeoX.
/// let config = RotaryEmbeddingConfig::of(RotaryConfig::new(16), 64);
/// assert_eq!((config.rotary.rotary_dim, config.head_dim()), (16, 64));
/// assert_eq!(config.layout, PairLayout::HalfSplit);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RotaryEmbeddingConfig {
    /// The frequencies, with the width `rotary_dim` that is rotated: the first columns of each
    /// head. The others pass unchanged.
    pub rotary: RotaryConfig,
    /// The width of a head. `None`, the default, is the width that is rotated: the head as a whole.
    pub head_dim: Option<usize>,
    /// Which columns make a pair; half-split by default, as most models have it.
    pub layout: PairLayout,
    /// Order of the axes of queries and keys; head first by default.
    pub axis_order: HeadOrder,
    /// The most positions there may be: `0 .. max_seq_len`. `None`, the default, is
    /// `max_position_embeddings` of the frequencies, or 4096 without it.
    pub max_seq_len: Option<usize>,
    /// When the rows of the tables are built. Defaults to [`Growth::AsNeeded`].
    pub growth: Growth,
    /// Type of the tables, if it is not the default: `f64` for a layer made for `f64`, and
    /// `f32` for all others. The one other choice is the type that the layer is made for, for
    /// the numbers of models that round their tables.
    pub table_dtype: Option<DType>,
}

impl RotaryEmbeddingConfig {
    /// Takes heads of the given width, rotated as a whole with base 10000, all else by default.
    pub const fn new(head_dim: usize) -> Self {
        Self::with_base(head_dim, 10_000.0)
    }

    /// Takes heads of the given width, rotated as a whole with the given base (`rope_theta`), all
    /// else by default.
    pub const fn with_base(head_dim: usize, base: f64) -> Self {
        let mut rotary = RotaryConfig::new(head_dim);
        rotary.base = base;
        Self::made(rotary, None)
    }

    /// Takes the given frequencies for heads of the given width, all else by default: if
    /// `rotary_dim` is less, the other columns of a head pass unchanged.
    pub const fn of(rotary: RotaryConfig, head_dim: usize) -> Self {
        Self::made(rotary, Some(head_dim))
    }

    const fn made(rotary: RotaryConfig, head_dim: Option<usize>) -> Self {
        Self {
            rotary,
            head_dim,
            layout: PairLayout::HalfSplit,
            axis_order: HeadOrder::HeadFirst,
            max_seq_len: None,
            growth: Growth::AsNeeded,
            table_dtype: None,
        }
    }

    /// Reads a model's `config.json`, from its text or from a `serde_json::Value`, for the layers
    /// of a type (`"sliding_attention"`), or without one for a model that has one set of
    /// frequencies: base, scaling, part of the head, layout, and `max_position_embeddings`.
    ///
    /// ```
    /// use pe_candle::{RotaryEmbeddingConfig, RotaryRecipe};
    ///
    /// let json = r#"{
    ///     "model_type": "qwen2", "hidden_size": 896, "num_attention_heads": 14,
    ///     "max_position_embeddings": 131072, "rope_theta": 1000000.0
    /// }"#;
    /// let config = RotaryEmbeddingConfig::from_hf_config(json, None)?;
    /// assert_eq!((config.head_dim(), config.max_seq_len()), (64, 131_072));
    /// // The numbers of transformers rather than the exact ones.
    /// let config = config.with_recipe(RotaryRecipe::HfF32);
    /// # assert_eq!(config.rotary.recipe, RotaryRecipe::HfF32);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the file is not understood as a whole (see [`hf_config::read`], which can
    /// also list keys without effect instead), or has no such type of layers.
    pub fn from_hf_config<'a>(
        config: impl Into<HfConfig<'a>>,
        layer_type: Option<&str>,
    ) -> Result<Self> {
        let model = hf_config::read(config, UnknownKeys::Reject)?;
        Ok(model.layer(layer_type)?.into())
    }

    /// Computes frequencies and tables by the given recipe: exact ones, or those of transformers.
    pub const fn with_recipe(mut self, recipe: RotaryRecipe) -> Self {
        self.rotary.recipe = recipe;
        self
    }

    /// Returns the width of a head: `head_dim`, or `rotary_dim` without it.
    pub fn head_dim(&self) -> usize {
        self.head_dim.unwrap_or(self.rotary.rotary_dim)
    }

    /// Returns the most positions there may be: `max_seq_len`, or `max_position_embeddings` of the
    /// frequencies without it, or 4096 without both.
    pub fn max_seq_len(&self) -> usize {
        let trained = self.rotary.max_position_embeddings;
        self.max_seq_len.or(trained).unwrap_or(MAX_SEQ_LEN)
    }

    /// Checks what does not concern the frequencies.
    pub(super) fn check(&self) -> Result<()> {
        let (rotary_dim, head_dim) = (self.rotary.rotary_dim, self.head_dim());
        if rotary_dim > head_dim {
            bail!("rotary_dim {rotary_dim} exceeds head_dim {head_dim}");
        }
        check_max_seq_len(self.max_seq_len())
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
