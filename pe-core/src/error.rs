//! Error type of the crate.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::text::escape;

/// Error in a specification or a request.
///
/// A message names the values and is one line without control or invisible characters, whatever a name
/// or a file holds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `d_model` is zero or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error("d_model {d_model} is outside 1..={max}", max = crate::limits::MAX_D_MODEL)]
    DModel {
        /// The given width.
        d_model: usize,
    },
    /// `d_model` is odd and the specification does not define how to handle it.
    #[error(
        "d_model {d_model} is odd: sine and cosine columns come in pairs \
         (choose an OddWidth other than Reject to truncate or pad)"
    )]
    OddDModel {
        /// The given width.
        d_model: usize,
    },
    /// The base (or minimum rate) is not a positive finite number.
    #[error("{name} {value:?} is not a positive finite number")]
    Base {
        /// `base` or `min_rate`.
        name: &'static str,
        /// The given value.
        value: f64,
    },
    /// `rotary_dim` is zero, odd, or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error(
        "rotary_dim {rotary_dim} is not an even number within 2..={max}",
        max = crate::limits::MAX_D_MODEL
    )]
    RotaryDim {
        /// The given width.
        rotary_dim: usize,
    },
    /// More columns are to be rotated than a head has.
    #[error("rotary_dim {rotary_dim} exceeds head_dim {head_dim}")]
    RotaryWidth {
        /// Number of columns to rotate.
        rotary_dim: usize,
        /// Number of columns of the head.
        head_dim: usize,
    },
    /// A parameter has an invalid value.
    #[error("{name} {value:?} is not {expected}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The values that are valid.
        expected: &'static str,
    },
    /// A frequency is not a finite number within 0 .. 2^32.
    #[error("inv_freq {value:?} of pair {pair} is not a number within 0..=4294967296")]
    InvFreq {
        /// The frequency.
        value: f64,
        /// The pair of columns.
        pair: usize,
    },
    /// The frequency shift leaves no positive denominator, or is not a multiple of 2^-104 above
    /// -2^20.
    #[error(
        "downscale_freq_shift {shift:?} does not go with {pairs} pairs of columns: the exponents \
         i/(n - shift) need n - shift > 0 (and a shift above -2^20 that is a multiple of 2^-104)"
    )]
    FreqShift {
        /// The given shift.
        shift: f64,
        /// The number of sine/cosine pairs.
        pairs: usize,
    },
    /// The fastest column rotates by more than 2^32 radians per position, or a column's frequency
    /// is out of range.
    #[error(
        "base {base:?} gives pair {pair} a frequency outside the supported range \
         (at most 2^32 radians per position, at least 2^-1500000)"
    )]
    Frequency {
        /// The base in use.
        base: f64,
        /// The pair of columns.
        pair: usize,
    },
    /// A recipe does not define the given spacing.
    #[error("the recipe {recipe} is not defined for {spacing} spacing")]
    Recipe {
        /// Name of the recipe.
        recipe: &'static str,
        /// Name of the spacing.
        spacing: &'static str,
    },
    /// A range of positions descends or extends past 2^32.
    #[error("positions {start}..{end} are not an ascending range within 0..4294967296")]
    Range {
        /// First position.
        start: u64,
        /// One past the last position.
        end: u64,
    },
    /// A real position is not finite or exceeds 2^53 in magnitude.
    #[error("position {value:?} (at index {index}) is not a finite number within -2^53..=2^53")]
    Timestep {
        /// The given value.
        value: f64,
        /// Its index in the list.
        index: usize,
    },
    /// A shift exceeds 2^32 - 1 positions in magnitude.
    #[error("a shift by {steps} positions is outside -4294967295..=4294967295")]
    Steps {
        /// The number of positions.
        steps: i64,
    },
    /// A table would be larger than [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES).
    #[error(
        "a table of {rows} rows x {width} columns of {name} exceeds the limit of {max} bytes",
        max = crate::limits::MAX_TABLE_BYTES
    )]
    TooLarge {
        /// Number of rows.
        rows: u64,
        /// Number of columns.
        width: usize,
        /// Name of the element type.
        name: &'static str,
    },
    /// The allocator returned no memory.
    #[error("no memory for {bytes} bytes")]
    OutOfMemory {
        /// Size of the allocation.
        bytes: u64,
    },
    /// A slice does not have the required length.
    #[error("{what} holds {actual} elements, {expected} are needed")]
    Length {
        /// Name of the slice.
        what: &'static str,
        /// Its length.
        actual: usize,
        /// The required length.
        expected: u64,
    },
    /// The operation is not defined for this specification.
    #[error("{what} is not defined for {why}")]
    Undefined {
        /// Name of the operation.
        what: &'static str,
        /// Property of the specification that rules it out.
        why: &'static str,
    },
    /// Two operands belong to different specifications.
    #[error(
        "the operands belong to different specifications: {} and {}",
        escape(left),
        escape(right)
    )]
    Mismatch {
        /// The first.
        left: String,
        /// The second.
        right: String,
    },
    /// A model's config.json states something that cannot be used.
    #[error("config.json: {} {}", escape(key), escape(problem))]
    ModelConfig {
        /// The key, with the keys around it.
        key: String,
        /// Why its value cannot be used.
        problem: String,
    },
    /// A model encodes positions in another way than by a rotary embedding.
    #[error(
        "config.json: {} has no rotary embedding (scheme: {})",
        escape(model),
        escape(scheme)
    )]
    NotRotary {
        /// The model as the file names it, `model_type "bert"`.
        model: String,
        /// The names of its schemes.
        scheme: String,
    },
    /// A name that is not one of those listed.
    #[error("unknown {what} \"{}\"; known: {}", escape(name), escape(known))]
    UnknownName {
        /// Kind of the name: a preset, a layout ...
        what: &'static str,
        /// The name given.
        name: String,
        /// The known names, separated by commas.
        known: String,
    },
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

/// Wraps an error, so that `?` works in functions that return `candle_core::Result`.
#[cfg(feature = "candle")]
impl From<Error> for candle_core::Error {
    fn from(error: Error) -> Self {
        Self::wrap(error)
    }
}
