//! Exact positional encodings as Candle layers.
//!
//! Self-attention ignores the order of its inputs, and a positional encoding adds it. This crate
//! builds Candle layers from the tables of [`pe_core`]. Every entry of these tables is the
//! representable number nearest to the true value.
//!
//! # Put an encoding into a model
//!
//! [`PositionalEncoding`] computes `dropout(x * scale + pe[position])`. It implements
//! [`ModuleT`](candle_core::ModuleT). Gradients flow to `x`. The table is a constant, so optimizers and
//! checkpoints ignore it.
//!
//! ```
//! use candle_core::{DType, Device, ModuleT, Tensor};
//! use candle_nn::{VarBuilder, VarMap};
//! use pe_candle::{EmbeddingScale, PositionalEncoding, PositionalEncodingConfig};
//!
//! let varmap = VarMap::new();
//! let vb = VarBuilder::from_varmap(&varmap, DType::F32, &Device::Cpu);
//! let embedding = candle_nn::embedding(1000, 64, vb.pp("embedding"))?;
//! let config = PositionalEncodingConfig {
//!     scale: EmbeddingScale::SqrtDModel,
//!     dropout: 0.1,
//!     ..PositionalEncodingConfig::new(64)
//! };
//! let encoding = PositionalEncoding::new(config, vb.dtype(), vb.device())?;
//!
//! let tokens = Tensor::new(&[[17u32, 4, 256, 3]], &Device::Cpu)?;
//! let hidden = encoding.forward_t(&tokens.apply(&embedding)?, true)?;
//! assert_eq!(hidden.dims(), [1, 4, 64]);
//! assert_eq!(varmap.all_vars().len(), 1); // the embedding's
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Decode incrementally
//!
//! [`PositionalEncoding::forward_at`] accepts the position of the first token. The results have the
//! same bits as those of one call with the complete sequence.
//!
//! ```
//! # use candle_core::{DType, Device, ModuleT, Tensor};
//! # use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
//! # let config = PositionalEncodingConfig::new(64);
//! let encoding = PositionalEncoding::new(config, DType::BF16, &Device::Cpu)?;
//! let prompt = Tensor::zeros((1, 12, 64), DType::BF16, &Device::Cpu)?;
//! let mut hidden = encoding.forward_t(&prompt, false)?;
//! for position in 12..15 {
//!     let token = Tensor::zeros((1, 1, 64), DType::BF16, &Device::Cpu)?;
//!     hidden = encoding.forward_at(&token, position, false)?;
//! }
//! # assert_eq!(hidden.dims(), [1, 1, 64]);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Pad or pack a batch
//!
//! [`PositionalEncoding::forward_with_positions`] accepts an id for each token.
//! [`position_ids_from_attention_mask`], [`position_ids_from_token_ids`], and
//! [`position_ids_for_packed`] compute them. If the table has no row for an id, the error names the
//! id and its index.
//!
//! ```
//! # use candle_core::{DType, Device, Tensor};
//! # use pe_candle::position_ids_from_attention_mask;
//! # use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
//! # let config = PositionalEncodingConfig::new(64);
//! # let encoding = PositionalEncoding::new(config, DType::F32, &Device::Cpu)?;
//! let embedded = Tensor::zeros((2, 4, 64), DType::F32, &Device::Cpu)?;
//! let mask = Tensor::new(&[[0u32, 0, 1, 1], [1, 1, 1, 1]], &Device::Cpu)?; // padded left
//! let ids = position_ids_from_attention_mask(&mask, 0)?;
//! let hidden = encoding.forward_with_positions(&embedded, &ids, false)?;
//! # assert_eq!(hidden.dims(), [2, 4, 64]);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Rotate queries and keys
//!
//! [`RotaryEmbedding`] replaces the private copies in Candle's models. It has gradients, exact tables,
//! position ids, partial widths, and every scaling. [`rotary`] lists the replacement for each of their
//! lines.
//!
//! ```
//! use candle_core::{DType, Device, Tensor};
//! use pe_candle::{RotaryEmbedding, RotaryEmbeddingConfig};
//!
//! let rotary = RotaryEmbedding::new(RotaryEmbeddingConfig::new(64), DType::BF16, &Device::Cpu)?;
//! let q = Tensor::zeros((1, 8, 5, 64), DType::BF16, &Device::Cpu)?;
//! let k = Tensor::zeros((1, 2, 5, 64), DType::BF16, &Device::Cpu)?;
//! let (q, k) = rotary.apply_qkv(&q, &k, 1000)?;
//! # assert_eq!((q.dims(), k.dims()), (&[1, 8, 5, 64][..], &[1, 2, 5, 64][..]));
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Bias attention scores
//!
//! [`bias`] has the biases of BLOOM, MPT, T5, DeBERTa, Swin, BEiT, SAM, and Transformer-XL. They are read in the pass that computes the
//! softmax, so most of them are never expanded to the shape of the scores.
//!
//! ```
//! # use candle_core::{DType, Device, Tensor};
//! use pe_candle::{Alibi, AlibiConfig, ScoreMask, softmax_with_bias};
//!
//! let alibi = Alibi::new(AlibiConfig::new(12), DType::F32, &Device::Cpu)?;
//! let scores = Tensor::zeros((1, 12, 40, 40), DType::F32, &Device::Cpu)?; // queries times keys
//! let bias = alibi.bias(40, 40, 0)?;
//! let weights = softmax_with_bias(&scores, Some(&bias), 0.125, &ScoreMask::causal(0))?;
//! # assert_eq!(weights.dims(), [1, 12, 40, 40]);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Encode images, timesteps, and coordinates
//!
//! - [`LearnedPositional`] adds a trained table, under the tensor names of BERT, GPT-2, Whisper, and others.
//! - [`GridEncoding`] adds the sinusoidal encoding of a grid of patches. [`LearnedGrid`] adds a trained one,
//!   resized to each image.
//! - [`AxialRotaryEmbedding`] rotates by the coordinates of images and videos, and [`LearnedRotary`] with
//!   trained frequencies.
//! - [`TimestepEmbedding`] embeds timesteps, and [`FourierFeatures`] coordinates.
//!
//! ```
//! use candle_core::{DType, Device, Tensor};
//! use pe_candle::{GridEncoding, GridEncodingConfig, GridPreset};
//!
//! let config = GridEncodingConfig::from_preset(GridPreset::VitMae, 64);
//! let encoding = GridEncoding::new(config, DType::F32, &Device::Cpu)?;
//! let patches = Tensor::zeros((2, 1 + 14 * 14, 64), DType::F32, &Device::Cpu)?; // with a class token
//! let hidden = encoding.forward(&patches, &[14, 14])?;
//! # assert_eq!(hidden.dims(), [2, 197, 64]);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Repeat or resume a training run
//!
//! [`Dropout`] computes its mask from a seed, a step, and the element's index, with a published
//! generator ([`philox4x32_10`]). The mask is the same on every device and for any number of threads,
//! and the backward pass recomputes it.
//!
//! ```
//! # use candle_core::{DType, Device, ModuleT, Tensor};
//! # use pe_candle::{PositionalEncoding, PositionalEncodingConfig};
//! # let xs = Tensor::ones((1, 4, 64), DType::F32, &Device::Cpu)?;
//! let config = PositionalEncodingConfig { seed: 42, ..PositionalEncodingConfig::new(64) };
//! let encoding = PositionalEncoding::new(config.clone(), DType::F32, &Device::Cpu)?;
//! encoding.forward_t(&xs, true)?;
//! let step = encoding.dropout().step(); // goes into the checkpoint
//! let next = encoding.forward_t(&xs, true)?;
//!
//! let resumed = PositionalEncoding::new(config, DType::F32, &Device::Cpu)?;
//! resumed.dropout().set_step(step);
//! let again = resumed.forward_t(&xs, true)?;
//! assert_eq!(again.to_vec3::<f32>()?, next.to_vec3::<f32>()?);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! # Use it in a sequence of modules
//!
//! [`PositionalEncoding::inference`] returns a view of the layer for `candle_nn::seq()`.
//!
//! # Use the table alone
//!
//! [`sinusoidal_tensor`] computes a tensor of any range of positions. [`table_to_tensor`] converts any
//! table of `pe_core`.
//!
//! ```
//! use candle_core::{DType, Device};
//! use pe_candle::{Preset, Sinusoidal};
//!
//! let whisper = Sinusoidal::new(Preset::Whisper.config(384))?;
//! let table = pe_candle::sinusoidal_tensor(&whisper, 0..1500, DType::F16, &Device::Cpu)?;
//! assert_eq!(table.dims(), [1500, 384]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
// Only `kernel/raw` contains unsafe code.
#![deny(unsafe_code)]

