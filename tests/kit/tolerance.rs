//! Every tolerance of the tests, with its reason. Exact tables have none: their
//! tests compare bits.

/// Figures printed with six decimals: half a unit of the last one.
pub const SIX_DECIMALS: f64 = 5e-7;

/// Figures printed with eight decimals.
pub const EIGHT_DECIMALS: f64 = 5e-9;

/// Figures recomputed by NumPy in f64 from sums of some 500 terms.
pub const NUMPY_F64_SUM: f64 = 5e-13;

/// Sum of d squared f64 entries: d half units in the last place.
pub const F64_SUM_PER_TERM: f64 = 1.2e-16;

/// An entry computed by a reference in f64 from `base ** x` at positions below
/// 5000: the relative error of the power, about 2e-16, times the angle.
pub const REFERENCE_F64: f64 = 4e-12;

/// References that compute in f32 at positions up to 100: the angle errs by
/// about 100 x 1e-7 (exp or pow) and once more by the product.
pub const REFERENCE_F32_TO_100: f64 = 1.3e-5;

/// ... and at positions up to 5000.
pub const REFERENCE_F32_TO_5000: f64 = 6e-4;

/// References that compute angles in f64 and round the entry to f32: half a unit
/// in the last place of 1.
pub const REFERENCE_F64_CAST_TO_F32: f64 = 3.1e-8;

/// inv_freq of a recipe against torch: units in the last place.
pub const RECIPE_INV_FREQ_ULP_TORCH: u32 = 1;

/// ... and NumPy, whose vectorised exp and power are a little coarser.
pub const RECIPE_INV_FREQ_ULP_NUMPY: u32 = 2;

/// sin and cos of a library's own f32 angle: torch and NumPy err by one unit at most.
pub const RECIPE_FUNCTION_ULP: u32 = 1;

/// A recipe's table against a library's own, end to end, at positions below 5000:
/// a frequency of at most 1 that differs by one unit of f32, 2^-24, moves the angle by
/// 3e-4, which may round to the next f32 of an angle up to 5000, 4.9e-4 away.
pub const RECIPE_TABLE_TORCH: f64 = 5e-4;

/// ... where none of the frequencies differs: the functions' unit in the last place of
/// numbers below 1, 2^-24.
pub const RECIPE_TABLE_SAME_FREQUENCIES: f64 = 6e-8;

/// ... and NumPy, whose frequencies differ by up to two units.
pub const RECIPE_TABLE_NUMPY: f64 = 1e-3;

/// inv_freq of rotary scalings against transformers' `ROPE_INIT_FUNCTIONS`: units in the
/// last place, from torch's power, which is not correctly rounded in one case out of 100.
pub const ROTARY_INV_FREQ_ULP: u32 = 1;

/// inv_freq of transformers' rotary classes, run once by `make_rotary_classes.py` on a processor with
/// AVX-512: the division after torch's vectorized power rounds once more.
pub const ROTARY_CLASS_ULP: u32 = 2;

/// Cosines and sines of the recipe hf-f32 against the reference's own, made from the
/// reference's frequencies: torch's functions err by one unit, and the product with the
/// attention factor rounds once more.
pub const ROTARY_TABLE_ULP: u32 = 2;

/// Exact rotary frequencies against transformers' f32 ones, relative. The exponent is
/// rounded to f32 (2^-25 of at most 1, times ln of a base up to 5 million: 4.6e-7), and up
/// to five roundings of 6e-8 follow. Measured: 4.1e-7.
pub const ROTARY_REFERENCE_F32: f64 = 7e-7;

/// The attention factor against Python's, relative: a few f64 roundings.
pub const ROTARY_ATTENTION_FACTOR: f64 = 5e-16;

/// Vision tables against the reference's, positions below 20: a frequency that differs by a
/// unit of f32 (6e-8 of at most 1) times the position.
pub const AXIAL_TABLE: f64 = 1.3e-6;

/// Queries below 1.25 rotated by models' own f32 code at the small sizes and positions of `rotary_axial.json`: a frequency
/// that differs by a unit of f32 times positions up to 900, in both terms. Where positions are that large, frequencies
/// are at most 1.
pub const AXIAL_ROTATED: f64 = 1.6e-4;

/// ... and of LTX-Video, with frequencies up to 10000 quarter turns: the same relative error of angles up to 15,708.
pub const AXIAL_LTX: f64 = 4e-3;

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
