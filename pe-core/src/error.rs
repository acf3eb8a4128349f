//! The one error type of the crate.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::text::escape;

/// What can be wrong with a specification or a request.
///
/// A message names the values and is one line without control or invisible characters, whatever a name
/// or a file holds.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `d_model` is zero or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error("d_model {d_model} is outside 1..={max}", max = crate::limits::MAX_D_MODEL)]
    DModel {
        /// The width asked for.
        d_model: usize,
    },
    /// `d_model` is odd and the specification does not say what to do about it.
    #[error(
        "d_model {d_model} is odd: sine and cosine columns come in pairs \
         (choose an OddWidth other than Reject to truncate or pad)"
    )]
    OddDModel {
        /// The width asked for.
        d_model: usize,
    },
    /// The base (or minimum rate) is not a positive finite number.
    #[error("{name} {value:?} is not a positive finite number")]
    Base {
        /// `base` or `min_rate`.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// `rotary_dim` is zero, odd or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error(
        "rotary_dim {rotary_dim} is not an even number within 2..={max}",
        max = crate::limits::MAX_D_MODEL
    )]
    RotaryDim {
        /// The width asked for.
        rotary_dim: usize,
    },
    /// More columns are to be rotated than a head has.
    #[error("rotary_dim {rotary_dim} exceeds head_dim {head_dim}")]
    RotaryWidth {
        /// The columns to be rotated.
        rotary_dim: usize,
        /// The columns there are.
        head_dim: usize,
    },
    /// A parameter is not what it must be.
    #[error("{name} {value:?} is not {expected}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// A frequency is not a finite number within 0 .. 2^32.
    #[error("inv_freq {value:?} of pair {pair} is not a number within 0..=4294967296")]
    InvFreq {
        /// The frequency.
        value: f64,
        /// The pair of columns concerned.
        pair: usize,
    },
    /// The frequency shift leaves no positive denominator, or is no multiple of 2^-104
    /// above -2^20.
    #[error(
        "downscale_freq_shift {shift:?} does not go with {pairs} pairs of columns: the exponents \
         i/(n - shift) need n - shift > 0 (and a shift above -2^20 that is a multiple of 2^-104)"
    )]
    FreqShift {
        /// The shift given.
        shift: f64,
        /// The number of sine/cosine pairs.
        pairs: usize,
    },
    /// The fastest column turns by more than 2^32 radians per position, or a
    /// column's frequency is beyond all representable numbers.
    #[error(
        "base {base:?} gives pair {pair} a frequency outside the supported range \
         (at most 2^32 radians per position, at least 2^-1500000)"
    )]
    Frequency {
        /// The base in force.
        base: f64,
        /// The pair of columns concerned.
        pair: usize,
    },
    /// A recipe was asked for with a spacing that it does not define.
    #[error("the recipe {recipe} is not defined for {spacing} spacing")]
    Recipe {
        /// The recipe's name.
        recipe: &'static str,
        /// The spacing's name.
        spacing: &'static str,
    },
    /// A range of positions runs backwards or past 2^32.
    #[error("positions {start}..{end} are not an ascending range within 0..4294967296")]
    Range {
        /// First position.
        start: u64,
        /// One past the last position.
        end: u64,
    },
    /// A real position is not finite or larger than 2^53 in size.
    #[error("position {value:?} (at index {index}) is not a finite number within -2^53..=2^53")]
    Timestep {
        /// The value given.
        value: f64,
        /// Where in the list.
        index: usize,
    },
    /// A step or shift is too large.
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
        /// Rows asked for.
        rows: u64,
        /// Columns asked for.
        width: usize,
        /// The element type.
        name: &'static str,
    },
    /// The allocator refused.
    #[error("no memory for {bytes} bytes")]
    OutOfMemory {
        /// The size asked for.
        bytes: u64,
    },
    /// A slice does not have the length that the request needs.
    #[error("{what} holds {actual} elements, {expected} are needed")]
    Length {
        /// Which slice.
        what: &'static str,
        /// Its length.
        actual: usize,
        /// The length needed.
        expected: u64,
    },
    /// The operation does not exist for this specification.
    #[error("{what} is not defined for {why}")]
    Undefined {
        /// The operation.
        what: &'static str,
        /// The property of the specification that rules it out.
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
        /// What is wrong with it.
        problem: String,
    },
    /// A model encodes positions in another way than by a rotary embedding.
    #[error("config.json: {model} has no rotary embedding (scheme: {scheme})")]
    NotRotary {
        /// The model as the file names it, `model_type "bert"`.
        model: String,
        /// The names of its schemes.
        scheme: String,
    },
    /// A name that is not one of those listed.
    #[error("unknown {what} \"{}\"; known: {}", escape(name), escape(known))]
    UnknownName {
        /// What was named: a preset, a layout ...
        what: &'static str,
        /// The name given.
        name: String,
        /// The names there are, separated by commas.
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
