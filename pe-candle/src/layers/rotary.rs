//! Rotary position embeddings as a layer, in place of the private copies that models carry.
//!
//! [`RotaryEmbedding`] turns pairs of columns of queries and keys by an angle that grows with the
//! position, so that their products depend on distances alone (J. Su et al.: "RoFormer: Enhanced
//! Transformer with Rotary Position Embedding", 2021). A model makes one, and hands each of its
//! attention blocks a clone:
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
//! # In place of what models have
//!
//! Here `rotary` is a `RotaryEmbedding` in place of a model's own struct, of its `cos` and `sin`
//! tensors, or of its cache's.
//!
//! | candle-transformers 0.11.1 | in its place |
//! |---|---|
//! | `Arc::new(RotaryEmbedding::new(dtype, cfg, dev)?)` (qwen2, mistral, gemma, olmo, yi, ...) | `RotaryEmbedding::new(config, dtype, dev)?` with the config below; clones share, no `Arc` is needed |
//! | `rotary_emb.apply_rotary_emb_qkv(&q, &k, seqlen_offset)?` (qwen2, mistral, gemma, phi3, olmo, ...) | the same line, or `rotary.apply_qkv(&q, &k, seqlen_offset)?` |
//! | `rotary_emb.apply(&q, &k, offset)?` (qwen3), `forward(&q, &k, offset)?` (deepseek2) | `rotary.apply_qkv(&q, &k, offset)?` |
//! | `rope(&x.contiguous()?, &cos.narrow(0, pos, t)?, &sin.narrow(0, pos, t)?)?` (llama, granite, lfm2, voxtral, quantized_qwen2, ...) | `rotary.apply(&x, pos)?`; `contiguous` may go |
//! | `rope_i(..)?` (helium, csm, deepseek2, quantized_llama) | `layout: PairLayout::Interleaved`, then `rotary.apply(&x, pos)?` |
//! | `rope_thd(..)?` on `[B, T, H, D]` (mixformer) | `axis_order: HeadOrder::TimeFirst`, then `rotary.apply(&x, pos)?` |
//! | `(q.broadcast_mul(&cos)? + rotate_half(q)?.broadcast_mul(&sin))?` with doubled tables (yi, mixtral, starcoder2, recurrent_gemma) | `rotary.apply(q, pos)?` |
//! | the same on `[B * H, T, D]` (falcon) | `rotary.apply(&q.unsqueeze(1)?, pos)?.squeeze(1)?` |
//! | `x` as complex numbers, `[B, T, H, D / 2, 2]` (llama2_c) | `layout: PairLayout::Interleaved, axis_order: HeadOrder::TimeFirst`, then `rotary.apply(&x, pos)?` |
//! | cut at `rotary_dim`, rotate, `Tensor::cat` with the rest (phi, phi3, stable_lm, mixformer) | `RotaryEmbeddingConfig::of(RotaryConfig::new(rotary_dim), head_dim)`, then `rotary.apply(&x, pos)?` |
//! | the first half of each head as complex numbers, on `[T, B, H, D]` (glm4, chatglm) | `RotaryEmbeddingConfig::from_hf_config(json, None)?` with `axis_order: HeadOrder::SequenceFirst`, then `rotary.apply(&x, pos)?` |
//! | `rope(&qk.to_dtype(DType::F32)?, &c, &s)?.to_dtype(qk_dtype)?` (mimi) | `rotary.apply(&qk, pos)?`: half types are computed in `f32` as it is |
//! | a loop over the batch with an offset each, and `Tensor::cat` (qwen3_vl text) | `rotary.apply_qkv_at_offsets(&q, &k, seqlen_offsets)?` |
//! | `rope(q, &cos.index_select(pos, 0)?, &sin.index_select(pos, 0)?)?` (pixtral) | `rotary.apply_with_positions(q, pos)?` |
//! | tables picked by section from position ids `[3, B, T]` (paddleocr_vl) | `let (cos, sin) = rotary.cos_sin_by_axis(&mrope.axes(pairs)?, &ids)?`, once, then `rotary.apply_qkv_with_cos_sin(&q, &k, &cos, &sin)?` |
//! | tables for each token from elsewhere, doubled (vision of qwen3_vl) | [`rotate_qkv`]`(&q, &k, &cos, &sin, layout, order)?` with the first half of their columns; no layer is needed |
//! | `cos` and `sin` needed as tensors | `rotary.cos_sin(offset, len)?` |
//!
//! The config that most of them amount to, `rope_theta` and all:
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
//! A model's `config.json` read as it is, with its scaling, partial width and layout:
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
//! What changes in the numbers: tables are exact and in `f32` whatever the model's type, where
//! models round positions, angles or tables to it; half types are computed in `f32` and rounded
//! once; gradients arrive, where `candle_nn::rotary_emb` drops them. For the numbers of
//! transformers say [`with_recipe(RotaryRecipe::HfF32)`](RotaryEmbeddingConfig::with_recipe).
//!
//! # Training
//!
//! A rotation that hands gradients on is not enough for queries and keys to learn: several fused
//! operations of candle-nn 0.11 have no backward pass and drop gradients without a word. On the way
//! from queries and keys to the loss, call instead:
//!
//! | drops gradients | keeps them |
//! |---|---|
//! | `ops::softmax_last_dim(&x)` | `ops::softmax(&x, D::Minus1)` |
//! | `RmsNorm::forward`, `ops::rms_norm` | `RmsNorm::forward_diff`, `ops::rms_norm_slow` |
//! | `LayerNorm::forward` with a bias, `ops::layer_norm` | `ops::layer_norm_slow` |
//! | `rotary_emb::{rope, rope_i, rope_thd}` | [`RotaryEmbedding::apply`], [`rotate`] |
//! | `ops::sdpa` (Metal) | products and `ops::softmax` |