pub mod checkpoint;
#[cfg(feature = "hub")]
pub mod hub;
mod kernel;
mod layers;
mod tensors;
#[doc(hidden)]
pub mod testing;

pub use kernel::philox::philox4x32_10;
pub use layers::additive::PositionalEncoding;
pub use layers::bias;
pub use layers::bias::{
    Alibi, AttentionBias, DebertaBias, DebertaBiasConfig, DecomposedBias, DecomposedBiasConfig,
    RelativeDistances, RelativeRows, RelativeSinusoid, RelativeSinusoidConfig, RelativeTable,
    RelativeTableConfig, ScoreMask, ScoreScale, SoftCap, T5Bias, T5BiasConfig, add_to_scores,
    add_to_scores_inplace, softmax_with_bias, softmax_with_bias_inplace,
};
pub use layers::config::{EmbeddingScale, Growth, PositionalEncodingConfig};
pub use layers::dropout::Dropout;
pub use layers::fourier::{FourierFeatures, FourierFeaturesConfig};
pub use layers::grid::add::PatchAxes;
pub use layers::grid::config::{LearnedGridConfig, LearnedGridShape};
pub use layers::grid::fixed::{GridEncoding, GridEncodingConfig};
pub use layers::grid::learned::LearnedGrid;
pub use layers::inference::Inference;
pub use layers::learned::LearnedPositional;
pub use layers::learned::config::{
    LearnedPositionalConfig, LearnedPreset, LearnedRows, LearnedShape,
};
pub use layers::rotary;
pub use layers::rotary::RotaryEmbedding;
pub use layers::rotary::axial::{
    AxialPositions, AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, CoordinateAxis,
};
pub use layers::rotary::config::RotaryEmbeddingConfig;
pub use layers::rotary::learned::{LearnedFrequencies, LearnedRotary, LearnedRotaryConfig};
pub use layers::timestep::{TimestepEmbedding, TimestepEmbeddingConfig};
pub use pe_core;
pub use pe_core::{
    AlibiConfig, AngleUnit, AxialRotary, AxialRotaryConfig, AxialRotaryPreset, AxialTables,
    AxisCoordinates, AxisFrequencies, AxisPairing, Base, BucketDirection, CosSin, DebertaBuckets,
    DebertaBucketsConfig, Direction, Element, FourierBands, FourierConfig, FourierCoordinates,
    FourierLayout, FourierPreset, FrequencyUnit, Grid, GridAxis, GridConfig, GridCoordinates,
    GridIndexing, GridLayout, GridPreset, Llama3Scaling, LongRopeScaling, Mrope, MropeArrangement,
    MropePositions, MropeSegment, OddWidth, PairLayout, PatchGrid, PatchOrder, PatchPositions,
    Preset, Recipe, Rerotation, ResizeBy, ResizeConfig, ResizeKernel, ResizePreset, RopeScaling,
    Rotary, RotaryAxis, RotaryConfig, RotaryFrequencies, RotaryRecipe, ScoreTemperature,
    SinusoidLayout, Sinusoidal, SinusoidalConfig, Spacing, T5Buckets, T5BucketsConfig, Table,
    Timestep, TimestepConfig, TimestepPreset, VisionWindows, Xpos, XposConfig, YarnScaling, gguf,
    hf_config, mrope_position_ids, ntk_base, permute_rows, swin_v2_coordinates,
    vision_position_ids, vision_windows,
};
pub use tensors::axes::{AxisOrder, HeadOrder};
pub use tensors::convert::{sinusoidal_tensor, table_to_tensor};
pub use tensors::positions::{
    position_ids_for_mrope, position_ids_for_packed, position_ids_from_attention_mask,
    position_ids_from_token_ids,
};
pub use tensors::temperature::{score_temperature_at, score_temperature_tensor};

/// The examples of README.md, compiled and run with the other documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
