//! Tables in safetensors files: save, load, compare, inspect.
//!
//! ```text
//! spec ──► exact rows ──► file     export      one tensor and, under one metadata key,
//! tensor or Table ──────► file     save        the specification as one JSON object
//! file ──► tensor                  load        checked against what the file says and
//!                                              what the caller asked for
//! file ──► report                  inspect     any safetensors file
//! file + spec ──► comparison       compare     how many entries differ, and the first
//! VarBuilder ──► tensor            from_var_builder
//! any bytes ────────────► file     replace     in one step
//!
//! rotary spec ──► file             export_rotary     cosines, sines and frequencies
//! file ──► three tensors           load_rotary
//! file + rotary spec               compare_rotary
//! ```
//!
//! A file written here holds one tensor, `pe` by default, of shape
//! `[rows, d_model]`, or for a rotary table three: `cos` and `sin` of shape
//! `[rows, rotary_dim/2]` and `inv_freq`. With them stands the metadata key
//! `positional_encoding`. There is one key
//! because safetensors metadata is an unordered map: with one key, equal input gives
//! equal bytes. Saving again replaces the file in one step; a reader sees the old
//! file or the new one.
//!
//! Files are read, never mapped: a mapped file that another program truncates ends
//! the process. Only the header and the table are read, so a table inside a large
//! checkpoint costs no more than the table.
//!
//! # What it costs
//! Building a table is about as fast as reading it, even from the system's cache: 8192 x 1024
//! in `f32`, 32 MiB, took 19 ms to build on one thread where reading the file's bytes into
//! memory took 21 (2 cores with AVX-512). Loading it took 15 ms on two threads, and 21 with
//! every entry compared with what it should be; saving 27, of which 25 are the system's to
//! write and sync the same bytes. So a file is for what a specification cannot say, trained or
//! inexact numbers, or for programs that cannot compute it; it does not save time. From 32 MiB
//! on a table is read by as many threads as rayon's current pool has.
//!
//! ```
//! use candle_core::{DType, Device};
//! use pe_candle::checkpoint::{self, TableSpec};
//! use pe_candle::{Sinusoidal, SinusoidalConfig};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("table.safetensors");
//! let spec = TableSpec::new(SinusoidalConfig::new(64), 0, 100, DType::F32);
//! let table = Sinusoidal::new(spec.config)?.table::<f32>(0..100)?;
//! checkpoint::save_table(&path, &table, &spec)?;
//!
//! let loaded = checkpoint::load(&path, &Device::Cpu)?;
//! assert_eq!(loaded.tensor.dims(), [100, 64]);
//! assert_eq!(loaded.spec, Some(spec));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod any_spec;
mod compare;
mod comparison;
pub(crate) mod file;
mod inspect;
mod load;
mod pass;
mod rotary;
mod save;
mod scheme;
mod sinusoidal;
mod spec;
mod tables;
mod values;
mod var_builder;
mod verify;

pub use any_spec::AnySpec;
pub use compare::compare;
pub use comparison::{Comparison, WrongEntry};
pub use file::header::Limits;
pub use file::read::DEFAULT_TENSOR;
pub use inspect::{FileReport, SpecStatus, TensorReport, inspect};
pub use load::{LoadOptions, Loaded, load, load_as};
pub use pass::NonFinite;
pub use rotary::{
    COS_TENSOR, INV_FREQ_TENSOR, RotarySpec, RotaryTables, RotaryTensors, SIN_TENSOR,
};
pub use save::{SaveOptions, export, save};
pub use scheme::{FORMAT, METADATA_KEY, Scheme};
pub use sinusoidal::SinusoidalSpec;
pub use spec::Spec;
pub use values::Values;
pub use var_builder::{TableOrigin, from_var_builder};
pub use verify::Verify;

// Not part of the interface: the command line opens and replaces its files in the same way.
#[doc(hidden)]
pub use file::open::open_regular;
#[doc(hidden)]
pub use file::replace::replace;
