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
