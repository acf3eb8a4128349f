//! The trait of a scheme of positional encodings with tables that files can hold.

use std::fmt;
use std::ops::Range;

use candle_core::{DType, Result, Tensor};
use pe_core::Element;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The metadata key of the specification, the only key written.
pub const METADATA_KEY: &str = "positional_encoding";

/// The version of the JSON object that this crate reads and writes.
pub const FORMAT: u32 = 1;

/// A scheme of positional encodings with tables that files can hold.
///
/// [`save`](crate::checkpoint::save), [`export`](crate::checkpoint::export),
/// [`load_as`](crate::checkpoint::load_as), and [`compare`](crate::checkpoint::compare) work with
/// every scheme, with the same options. The value itself is a checked encoding with its frequencies,
/// such as [`Sinusoidal`](pe_core::Sinusoidal). A [`Spec`](crate::checkpoint::Spec) adds the rows of
/// the table and their type.
///
/// A scheme has one or more *tables*, which all have the rows, the width, and the type of the
/// specification, and perhaps *constants*, small tensors of their own shape and type.
///
/// # Adding a scheme
/// This crate alone implements the trait. A new scheme is one module next to
/// `schemes/sinusoidal.rs` and `schemes/rotary.rs`, with
///
/// 1. the checked value: one that pe-core has, or a struct around one;
/// 2. its JSON object: that of `schemes/fields.rs`, or, if a configuration does not state everything, a struct
///    with `deny_unknown_fields` that begins with `format` and `scheme`;
/// 3. this implementation: names, width, and the [`writer`](Scheme::writer) of blocks of rows;
///
/// then a variant of [`AnySpec`](crate::checkpoint::AnySpec). `schemes/tests.rs` has a small scheme of
/// trained values. Headers, order of the tensors, blocks, threads, comparison, tolerance, conversion,
/// and messages are the same for all schemes.
///
/// Tables that were trained have no formula. They are saved from tensors and loaded, and their
/// scheme sets [`COMPUTED`](Scheme::COMPUTED) to `false`: then nothing is compared, `export` returns
/// an error, and `writer` is never called.
pub trait Scheme: Sealed + Clone + fmt::Debug + PartialEq + Send + Sync + Sized {
    /// Name of the scheme in a specification.
    const NAME: &'static str;

    /// Names of the tables in a file.
    const TABLES: &'static [&'static str];

    /// Names of the constants in a file.
    const CONSTANTS: &'static [&'static str] = &[];

    /// Name of the width in messages.
    #[doc(hidden)]
    const WIDTH: &'static str;

    /// Whether [`writer`](Scheme::writer) computes the values, as opposed to trained ones.
    const COMPUTED: bool = true;

    /// Configuration that a caller can ask for.
    type Config: Clone + fmt::Debug + PartialEq + Serialize + Send + Sync;

    /// The JSON object of a specification.
    #[doc(hidden)]
    type Fields: Fields<Self>;

    /// Tensors that loading returns.
    type Tensors: Tensors;

    /// Checks a configuration and computes the frequencies of rows that end before position `end`.
    #[doc(hidden)]
    fn build(config: Self::Config, end: u64) -> Result<Self>;

    /// Returns the configuration.
    fn config(&self) -> &Self::Config;

    /// Returns the width of a row of each table.
    #[doc(hidden)]
    fn width(config: &Self::Config) -> usize;

    /// Returns the values of the constants next to tables of a type.
    #[doc(hidden)]
    fn constants(&self, _dtype: DType) -> Vec<Constant> {
        Vec::new()
    }

    /// Checks that the rows exist and that their type can hold the values.
    #[doc(hidden)]
    fn check(&self, _rows: &Rows) -> Result<()> {
        Ok(())
    }

    /// Returns a function that computes the rows of consecutive positions: each call fills the next
    /// complete rows, the same of every table.
    #[doc(hidden)]
    fn writer<T: Element>(
        &self,
        positions: Range<u64>,
    ) -> pe_core::Result<impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()>>;
}

/// The JSON object of a specification.
pub trait Fields<S>: Serialize + DeserializeOwned {
    /// Describes rows of a scheme.
    fn of(scheme: &S, rows: &Rows) -> Result<Self>;

    /// Builds the scheme that the object describes. The error is the reason.
    fn build(self) -> std::result::Result<(S, Rows), String>;
}

/// The tensors that loading a file returns.
pub trait Tensors: Clone + fmt::Debug {
    /// Names loaded tensors: tables, then constants. Returns `None` if one is missing.
    fn from_loaded(loaded: impl Iterator<Item = Tensor>) -> Option<Self>;
}

impl Tensors for Tensor {
    fn from_loaded(mut loaded: impl Iterator<Item = Tensor>) -> Option<Self> {
        loaded.next()
    }
}

/// Returns a writer of consecutive rows of `width` entries, for a scheme with one table.
///
/// `fill` computes the rows of a range of positions.
pub(crate) fn fill_rows<T>(
    width: usize,
    mut positions: Range<u64>,
    mut fill: impl FnMut(Range<u64>, &mut [T]) -> pe_core::Result<()>,
) -> impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()> {
    move |tables| {
        for table in tables {
            let rows = table.len().checked_div(width).unwrap_or(0) as u64;
            let next = positions.start.saturating_add(rows).min(positions.end);
            fill(positions.start..next, table)?;
            positions.start = next;
        }
        Ok(())
    }
}

/// Rows of a table, and the type of its entries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rows {
    pub(crate) start: u64,
    pub(crate) rows: usize,
    pub(crate) dtype: DType,
}

/// A small tensor that belongs to a table.
#[derive(Debug, Clone)]
pub struct Constant {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
}

/// Keeps the list of schemes in this crate.
pub trait Sealed {}
