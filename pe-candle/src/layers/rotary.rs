//! Rotary position embeddings as a layer that replaces the private copies in Candle's models.
//!
//! [`RotaryEmbedding`] rotates pairs of columns of queries and keys by an angle proportional to the
//! position, so that their products depend only on distances (J. Su et al.: "RoFormer: Enhanced
//! Transformer with Rotary Position Embedding", 2021). A model creates one layer, and each of its
//! attention blocks gets a clone:
//!
//! ```
//! use candle_core::{DType, Device, Tensor};
//! use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
//!
//! let device = &Device::Cpu;
//! let rotary = RotaryEmbedding::new(RotaryEmbeddingConfig::new(64), DType::BF16, device)?;
//! let q = Tensor::zeros((1, 32, 10, 64), DType::BF16, device)?; // [B, H, T, head_dim]
//! let k = Tensor::zeros((1, 8, 10, 64), DType::BF16, device)?; // fewer heads
//! let (q, k) = rotary.apply_qkv(&q, &k, 0)?;
//! # assert_eq!((q.dims4()?, k.dims4()?), ((1, 32, 10, 64), (1, 8, 10, 64)));
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Replacements for candle-transformers
//!
//! `rotary` is a `RotaryEmbedding`. It replaces a model's own struct, its `cos` and `sin` tensors, or
//! those of its cache.
//!
//! | candle-transformers 0.11.1 | replacement |
//! |---|---|
//! | `Arc::new(RotaryEmbedding::new(dtype, cfg, dev)?)` (qwen2, mistral, gemma, olmo, yi, ...) | `RotaryEmbedding::new(config, dtype, dev)?` with the config below; clones share, no `Arc` is needed |
//! | `rotary_emb.apply_rotary_emb_qkv(&q, &k, seqlen_offset)?` (qwen2, mistral, gemma, phi3, olmo, ...) | the same line, or `rotary.apply_qkv(&q, &k, seqlen_offset)?` |
//! | `rotary_emb.apply(&q, &k, offset)?` (qwen3), `forward(&q, &k, offset)?` (deepseek2) | `rotary.apply_qkv(&q, &k, offset)?` |
//! | `rope(&x.contiguous()?, &cos.narrow(0, pos, t)?, &sin.narrow(0, pos, t)?)?` (llama, granite, lfm2, voxtral, quantized_qwen2, ...) | `rotary.apply(&x, pos)?`, without `contiguous` |
//! | `rope_i(..)?` (helium, csm, deepseek2, quantized_llama) | `layout: PairLayout::Interleaved`, then `rotary.apply(&x, pos)?` |
//! | `rope_thd(..)?` on `[B, T, H, D]` (mixformer) | `axis_order: HeadOrder::TimeFirst`, then `rotary.apply(&x, pos)?` |
//! | `(q.broadcast_mul(&cos)? + rotate_half(q)?.broadcast_mul(&sin))?` with doubled tables (yi, mixtral, starcoder2, recurrent_gemma) | `rotary.apply(q, pos)?` |
//! | the same on `[B * H, T, D]` (falcon) | `rotary.apply(&q.unsqueeze(1)?, pos)?.squeeze(1)?` |
//! | `x` as complex numbers, `[B, T, H, D / 2, 2]` (llama2_c) | `layout: PairLayout::Interleaved, axis_order: HeadOrder::TimeFirst`, then `rotary.apply(&x, pos)?` |
//! | cut at `rotary_dim`, rotate, `Tensor::cat` with the rest (phi, phi3, stable_lm, mixformer) | `RotaryEmbeddingConfig::of(RotaryConfig::new(rotary_dim), head_dim)`, then `rotary.apply(&x, pos)?` |
//! | the first half of each head as complex numbers, on `[T, B, H, D]` (glm4, chatglm) | `RotaryEmbeddingConfig::from_hf_config(json, None)?` with `axis_order: HeadOrder::SequenceFirst`, then `rotary.apply(&x, pos)?` |
//! | `rope(&qk.to_dtype(DType::F32)?, &c, &s)?.to_dtype(qk_dtype)?` (mimi) | `rotary.apply(&qk, pos)?`: 16-bit float types are computed in `f32` |
//! | a loop over the batch with one offset per sequence, and `Tensor::cat` (qwen3_vl text) | `rotary.apply_qkv_at_offsets(&q, &k, seqlen_offsets)?` |
//! | `rope(q, &cos.index_select(pos, 0)?, &sin.index_select(pos, 0)?)?` (pixtral) | `rotary.apply_with_positions(q, pos)?` |
//! | tables picked by section from position ids `[3, B, T]` (paddleocr_vl) | `let (cos, sin) = rotary.cos_sin_by_axis(&mrope.axes(pairs)?, &ids)?`, once, then `rotary.apply_qkv_with_cos_sin(&q, &k, &cos, &sin)?` |
//! | `EmbedNd`, its tensor `pe`, and `apply_rope(&q, &pe)?` (flux) | `let rotary = AxialRotaryEmbedding::new(AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Flux, 128), dtype, dev)?`, then `rotary.apply_qkv(&q, &k, &ids)?`; for other models see [`AxialRotaryPreset`](pe_core::AxialRotaryPreset) |
//! | caller-supplied tables for each token, doubled (vision of qwen3_vl) | [`rotate_qkv`]`(&q, &k, &cos, &sin, layout, order)?` with the first half of their columns, without a layer |
//! | `(q, k, cos, sin, positions, is_neox)` on `[tokens, heads, head_dim]` (text-embeddings-inference, mistral.rs) | `rotary.apply_qkv_packed(&q, &k, &positions)?`, or [`rotate_packed`]`(&q, &k, (&cos, &sin), &positions, layout)?` |
//! | `rotary_embedding(positions, q, k, head_size, cos_sin_cache, is_neox)` (vLLM) | [`rotate_packed_inplace`]`(&q, &k, &cos_sin_cache, &positions, layout)?` |
//! | `cos` and `sin` needed as tensors | `rotary.cos_sin(offset, len)?` |
//!
//! The configuration of most of these models:
//!
//! ```
//! # use candle_core::{DType, Device};
//! # use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
//! # struct Config { rope_theta: f64, max_position_embeddings: usize, head_dim: usize }
//! # let cfg = Config { rope_theta: 1e6, max_position_embeddings: 64, head_dim: 128 };
//! let config = RotaryEmbeddingConfig {
//!     max_seq_len: Some(cfg.max_position_embeddings),
//!     ..RotaryEmbeddingConfig::with_base(cfg.head_dim, cfg.rope_theta)
//! };
//! let rotary = RotaryEmbedding::new(config, DType::BF16, &Device::Cpu)?;
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! The configuration from a model's `config.json`, with its scaling, partial width, and layout:
//!
//! ```
//! # use candle_core::{DType, Device};
//! use pe_candle::RotaryEmbedding;
//!
//! let json = r#"{
//!     "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
//!     "max_position_embeddings": 131072, "rope_theta": 500000.0,
//!     "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
//!                      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
//! }"#;
//! let rotary = RotaryEmbedding::from_hf_config(json, None, DType::BF16, &Device::Cpu)?;
//! # assert_eq!((rotary.rotary().pairs(), rotary.max_seq_len()), (64, 131_072));
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Differences in the results
//!
//! - Tables are exact and `f32` for every type of the model. Candle's models round positions, angles, or
//!   tables to the model's type.
//! - 16-bit float types are computed in `f32` and rounded once.
//! - Gradients flow. `candle_nn::rotary_emb` drops them.
//!
//! [`with_recipe(RotaryRecipe::HfF32)`](RotaryEmbeddingConfig::with_recipe) rounds where transformers
//! rounds. At position 3,500, logits agree with those of transformers to 1.7e-7 with it, and to 2.8e-6
//! with exact tables.
//!
//! # Training
//!
//! Queries and keys learn only if no operation drops their gradients. Several fused operations of
//! candle-nn 0.11 have no backward pass and drop gradients without an error. Between queries and keys
//! and the loss, use these instead:
//!
//! | drops gradients | keeps them |
//! |---|---|
//! | `ops::softmax_last_dim(&x)` | `ops::softmax(&x, D::Minus1)` |
//! | `RmsNorm::forward`, `ops::rms_norm` | `RmsNorm::forward_diff`, `ops::rms_norm_slow` |
//! | `LayerNorm::forward` with a bias, `ops::layer_norm` | `ops::layer_norm_slow` |
//! | `rotary_emb::{rope, rope_i, rope_thd}` | [`RotaryEmbedding::apply`], [`rotate`] |
//! | `ops::sdpa` (Metal) | products and `ops::softmax` |

