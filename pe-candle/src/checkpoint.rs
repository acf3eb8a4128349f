//! Tables in safetensors files: save, load, compare, inspect.
//!
//! ```text
//! spec ──► computed rows ──► file     export     tensors and, under one metadata key, the
//!                                                specification as one JSON object
//! tensor or Table ─────────► file     save       values that the caller has
//! file ──► tensors                    load, load_as   checked against the specification in the file
//!                                                and the requirements of the caller
//! file ──► report                     inspect    any safetensors file
//! file + spec ──► comparison          compare    how many entries differ, and the first
//! VarBuilder ──► tensor               from_var_builder
//! ```
//!
//! Every [`Scheme`] has the same functions and options. A [`SinusoidalSpec`] describes one tensor,
//! `pe`, of shape `[rows, d_model]`, as do [`TimestepSpec`], [`GridSpec`], and [`FourierSpec`]. A
//! [`RotarySpec`] describes `cos` and `sin` of shape `[rows, rotary_dim/2]` and `inv_freq`, and an
//! [`AlibiSpec`] `bias` of shape `[rows, heads]` and `slopes`. The specification is the only metadata, under the key
//! `positional_encoding`: safetensors metadata is an unordered map, so with one key equal input gives
//! equal bytes. Saving again replaces the file atomically. A reader sees the old file or the new one.
//!
//! Files are read, never mapped: a mapped file that another program truncates ends the process. Only the
//! header and the tables are read, so a table inside a large checkpoint costs no more than the table.
//!
//! # Tables without a scheme
//! Rotary tables over several axes belong to the sizes of an image, or to coordinates, so no range of positions describes
//! them: [`AxialRotaryEmbedding::cos_sin`](crate::AxialRotaryEmbedding::cos_sin) returns their tensors, and
//! `candle_core::safetensors::save` writes tensors. Learned tables, those with a table per axis included (Reformer), are tensors of a model's
//! file. [`resize`] writes resized ones.
//!
//! # Speed
//! Building a table is about as fast as reading it, even from the page cache. For 8192 x 1024 in `f32`,
//! 32 MiB, on 2 cores with AVX-512: building took 19 ms on one thread, and reading the file's bytes into
//! memory 21 ms. Loading took 15 ms on two threads, or 21 ms with every entry compared. Saving took
//! 27 ms, of which the system used 25 ms to write and sync the same bytes. So a file is useful for
//! values that a specification cannot express, trained or inexact, and for programs that cannot compute
//! them. It does not save time. Tables of 32 MiB or more are read by as many threads as rayon's current
//! pool has.
//!
//! ```
//! use candle_core::{DType, Device};
//! use pe_candle::SinusoidalConfig;
//! use pe_candle::checkpoint::{self, SinusoidalSpec};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("table.safetensors");
//! let spec = SinusoidalSpec::new(SinusoidalConfig::new(64), 0, 100, DType::F32)?;
//! checkpoint::export(&path, &spec)?;
//!
//! let loaded = checkpoint::load(&path, &Device::Cpu)?;
//! assert_eq!(loaded.table.dims(), [100, 64]);
//! assert_eq!(loaded.spec, Some(spec));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod compare;
mod comparison;
pub(crate) mod file;
mod inspect;
mod load;
mod pass;
mod save;
mod scheme;
mod schemes;
mod spec;
mod tables;
mod values;
mod var_builder;
mod verify;

pub use compare::compare;
pub use comparison::{Comparison, WrongEntry};
pub use file::limits::Limits;
pub use file::read::DEFAULT_TENSOR;
pub use inspect::{FileReport, SpecStatus, TensorReport, inspect};
pub use load::{LoadOptions, Loaded, load, load_as};
pub use pass::NonFinite;
pub use save::pairs::{PairConversion, PermutedWeights, convert_pairs};
pub use save::resize::{ResizedTable, TableResize, resize};
pub use save::{SaveOptions, export, save};
pub use scheme::{FORMAT, METADATA_KEY, Scheme};
pub use schemes::AnySpec;
pub use schemes::alibi::{AlibiSpec, AlibiTensors, BIAS_TENSOR, SLOPES_TENSOR};
pub use schemes::fourier::{CellPoints, FourierSpec, FourierTable, FourierTableConfig};
pub use schemes::grid::{GridSpec, GridTable, GridTableConfig};
pub use schemes::rotary::{
    COS_TENSOR, INV_FREQ_TENSOR, RotarySpec, RotaryTables, RotaryTensors, SIN_TENSOR,
};
pub use schemes::sinusoidal::SinusoidalSpec;
pub use schemes::timestep::TimestepSpec;
pub use spec::Spec;
pub use values::Values;
pub use var_builder::{TableOrigin, from_var_builder};
pub use verify::Verify;

// Not part of the interface: the command line opens and replaces its files in the same way.
#[doc(hidden)]
pub use file::open::open_regular;
#[doc(hidden)]
pub use file::replace::replace;
