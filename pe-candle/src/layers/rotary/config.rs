//! Configuration of the rotary layer: frequencies, head, layout, axes, length.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::io::{Read, Seek};

use candle_core::{DType, Result, bail};
use pe_core::gguf;
use pe_core::hf_config::{self, HfConfig, HfLayer, HfModel, UnknownKeys};
use pe_core::{PairLayout, RotaryConfig, RotaryRecipe};

use crate::layers::config::{Growth, check_max_seq_len};
use crate::tensors::axes::HeadOrder;

/// Maximum sequence length if neither the layer's nor the frequencies' configuration has one.
const MAX_SEQ_LEN: usize = 4096;

/// Configuration of a [`RotaryEmbedding`](crate::RotaryEmbedding): plain data, checked by the layer's
/// constructors.
///
/// # Examples
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
    /// Frequencies, with the width `rotary_dim`: the first columns of each head, which are rotated. The
    /// others pass unchanged.
    pub rotary: RotaryConfig,
    /// Width of a head. `None`, the default, means `rotary_dim`: complete heads are rotated.
    pub head_dim: Option<usize>,
    /// Columns that form a pair. Defaults to half-split, as in most models.
    pub layout: PairLayout,
    /// Order of the axes of queries and keys. Defaults to head first.
    pub axis_order: HeadOrder,
    /// Maximum sequence length: positions are `0 .. max_seq_len`. `None`, the default, means
    /// `max_position_embeddings` of the frequencies, or 4096 without it.
    pub max_seq_len: Option<usize>,
    /// Time at which the rows of the tables are built. Defaults to [`Growth::AsNeeded`].
    pub growth: Growth,
    /// Type of the tables. `None`, the default, means `f64` for a layer of type `f64`, and `f32` for all
    /// others. The only other choice is the layer's type, which reproduces models that round their
    /// tables.
    pub table_dtype: Option<DType>,
}

impl RotaryEmbeddingConfig {
    /// Returns the configuration for complete heads of a width, with base 10000 and all defaults.
    pub const fn new(head_dim: usize) -> Self {
        Self::with_base(head_dim, 10_000.0)
    }

    /// Returns the configuration for complete heads of a width, with the given base (`rope_theta`) and all
    /// other defaults.
    pub const fn with_base(head_dim: usize, base: f64) -> Self {
        let mut rotary = RotaryConfig::new(head_dim);
        rotary.base = base;
        Self::with_defaults(rotary, None)
    }

    /// Returns the configuration for given frequencies and heads of a width, with all other defaults. If
    /// `rotary_dim` is less than the width, the other columns of a head pass unchanged.
    pub const fn of(rotary: RotaryConfig, head_dim: usize) -> Self {
        Self::with_defaults(rotary, Some(head_dim))
    }

    const fn with_defaults(rotary: RotaryConfig, head_dim: Option<usize>) -> Self {
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

    /// Reads a model's `config.json` from its text or from a `serde_json::Value`: base, scaling, rotated
    /// part of the head, layout, and `max_position_embeddings`. `layer_type` selects layers such as
    /// `"sliding_attention"`. Models with one set of frequencies need `None`.
    ///
    /// # Examples
    /// ```
    /// use pe_candle::{RotaryEmbeddingConfig, RotaryRecipe};
    ///
    /// let json = r#"{
    ///     "model_type": "qwen2", "hidden_size": 896, "num_attention_heads": 14,
    ///     "max_position_embeddings": 131072, "rope_theta": 1000000.0
    /// }"#;
    /// let config = RotaryEmbeddingConfig::from_hf_config(json, None)?;
    /// assert_eq!((config.head_dim(), config.max_seq_len()), (64, 131_072));
    /// // The values of transformers instead of exact ones.
    /// let config = config.with_recipe(RotaryRecipe::HfF32);
    /// # assert_eq!(config.rotary.recipe, RotaryRecipe::HfF32);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - a key of the file is invalid or unknown ([`hf_config::read`] can list unknown keys instead),
    /// - the model has no layers of `layer_type`.
    pub fn from_hf_config<'a>(
        config: impl Into<HfConfig<'a>>,
        layer_type: Option<&str>,
    ) -> Result<Self> {
        let model = hf_config::read(config, UnknownKeys::Reject)?;
        Ok(model.layer(layer_type)?.into())
    }

    /// Reads a GGUF file: base, scaling, factors of the frequencies, rotated part of the head, layout, and
    /// context length. `layer_type` selects `"full_attention"` or `"sliding_attention"` in models with two
    /// bases. The others need `None`.
    ///
    /// The reader is read from its start. It may be the one of Candle's `gguf_file::Content`, whose tensors
    /// can be read before and after.
    ///
    /// # Errors
    /// Returns an error if
    /// - the file is malformed, or reading fails,
    /// - a key about rotary embeddings is invalid or has no effect, or the architecture is unknown
    ///   ([`gguf::read`] can list them instead),
    /// - the model has no rotary embedding, or no layers of `layer_type`.
    pub fn from_gguf(reader: &mut (impl Read + Seek), layer_type: Option<&str>) -> Result<Self> {
        match gguf::read_file(reader, UnknownKeys::Reject)? {
            HfModel::Rotary(model) => Ok(model.layer(layer_type)?.into()),
            HfModel::Other(positions) => {
                bail!(
                    "the file's model has no rotary embedding (scheme: {})",
                    positions.name()
                )
            }
        }
    }

    /// Sets the recipe of frequencies and tables: exact values, or those of transformers.
    pub const fn with_recipe(mut self, recipe: RotaryRecipe) -> Self {
        self.rotary.recipe = recipe;
        self
    }

    /// Returns the width of a head: `head_dim`, or `rotary_dim` without it.
    pub fn head_dim(&self) -> usize {
        self.head_dim.unwrap_or(self.rotary.rotary_dim)
    }

    /// Returns the maximum sequence length: `max_seq_len`, or `max_position_embeddings` of the
    /// frequencies without it, or 4096 without both.
    pub fn max_seq_len(&self) -> usize {
        let trained = self.rotary.max_position_embeddings;
        self.max_seq_len.or(trained).unwrap_or(MAX_SEQ_LEN)
    }

    /// Checks the fields that do not affect the frequencies.
    pub(super) fn check(&self) -> Result<()> {
        let (rotary_dim, head_dim) = (self.rotary.rotary_dim, self.head_dim());
        if rotary_dim > head_dim {
            bail!("rotary_dim {rotary_dim} exceeds head_dim {head_dim}");
        }
        check_max_seq_len(self.max_seq_len())
    }

    /// Returns the type of the tables of a layer with inputs of a type.
    pub(super) fn table_dtype(&self, dtype: DType) -> DType {
        table_dtype(self.table_dtype, dtype)
    }
}

/// Returns the type of the tables of a layer with inputs of a type, unless another one is given.
pub(super) fn table_dtype(given: Option<DType>, dtype: DType) -> DType {
    given.unwrap_or(match dtype {
        DType::F64 => DType::F64,
        _ => DType::F32,
    })
}

/// Converts the settings of a type of layers in a model's `config.json`: frequencies, head, layout, and
/// `max_position_embeddings`. All other fields have their defaults.
impl From<&HfLayer> for RotaryEmbeddingConfig {
    fn from(layer: &HfLayer) -> Self {
        Self {
            layout: layer.layout,
            ..Self::of(layer.rotary.clone(), layer.head_dim)
        }
    }
}