mod apply;
pub(crate) mod axial;
pub(crate) mod config;
mod cos_sin;
mod given;
mod ids;
mod input;
pub(crate) mod learned;
mod packed;
mod reference;
mod rotation;
mod tables;

use std::io::{Read, Seek};
use std::sync::Arc;

use candle_core::{DType, Device, Result};
use pe_core::Rotary;
use pe_core::hf_config::HfConfig;

use self::config::RotaryEmbeddingConfig;
use self::tables::Tables;
use crate::kernel::Plan;
use crate::tensors::dtypes::{TableKind, check_dtypes};

pub use self::given::{rotate, rotate_qkv};
pub use self::learned::rotate_by_angles;
pub use self::packed::{CosSinCache, rotate_packed, rotate_packed_inplace};

/// Rotates the pairs of queries and keys by their tokens' angles:
///
/// ```text
/// (a, b) -> (a cos - b sin, a sin + b cos)      cos, sin of position * inv_freq[pair],
///                                               times the attention factor
/// ```
///
/// A pair is columns `i` and `i + rotary_dim / 2`, or `2i` and `2i + 1`
/// ([`PairLayout`](pe_core::PairLayout)). Columns after the first `rotary_dim` pass unchanged.
///
/// # Shapes
/// Inputs have shape `[B, H, T, head_dim]`, `[B, T, H, head_dim]`, or `[T, B, H, head_dim]`, by the
/// config's [`HeadOrder`](crate::HeadOrder), and any strides. `contiguous` is not needed before or
/// after. Queries and keys may have different numbers of heads.
///
/// # Positions
/// A token's position is one of
/// - its index along `T` plus an offset ([`apply`](Self::apply)),
/// - that index plus an offset of its own sequence ([`apply_at_offsets`](Self::apply_at_offsets)),
/// - any id ([`apply_with_positions`](Self::apply_with_positions)).
///
/// All three give the same bits for a position.
///
/// # Types
/// The result has the type of the input. Tables are `f64` if the layer's type is `f64`, otherwise
/// `f32`. [`table_dtype`](field@RotaryEmbeddingConfig::table_dtype) overrides this.
///
/// | input | tables | computed in | rounded to the input's type |
/// |---|---|---|---|
/// | `f32` | `f32` | `f32` | |
/// | `f64` | `f64` or `f32` | `f64` | |
/// | `f16` | `f32` or `f16` | `f32` | once |
/// | `bf16` | `f32` or `bf16` | `f32` | once |
///
/// Every other pair is an error. In `f32` each product and sum is rounded separately, so with equal
/// tables the bits are those of `candle_nn::rotary_emb::rope`.
///
/// # Frequencies that depend on the length
/// With dynamic NTK and LongRoPE the frequencies depend on the length of the sequence: `offset + T`, or
/// the largest position plus one, over the complete batch, as in transformers. Keys cached at a shorter
/// length keep their angles. If the frequencies have changed, those keys no longer match the queries,
/// and the cache must be dropped and recomputed. transformers' `generate` does so if LongRoPE changes
/// from its short to its long frequencies. [`shares_frequencies`](Self::shares_frequencies) returns
/// whether the cache is still valid.
///
/// transformers keeps the longest length until a short sequence follows. Here the results depend on
/// the call alone. Dynamic NTK scales beyond `max_position_embeddings` only if `max_seq_len` is set
/// above it. The layer keeps the tables of the two sets of frequencies used last. With dynamic scaling
/// beyond the trained length, every new length needs new rows, built once for all layers that share
/// the tables. After a step of decoding, the rows of the next 32 steps are built at once (exact tables of `f32`, the
/// default). A step then takes about as long as one with a table.
///
/// # Gradients
/// Gradients flow, to any order. The backward pass is the rotation by the negative angles. It costs as
/// much as the forward pass and stores only a handle to the tables. The tables are constants. They are
/// not variables and never appear in a `VarMap` or a checkpoint.
///
/// # Devices
/// On the CPU one pass computes the result. On CUDA and Metal, Candle's own kernel does, with
/// conversions to and from `f32` for 16-bit float types. If gradients are tracked, differentiable
/// operations compute it there.
///
/// # Clones and threads
/// Clones are cheap and share the tables, so all attention blocks of a model can share them. Any number
/// of threads may use a layer at once, including those of rayon's pools. Large inputs are divided among
/// as many threads as rayon's current pool has (`RAYON_NUM_THREADS`). These threads are not the pool's
/// own, and no call waits for the pool.
#[derive(Debug, Clone)]
pub struct RotaryEmbedding {
    shared: Arc<Shared>,
    pub(crate) plan: Plan,
}