mod apply;
pub(crate) mod config;
mod cos_sin;
mod given;
mod input;
#[doc(hidden)]
pub mod reference;
mod tables;
mod turn;

use std::sync::Arc;

use candle_core::{DType, Device, Result};
use pe_core::hf_config::HfConfig;
use pe_core::{Backend, Rotary};

use self::config::RotaryEmbeddingConfig;
use self::tables::Tables;
use self::turn::Turn;
use crate::tensors::dtypes::{TableKind, check_dtypes};

pub use self::given::{rotate, rotate_qkv};

/// Turns the pairs of queries and keys by their tokens' angles:
///
/// ```text
/// (a, b) -> (a cos - b sin, a sin + b cos)      cos, sin of position * inv_freq[pair],
///                                               times the attention factor
/// ```
///
/// where a pair is columns `i` and `i + rotary_dim / 2`, or `2i` and `2i + 1`
/// ([`PairLayout`](pe_core::PairLayout)). Columns from `rotary_dim` on pass unchanged.
///
/// # Shapes
/// `[B, H, T, head_dim]`, `[B, T, H, head_dim]`, or `[T, B, H, head_dim]`, as the config's
/// [`HeadOrder`](crate::HeadOrder) says, of any strides; no `contiguous` is needed before or
/// after. Queries and keys may have different numbers of heads.
///
/// # Positions
/// A token's position is its index along `T` plus an offset ([`apply`](Self::apply)), plus an
/// offset of its own sequence ([`apply_at_offsets`](Self::apply_at_offsets)), or any id
/// ([`apply_with_positions`](Self::apply_with_positions)). The result for a position does not
/// depend on which of them was used, bit for bit.
///
/// # Types
/// The result has the type of the input. Tables are `f32` unless the layer is made for `f64`,
/// or [`table_dtype`](field@RotaryEmbeddingConfig::table_dtype) says otherwise.
///
/// | input | tables | computed in | rounded to the input's type |
/// |---|---|---|---|
/// | `f32` | `f32` | `f32` | |
/// | `f64` | `f64` or `f32` | `f64` | |
/// | `f16` | `f32` or `f16` | `f32` | once |
/// | `bf16` | `f32` or `bf16` | `f32` | once |
///
/// Every other pair is an error. In `f32` the products and the sum are rounded one by one: with
/// equal tables the bits are those of `candle_nn::rotary_emb::rope`.
///
/// # Frequencies that depend on the length
/// With dynamic NTK and LongRoPE the frequencies are those of the sequence seen: of length
/// `offset + T`, or of the largest position plus one, over the whole batch, as transformers has
/// it. Keys that were cached at a shorter length keep the angles that they got: where the
/// frequencies change, they no longer fit the queries, and the cache must be dropped and computed
/// again, as transformers' `generate` does where LongRoPE goes from its short to its long
/// frequencies. [`shares_frequencies`](Self::shares_frequencies) tells where that is.
/// (transformers remembers the longest sequence seen until a short one comes; here the numbers
/// depend on the call alone.) The tables of the two sets used last are kept; dynamic scaling beyond the
/// trained length makes the rows of each call anew, once for all layers that share the tables.
///
/// # Gradients
/// They flow, to any order: the backward pass is the rotation by the negative angles, costs what
/// the forward pass costs, and nothing is stored for it but a handle to the tables. The tables
/// are constants: no variables, in no `VarMap` and in no checkpoint.
///
/// # Devices
/// On the CPU one pass does it all. On CUDA and Metal Candle's own kernel does, converted to and
/// from `f32` for half types, and a composition of differentiable operations where gradients are
/// tracked.
///
/// # Clones and threads
/// Clones are cheap and share the tables, and so can all attention blocks of a model. A layer may be
/// used from any number of threads at once, those of rayon's pools included. Large inputs are shared out among as
/// many threads as rayon's current pool has (`RAYON_NUM_THREADS`). These threads are not the pool's own, and no
/// call waits for the pool.
#[derive(Debug, Clone)]
pub struct RotaryEmbedding {
    shared: Arc<Shared>,
    backend: Backend,
}

