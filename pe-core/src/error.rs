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
    /// A width is zero or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error("{name} {width} is outside 1..={max}", max = crate::limits::MAX_D_MODEL)]
    Width {
        /// Name of the parameter.
        name: &'static str,
        /// The given width.
        width: usize,
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
    /// A parameter is not a positive finite number.
    #[error("{name} {value:?} is not a positive finite number")]
    NotPositive {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
    },
    /// A parameter is negative or not finite.
    #[error("{name} {value:?} is not a finite number of at least 0")]
    Negative {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
    },
    /// A parameter is not above 1, as a scaling requires.
    #[error("{name} {value:?} is not above 1, as {scaling} scaling requires")]
    NotAboveOne {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
        /// Name of the scaling.
        scaling: &'static str,
    },
    /// A parameter is below another one.
    #[error("{name} {value:?} is below {least_name} {least:?}")]
    Below {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
        /// Name of the parameter that bounds it.
        least_name: &'static str,
        /// The value of that parameter.
        least: f64,
    },
    /// A share of the rotary columns is outside 0..=1.
    #[error("partial_rotary_factor {partial_rotary_factor:?} is not a number within 0..=1")]
    PartialRotaryFactor {
        /// The given share.
        partial_rotary_factor: f64,
    },
    /// A scaling depends on the trained length of the model, which is missing.
    #[error("{scaling} scaling is not defined for a model without max_position_embeddings")]
    MissingLength {
        /// Name of the scaling.
        scaling: &'static str,
    },
    /// Dynamic scaling divides by `rotary_dim - 2`.
    #[error("dynamic scaling is not defined for a rotary_dim of 2")]
    DynamicWidth,
    /// `rotary_dim` is zero, odd, or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error(
        "rotary_dim {rotary_dim} is not an even number within 2..={max}",
        max = crate::limits::MAX_D_MODEL
    )]
    RotaryDim {
        /// The given width.
        rotary_dim: usize,
    },
    /// `exponent_dim` is zero or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error(
        "exponent_dim {exponent_dim} is not within 1..={max}",
        max = crate::limits::MAX_D_MODEL
    )]
    ExponentDim {
        /// The given width.
        exponent_dim: usize,
    },
    /// More columns are to be rotated than a head has.
    #[error("rotary_dim {rotary_dim} exceeds head_dim {head_dim}")]
    RotaryWidth {
        /// Number of columns to rotate.
        rotary_dim: usize,
        /// Number of columns of the head.
        head_dim: usize,
    },
    /// The number of axes is 0 or above 256.
    #[error("{axes} axes are outside 1..=256")]
    Axes {
        /// Number of axes.
        axes: usize,
    },
    /// The width of an axis is zero, odd, or above [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    #[error(
        "axis {axis} has the width {width}, which is not an even number within 2..={max}",
        max = crate::limits::MAX_D_MODEL
    )]
    AxisWidth {
        /// The axis.
        axis: usize,
        /// Its width.
        width: usize,
    },
    /// An axis is listed for another number of pairs than it has.
    #[error("axis {axis} is listed for {listed} pairs, but its width gives {pairs}")]
    AxisPairs {
        /// The axis.
        axis: usize,
        /// Number of times that it is listed.
        listed: usize,
        /// Number of its pairs.
        pairs: usize,
    },
    /// Heads of a width cannot be divided between the axes in the proportions of a preset.
    #[error("head_dim {head_dim} is not a multiple of {multiple}, as the axes need")]
    HeadWidth {
        /// The given width.
        head_dim: usize,
        /// Number of columns that heads must be a multiple of.
        multiple: usize,
    },
    /// The sizes of a grid do not go with the axes.
    #[error(
        "a grid of sizes {sizes:?} does not go with {axes} axes: one size per axis is needed, \
         after a number of frames if they repeat"
    )]
    GridSizes {
        /// The sizes.
        sizes: Vec<usize>,
        /// Number of axes.
        axes: usize,
    },
    /// Two parts of a specification cannot be combined.
    #[error("{what} is not defined for {of}")]
    Undefined {
        /// The one part.
        what: &'static str,
        /// The other part.
        of: &'static str,
    },
    /// The sections of an M-RoPE do not cover its pairs.
    #[error("mrope_section {sections:?} does not sum to {pairs} pairs")]
    MropeSections {
        /// Pairs of time, height, and width.
        sections: [usize; 3],
        /// Number of pairs.
        pairs: usize,
    },
    /// Interleaved sections of an M-RoPE extend past the last pair.
    #[error(
        "mrope_section {sections:?} cannot be interleaved: height or width extends past pair {pairs}"
    )]
    MropeInterleaving {
        /// Pairs of time, height, and width.
        sections: [usize; 3],
        /// Number of pairs.
        pairs: usize,
    },
    /// Alternating sections of height and width differ.
    #[error("{height} pairs of height and {width} of width cannot alternate: they differ")]
    MropeAlternation {
        /// Pairs of height.
        height: usize,
        /// Pairs of width.
        width: usize,
    },
    /// The axis of a pair has no list of positions.
    #[error("axis {axis} has no positions: {lists} lists were given")]
    Axis {
        /// The axis.
        axis: u8,
        /// Number of lists of positions.
        lists: usize,
    },
    /// A grid of patches cannot be divided into squares.
    #[error(
        "a grid of {rows} x {columns} patches cannot be divided into squares of {merge} x {merge}"
    )]
    Grid {
        /// Number of rows of patches.
        rows: u32,
        /// Number of columns of patches.
        columns: u32,
        /// Rows and columns of a square.
        merge: u32,
    },
    /// A side of a grid is zero or above [`MAX_GRID_SIDE`](crate::MAX_GRID_SIDE).
    #[error("{name} {side} is outside 1..={max}", max = crate::limits::MAX_GRID_SIDE)]
    GridSide {
        /// Name of the side.
        name: &'static str,
        /// The given side.
        side: usize,
    },
    /// The number of sides differs from the number of axes of the grid or the operation.
    #[error("{name} has {sides} sides, {expected} are needed")]
    GridSides {
        /// Name of the list of sides.
        name: &'static str,
        /// The number of sides given.
        sides: usize,
        /// The required number.
        expected: usize,
    },
    /// The axes of a grid have fewer columns than a row.
    #[error("the axes have {columns} columns, fewer than d_model {d_model}")]
    GridColumns {
        /// Columns of all axes.
        columns: usize,
        /// Width of a row.
        d_model: usize,
    },
    /// Sines come first and an axis has no equal halves of sines and cosines.
    #[error("an axis of width {width} has no halves of sines and cosines, as sines first require")]
    SinesFirst {
        /// Width of the axis.
        width: usize,
    },
    /// A mask of padding was given for a grid with coordinates that are not counts of its cells.
    #[error("coordinates of a mask are counts: the grid's own are not")]
    MaskedCoordinates,
    /// Nearest neighbors have neither antialiasing nor aligned corners.
    #[error("{kernel} resizing is not defined with {option}")]
    ResizeOption {
        /// Name of the kernel.
        kernel: &'static str,
        /// Name of the option.
        option: &'static str,
    },
    /// A scale factor cannot be used.
    #[error(
        "the scale factor {numerator}/{denominator} cannot be used: both terms must be within 1..={max}",
        max = crate::limits::MAX_TERM
    )]
    ResizeFactor {
        /// Numerator of the factor.
        numerator: u64,
        /// Denominator of the factor.
        denominator: u64,
    },
    /// No simple fraction is next to a scale factor.
    #[error(
        "the scale factor {value:?} is not within two ulp of a fraction with terms within 1..={max}",
        max = crate::limits::MAX_TERM
    )]
    ScaleFactor {
        /// The given factor.
        value: f64,
    },
    /// A scale factor leads to another size.
    #[error("the scale factor {numerator}/{denominator} resizes {from} to {found}, not to {to}")]
    ResizedSide {
        /// Numerator of the factor.
        numerator: u64,
        /// Denominator of the factor.
        denominator: u64,
        /// The side before.
        from: usize,
        /// The side that the factor leads to.
        found: u64,
        /// The requested side.
        to: usize,
    },
    /// Resized grids of one call have too many rows, or too many rows contribute to them.
    #[error("{taps} {name} exceed the limit of {max} in one call", max = crate::limits::MAX_TAPS)]
    TooManyTaps {
        /// The counted items.
        name: &'static str,
        /// The number.
        taps: u64,
    },
    /// A parameter of an attention bias is out of its range.
    #[error("{name} {value} is not {allowed}")]
    Bias {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: u64,
        /// The range.
        allowed: &'static str,
    },
    /// One call asks for positions of too many tokens.
    #[error("{tokens} tokens exceed the limit of {max} in one call", max = crate::limits::MAX_TOKENS)]
    TooManyTokens {
        /// Number of tokens.
        tokens: u64,
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
    /// A range of a grid's rows descends or extends past its last row.
    #[error("rows {start}..{end} are not an ascending range within 0..{rows}")]
    GridRows {
        /// First row.
        start: u64,
        /// One past the last row.
        end: u64,
        /// Rows of the grid.
        rows: u64,
    },
    /// A real position is not finite or exceeds 2^53 in magnitude.
    #[error("position {value:?} (at index {index}) is not a finite number within -2^53..=2^53")]
    Timestep {
        /// The given value.
        value: f64,
        /// Its index in the list.
        index: usize,
    },
    /// A coordinate is not finite, exceeds 2^53 in magnitude, or is not positive although its logarithm
    /// is needed.
    #[error(
        "coordinate {value:?} (at index {index}) is not a finite number within -2^53..=2^53 \
         (above 0 if its logarithm is needed)"
    )]
    Coordinate {
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
    #[error("{name} holds {len} elements, {expected} are needed")]
    Length {
        /// Name of the slice or list.
        name: &'static str,
        /// Its length.
        len: usize,
        /// The required length.
        expected: u64,
    },
    /// The rows of a recipe are not rotations of each other.
    #[error("{operation} is not defined for an f32 recipe")]
    ExactOnly {
        /// Name of the operation.
        operation: &'static str,
    },
    /// The frequencies depend on the sequence length.
    #[error(
        "{operation} is not defined for {scaling} scaling: its frequencies depend on the length"
    )]
    LengthDependent {
        /// Name of the operation.
        operation: &'static str,
        /// Name of the scaling.
        scaling: &'static str,
    },
    /// A parameter is infinite or not a number.
    #[error("{name} {value:?} is not finite")]
    NotFinite {
        /// Name of the parameter.
        name: &'static str,
        /// The given value.
        value: f64,
    },
    /// A scale of xPos is beyond the range of the type.
    #[error(
        "position {position} is too far from the center {center:?}: its scale is beyond the range of {name}"
    )]
    XposScale {
        /// The position.
        position: u32,
        /// Position with the scale 1.
        center: f64,
        /// Name of the type.
        name: &'static str,
    },
    /// An odd width cuts a pair in half, and its rows are not rotations of each other.
    #[error("{operation} is not defined for an odd width that cuts a pair in half")]
    CutPair {
        /// Name of the operation.
        operation: &'static str,
    },
    /// A table has a row for padding, which is not a rotation of the others.
    #[error("{operation} is not defined for a table with a padding row")]
    PaddingRow {
        /// Name of the operation.
        operation: &'static str,
    },
    /// Two operands belong to different specifications.
    #[error(
        "the operands belong to different specifications: {} and {}",
        escape(left),
        escape(right)
    )]
    Mismatch {
        /// The first specification.
        left: String,
        /// The second specification.
        right: String,
    },
    /// Two sets of frequencies have different numbers of pairs.
    #[error("no operator leads from a set of {from} pairs to one of {to}")]
    Pairs {
        /// Pairs of the first set.
        from: usize,
        /// Pairs of the second set.
        to: usize,
    },
    /// An operator starts with another set of frequencies than the one before it ends with.
    #[error(
        "the operators do not compose: one ends with another set of {pairs} pairs than the next starts with"
    )]
    ComposedSets {
        /// Pairs of the first operator.
        pairs: usize,
    },
    /// An operator starts at another position than the one before it ends at.
    #[error("the operators do not compose: one ends at position {end}, the next starts at {start}")]
    ComposedPositions {
        /// Last position of the first operator.
        end: i64,
        /// First position of the second operator.
        start: i64,
    },
    /// A model's config.json states something that cannot be used.
    #[error("config.json: {} {}", escape(key), escape(problem))]
    ModelConfig {
        /// The key, with the keys around it.
        key: String,
        /// Why its value cannot be used.
        problem: String,
    },
    /// A model's config.json has keys about rotary embeddings that would have no effect.
    #[error("config.json: has keys that would be ignored: {}", escape(&keys.join("; ")))]
    IgnoredKeys {
        /// The keys, each with the reason.
        keys: Vec<String>,
    },
    /// A GGUF file is malformed or not understood.
    #[error("GGUF: {}", escape(problem))]
    Gguf {
        /// The problem, with key or tensor.
        problem: String,
    },
    /// A model encodes positions in another way than by a rotary embedding.
    #[error(
        "config.json: {} has no rotary embedding (scheme: {})",
        model_type.as_ref().map_or("this model".to_owned(), |name| format!("model_type \"{}\"", shown(name))),
        escape(scheme)
    )]
    NotRotary {
        /// The model type in the file.
        model_type: Option<String>,
        /// The names of its schemes.
        scheme: String,
    },
    /// A model has several types of layers and none was named, or one that it does not have.
    #[error("{}; known: {}", match layer_type {
        Some(name) => format!("unknown layer type \"{}\"", escape(name)),
        None => "the layers of this model differ, so a layer type is needed".to_owned(),
    }, escape(&known.join(", ")))]
    LayerType {
        /// The layer type that was asked for.
        layer_type: Option<String>,
        /// The layer types of the model.
        known: Vec<String>,
    },
    /// Layers of a type have no rotary embedding.
    #[error("{} layers have no rotary embedding", escape(layer_type))]
    Unrotated {
        /// The layer type.
        layer_type: String,
    },
    /// A name is not one of those listed.
    #[error("unknown {kind} \"{}\"; known: {}", escape(name), escape(known))]
    UnknownName {
        /// Kind of the name, such as `preset`.
        kind: &'static str,
        /// The name given.
        name: String,
        /// The known names, separated by commas.
        known: String,
    },
}

/// Returns the first 80 characters of a name from a file, escaped.
fn shown(name: &str) -> String {
    escape(&name.chars().take(80).collect::<String>()).into_owned()
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