#[derive(Debug)]
struct Shared {
    config: RotaryEmbeddingConfig,
    dtype: DType,
    tables: Tables,
}

impl RotaryEmbedding {
    /// Creates the layer for inputs of type `dtype` on `device`. Calls build the tables as they need
    /// them. With [`Growth::AtOnce`](crate::Growth::AtOnce) this constructor builds all of them.
    ///
    /// # Errors
    /// Returns an error if
    /// - the frequencies are invalid (see [`Rotary::new`]), or `rotary_dim` is odd,
    /// - `rotary_dim` exceeds `head_dim`,
    /// - `max_seq_len` is 0 or its tables exceed [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES),
    /// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
    /// - `table_dtype` is neither `dtype` nor `f32`.
    pub fn new(config: RotaryEmbeddingConfig, dtype: DType, device: &Device) -> Result<Self> {
        let rotary = Rotary::new(config.rotary.clone())?;
        config.check()?;
        let table_dtype = config.table_dtype(dtype);
        check_dtypes("the layer", dtype, TableKind::CosSin, table_dtype)?;
        let (limit, growth) = (config.max_seq_len(), config.growth);
        let tables = Tables::new(rotary, limit, growth, table_dtype, device)?;
        Ok(Self {
            shared: Arc::new(Shared {
                config,
                dtype,
                tables,
            }),
            plan: Plan::best(),
        })
    }

