//! Tolerances of the demo's tests, with their reasons.

/// Sums of f32 attention weights: a softmax over some tens of keys errs by a few units of
/// 2^-24 per weight.
pub const F32_SOFTMAX_SUM: f64 = 1e-6;

/// The same vectors out of matrix products of other shapes or with terms in another order:
/// f32 sums of 256 to 1024 terms of size one, twice through a layer norm.
pub const F32_ENCODER: f64 = 2e-5;

/// Rows of an f32 table after a rotation: half a unit in the last place of the
/// input's and of the result's entries, sizes up to one.
pub const F32_ROTATION: f64 = 1.2e-7;

/// Figures printed with six decimals by a reference that cuts instead of rounding.
pub const SIX_DECIMALS_CUT: f64 = 1e-6;

/// Numbers of figures against the formulas at 200 bits, relative above one: sums of up to 500
/// f64 terms, a square root and a quotient after them.
pub const FIGURE_F64: f64 = 2e-14;

/// Angles in degrees below 2808: the product of a position and a rate, and its conversion,
/// each within half a unit in the last place of 4.5e-13.
pub const FIGURE_DEGREES: f64 = 1e-12;

/// Lengths of vectors of eight numbers, and their mean over six of them, relative: f64 sums in
/// another order, a square root and a quotient.
pub const NORMS_F64: f64 = 1e-14;