#[derive(Debug)]
struct Shared {
    config: RotaryEmbeddingConfig,
    dtype: DType,
    tables: Tables,
}

impl RotaryEmbedding {
    /// Makes the layer, for inputs of type `dtype` on `device`. Its tables are built as the calls
    /// need them, or at once with [`Growth::AtOnce`](crate::Growth::AtOnce).
    ///
    /// # Errors
    /// Returns an error if
    /// - the frequencies are invalid (see [`Rotary::new`]), an odd `rotary_dim` among others,
    /// - `rotary_dim` exceeds `head_dim`,
    /// - `max_seq_len` is 0 or its tables above [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES),
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
            backend: Backend::best(),
        })
    }

    /// Makes the layer of a model's `config.json`, given as its text or as a `serde_json::Value`:
    /// [`RotaryEmbeddingConfig::from_hf_config`] and [`new`](Self::new) in one.
    ///
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

    /// What the layer was made from.
    pub fn config(&self) -> &RotaryEmbeddingConfig {
        &self.shared.config
    }

    /// The frequencies.
    pub fn rotary(&self) -> &Rotary {
        self.shared.tables.rotary()
    }

    /// The type that the layer was made for.
    pub fn dtype(&self) -> DType {
        self.shared.dtype
    }

    /// Returns the most positions there may be.
    pub fn max_seq_len(&self) -> usize {
        self.shared.tables.limit()
    }

    /// Returns whether sequences of two lengths are rotated by the same frequencies. If they are
    /// not, keys cached at one length do not fit queries of the other, and the cache must be
    /// dropped: see [`Rotary::shares_frequencies`].
    ///
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

    /// The rows built until now: for the tests.
    #[doc(hidden)]
    pub fn rows_built(&self) -> usize {
        self.shared.tables.built()
    }

    /// The same layer on an instruction set: for the tests.
    #[doc(hidden)]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }
}