    /// Creates the layer of a model's `config.json`, given as its text or as a `serde_json::Value`.
    /// Combines [`RotaryEmbeddingConfig::from_hf_config`] and [`new`](Self::new).
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device};
    /// use pe_candle::RotaryEmbedding;
    ///
    /// let json = r#"{
    ///     "model_type": "gemma3_text", "head_dim": 256, "max_position_embeddings": 131072,
    ///     "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0,
    ///     "rope_scaling": {"rope_type": "linear", "factor": 8.0}
    /// }"#;
    /// let of = |layers| RotaryEmbedding::from_hf_config(json, layers, DType::BF16, &Device::Cpu);
    /// let (full, sliding) = (of(Some("full_attention"))?, of(Some("sliding_attention"))?);
    /// assert_eq!((full.config().rotary.base, sliding.config().rotary.base), (1e6, 1e4));
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`RotaryEmbeddingConfig::from_hf_config`] and of [`new`](Self::new).
    pub fn from_hf_config<'a>(
        config: impl Into<HfConfig<'a>>,
        layer_type: Option<&str>,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let config = RotaryEmbeddingConfig::from_hf_config(config, layer_type)?;
        Self::new(config, dtype, device)
    }

    /// Creates the layer of a GGUF file. Combines [`RotaryEmbeddingConfig::from_gguf`] and
    /// [`new`](Self::new).
    ///
    /// # Examples
    /// ```no_run
    /// use candle_core::{DType, Device};
    /// use pe_candle::RotaryEmbedding;
    ///
    /// let mut file = std::fs::File::open("model.gguf")?;
    /// let rotary = RotaryEmbedding::from_gguf(&mut file, None, DType::F32, &Device::Cpu)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`RotaryEmbeddingConfig::from_gguf`] and of [`new`](Self::new).
    pub fn from_gguf(
        reader: &mut (impl Read + Seek),
        layer_type: Option<&str>,
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let config = RotaryEmbeddingConfig::from_gguf(reader, layer_type)?;
        Self::new(config, dtype, device)
    }

    /// Returns the configuration.
    pub fn config(&self) -> &RotaryEmbeddingConfig {
        &self.shared.config
    }

    /// Returns the frequencies.
    pub fn rotary(&self) -> &Rotary {
        self.shared.tables.rotary()
    }

    /// Returns the type of the layer's inputs.
    pub fn dtype(&self) -> DType {
        self.shared.dtype
    }

    /// Returns the maximum sequence length.
    pub fn max_seq_len(&self) -> usize {
        self.shared.tables.limit()
    }

    /// Returns whether sequences of two lengths are rotated by the same frequencies. If they are not,
    /// keys cached at one length do not match queries of the other, and the cache must be dropped. See
    /// [`Rotary::shares_frequencies`].
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device};
    /// use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
    ///
    /// let config = RotaryEmbeddingConfig::new(64);
    /// let rotary = RotaryEmbedding::new(config, DType::F32, &Device::Cpu)?;
    /// let (cached, new) = (4000, 1);
    /// let keep_cache = rotary.shares_frequencies(cached, cached + new)?;
    /// assert!(keep_cache); // no scaling, or one that does not depend on the length
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a frequency of a length-dependent scaling leaves the supported range.
    pub fn shares_frequencies(&self, seq_len: usize, other: usize) -> Result<bool> {
        Ok(self.rotary().shares_frequencies(seq_len, other)?)
    }

    /// Returns the number of rows built until now.
    pub(crate) fn built(&self) -> usize {
        self.shared.tables.built()
    }
}
