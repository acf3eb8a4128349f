//! Positional-encoding tables in which **every entry is the float nearest to the true value**: the
//! same bits on every machine, at the speed of memory.
//!
//! The crate is pure mathematics. It has no tensors and opens no files. It uses threads only with the
//! feature `rayon`. `pe-candle` builds Candle layers from its tables.
//!
//! # From a specification to a table
//!
//! ```text
//! SinusoidalConfig ─► frequencies ─► phase ─► sin, cos ─► rounding ─► Table<T>
//!    (checked)         (turns)    (mod 1 turn)          (nearest T)
//! ```
//!
//! A [`SinusoidalConfig`] is plain data: width, [`Base`], [`Spacing`] of the frequencies,
//! [`SinusoidLayout`] of the columns, [`OddWidth`]. [`Sinusoidal::new`] checks it and computes the
//! frequencies. The resulting [`Sinusoidal`] builds tables of `f32`, `f64`, `f16`, or `bf16`.
//!
//! ```
//! use pe_core::{Sinusoidal, SinusoidalConfig};
//!
//! let encoding = Sinusoidal::new(SinusoidalConfig::new(512))?;
//! let table = encoding.table::<f32>(0..5000)?;
//! assert_eq!((table.rows(), table.width()), (5000, 512));
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! Presets name the conventions of other libraries:
//!
//! ```
//! use pe_core::{Preset, Sinusoidal};
//!
//! let whisper = Sinusoidal::new(Preset::Whisper.config(384))?;
//! # assert_eq!(whisper.pairs(), 192);
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! Positions may be any integers below 2^32, in any order, or real numbers:
//!
//! ```
//! # let encoding = pe_core::Sinusoidal::paper(8)?;
//! let packed = encoding.table_at::<f32>(&[0, 1, 2, 0, 1])?;
//! assert_eq!(packed.row(0), packed.row(3));
//! let timesteps = encoding.table_at_reals::<f32>(&[0.5, 999.0])?;
//! # assert_eq!(timesteps.rows(), 2);
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! Rows can be written into caller-supplied memory, all at once or in blocks, with the same bits:
//!
//! ```
//! # let encoding = pe_core::Sinusoidal::paper(8)?;
//! let mut rows = vec![0f32; 2 * 8];
//! encoding.fill(1_000_000, &mut rows)?;
//! assert_eq!(encoding.table::<f32>(1_000_000..1_000_002)?.as_slice(), rows);
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! A [`Shift`] moves an encoding by k positions, and [`Sinusoidal::similarity_matrix`] compares
//! positions without building a table:
//!
//! ```
//! use pe_core::{Similarity, Sinusoidal, VectorConvention};
//!
//! let encoding = Sinusoidal::paper(64)?;
//! let matrix = encoding.shift(3)?.matrix(VectorConvention::Row)?;
//! assert_eq!((matrix.rows(), matrix.width()), (64, 64));
//! let distances = encoding.similarity_to(Similarity::Distance, 20, 0..50)?;
//! assert_eq!(distances[20], 0.0);
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! A [`Recipe`] reproduces the inexact f32 table that a model was trained with, with the same bits
//! on every machine:
//!
//! ```
//! use pe_core::{Recipe, Sinusoidal, SinusoidalConfig};
//!
//! let labml = Sinusoidal::new(SinusoidalConfig {
//!     recipe: Recipe::ExpF32,
//!     ..SinusoidalConfig::new(512)
//! })?;
//! # assert_eq!(labml.table::<f32>(0..2)?.get(1, 0), Some(0.84147098));
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! # Rotary embeddings
//!
//! A [`RotaryConfig`] holds the base and one of the scalings of released models ([`RopeScaling`]).
//! Its [`RotaryFrequencies`] build tables of cosines and sines, attention factor included:
//!
//! ```
//! use pe_core::{RopeScaling, Rotary, RotaryConfig, YarnScaling};
//!
//! let rotary = Rotary::new(RotaryConfig {
//!     base: 1e6,
//!     scaling: RopeScaling::Yarn(YarnScaling::new(4.0, 32_768)),
//!     ..RotaryConfig::new(128)
//! })?;
//! let frequencies = rotary.frequencies(0)?;
//! let tables = frequencies.tables::<f32>(0..1000)?;
//! assert_eq!(tables.cos.get(0, 0), Some(frequencies.attention_factor() as f32));
//! # Ok::<(), pe_core::Error>(())
//! ```
//!
//! `hf_config` (feature `hf-config`) reads a specification from a model's `config.json`. Positions
//! of images and videos have several coordinates ([`AxialRotary`], [`Mrope`]). A [`Rerotation`]
//! moves vectors that are already rotated to other positions. [`permute_rows`] converts weights
//! between the two pair layouts.
//!
//! # Other families
//!
//! - [`Grid`]: sinusoidal encodings of images and videos, with the conventions of [`GridPreset`].
//! - [`Timestep`] and [`FourierFeatures`]: timesteps and coordinates to sines and cosines.
//! - [`alibi_slopes`], [`T5Buckets`], [`DebertaBuckets`], [`RelativeIndex`]: the fixed parts of attention
//!   biases.
//! - [`ResizeConfig`]: the weights with which learned grids are resized.
//! - [`ScoreTemperature`] and [`Xpos`]: factors of attention scores, and of rotated queries and keys.
//!
//! # Accuracy
//!
//! Entries of all four types are correctly rounded (to nearest) from the real number sin or cos of
//! `position x base^(-e)`, where `base` is the exact value of the given `f64`. f64 arithmetic with
//! the platform's functions gets one f32 entry in 26,000 wrong near position 65,536 and one in five
//! near 2^32. The usual f32 recipes get three in four or more wrong already below position 4,096
//! (`examples/accuracy.rs` measures it).
//!
//! # Features
//!
//! * `rayon`: builds large tables on as many threads as rayon's current pool has, with the same bits.
//!   These threads are not the pool's own, so a table may be built inside a pool and under any lock.
//! * `serde`: serializes specifications.
//! * `hf-config`: reads rotary specifications from Hugging Face's `config.json` and from GGUF files.
//! * `candle`: converts [`Error`] into `candle_core::Error`, so that `?` works in Candle code.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod convert;
mod error;
mod families;
mod limits;
mod num;
mod relate;
mod round;
mod rows;
mod sincos;
mod spec;
mod table;
pub mod text;
mod turns;

#[cfg(feature = "hf-config")]
pub use convert::gguf;
pub use convert::grid_preset::GridPreset;
#[cfg(feature = "hf-config")]
pub use convert::hf_config;
pub use convert::permute::{permutation, permute_rows};
pub use convert::preset::Preset;
pub use convert::resize_preset::ResizePreset;
pub use error::{Error, Result};
pub use families::bias::alibi::{
    AlibiConfig, AlibiSlopes, MAX_HEADS, alibi_distances, alibi_positions, alibi_slopes,
};
pub use families::bias::buckets::{
    BucketDirection, DebertaBuckets, DebertaBucketsConfig, T5Buckets, T5BucketsConfig,
};
pub use families::bias::clip::{clipped_index, windowed_index};
pub use families::bias::decomposed::decomposed_index;
pub use families::bias::index::{RelativeIndex, swin_v2_coordinates};
pub use families::bias::toeplitz::relative_distances;
pub use families::fourier::{
    AngleUnit, FourierBands, FourierConfig, FourierCoordinates, FourierFeatures, FourierLayout,
    FourierPreset,
};
pub use families::grid::{
    AxisCoordinates, Grid, GridAxis, GridConfig, GridLayout, masked_coordinates,
};
pub use families::resize::{AxisTaps, ResizeBy, ResizeConfig, ResizeKernel, RowSums, RowTaps};
pub use families::rotary::{
    AxialRotary, AxialRotaryConfig, AxialRotaryPreset, AxialTables, AxisFrequencies, AxisPairing,
    CosSin, CosSinBlocks, FrequencyUnit, GridCoordinates, GridIndexing, Mrope, MropeArrangement,
    MropePositions, MropeSegment, PatchGrid, PatchOrder, PatchPositions, Rotary, RotaryAxis,
    RotaryConfig, RotaryFrequencies, ScoreTemperature, VisionWindows, Xpos, XposConfig,
    mrope_position_ids, ntk_base, vision_position_ids, vision_windows,
};
pub use families::sinusoidal::{Blocks, Sinusoidal, SinusoidalConfig};
pub use families::timestep::{Timestep, TimestepConfig, TimestepPreset};
pub use half::{bf16, f16};
pub use limits::{MAX_D_MODEL, MAX_GRID_SIDE, MAX_TABLE_BYTES, POSITIONS};
pub use relate::binary::binary_encoding;
pub use relate::rerotate::Rerotation;
pub use relate::shift::{Shift, VectorConvention};
pub use relate::similarity::Similarity;
pub use rows::angles::{cos_sin_of_angles, cos_sin_of_angles_f64};
pub use rows::element::Element;
pub use spec::direction::Direction;
pub use spec::layout::{OddWidth, SinusoidLayout};
pub use spec::pair_layout::PairLayout;
pub use spec::recipe::{Recipe, RotaryRecipe};
pub use spec::spacing::{Base, Spacing};
pub use table::Table;
pub use turns::scaling::{Llama3Scaling, LongRopeScaling, RopeScaling, YarnScaling};

#[doc(hidden)]
pub use families::testing;

/// The examples of README.md, compiled and run with the other documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
