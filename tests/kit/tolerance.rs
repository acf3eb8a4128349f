//! Every tolerance of the tests, with its reason. Exact tables have none: their
//! tests compare bits.

/// Figures printed with six decimals: half a unit of the last one.
pub const SIX_DECIMALS: f64 = 5e-7;

/// Figures printed with eight decimals.
pub const EIGHT_DECIMALS: f64 = 5e-9;

/// Figures recomputed by NumPy in f64 from sums of some 500 terms.
pub const NUMPY_F64_SUM: f64 = 5e-13;

/// Sum of d squared f64 entries: d half ulps.
pub const F64_SUM_PER_TERM: f64 = 1.2e-16;

/// An entry computed by a reference in f64 from `base ** x` at positions below
/// 5000: the relative error of the power, about 2e-16, times the angle.
pub const REFERENCE_F64: f64 = 4e-12;

/// References that compute in f32 at positions up to 100: the angle has an error of
/// about 100 x 1e-7 (exp or pow) and once more by the product.
pub const REFERENCE_F32_TO_100: f64 = 1.3e-5;

/// ... and at positions up to 5000.
pub const REFERENCE_F32_TO_5000: f64 = 6e-4;

/// References that compute angles in f64 and round the entry to f32: half a unit
/// in the last place of 1.
pub const REFERENCE_F64_CAST_TO_F32: f64 = 3.1e-8;

/// inv_freq of a recipe against torch, in ulp.
pub const RECIPE_INV_FREQ_ULP_TORCH: u32 = 1;

/// ... and NumPy, whose vectorized exp and power are a little coarser.
pub const RECIPE_INV_FREQ_ULP_NUMPY: u32 = 2;

/// sin and cos of a library's own f32 angle: torch and NumPy err by one unit at most.
pub const RECIPE_FUNCTION_ULP: u32 = 1;

/// A recipe's table against a library's own, end to end, at positions below 5000:
/// a frequency of at most 1 that differs by one unit of f32, 2^-24, moves the angle by
/// 3e-4, which may round to the next f32 of an angle up to 5000, 4.9e-4 away.
pub const RECIPE_TABLE_TORCH: f64 = 5e-4;

/// ... where none of the frequencies differs: the functions' ulp of
/// numbers below 1, 2^-24.
pub const RECIPE_TABLE_SAME_FREQUENCIES: f64 = 6e-8;

/// ... and NumPy, whose frequencies differ by up to two units.
pub const RECIPE_TABLE_NUMPY: f64 = 1e-3;

/// inv_freq of rotary scalings against transformers' `ROPE_INIT_FUNCTIONS`: units in the
/// last place, from torch's power, which is not correctly rounded in one case out of 100.
pub const ROTARY_INV_FREQ_ULP: u32 = 1;

/// ... for drawn settings: one unit from torch's power, and one or two from the operations after it.
pub const ROTARY_DRAWN_ULP: u32 = 3;

/// ... and this much more per unit of llama3's factor, between its fast and its slow pairs: a difference
/// near 0, with the errors of its terms, is multiplied by up to `factor` times the result.
pub const ROTARY_LLAMA3_ULP: u32 = 1;

/// inv_freq of transformers' rotary classes, run once by `make_rotary_classes.py` on a processor with
/// AVX-512: the division after torch's vectorized power rounds once more.
pub const ROTARY_CLASS_ULP: u32 = 2;

/// Factors of attention scores against those of transformers' layers, relative: one rounding to f32 and
/// that of torch's f32 logarithm.
pub const SCORE_TEMPERATURE: f64 = 2e-7;

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

/// Rotations by learned frequencies and their gradients in f32, against f64 or the composition: some
/// roundings of 2^-24 of numbers up to 8, of angles up to 100 (4e-6), and of sums of some of them.
pub const LEARNED_ROTARY: f64 = 2e-5;

/// ... in f64, sums of some tens of numbers up to 4.
pub const LEARNED_ROTARY_F64: f64 = 1e-13;

/// ... in 16-bit types, against the composition in f32: gradients of angles are computed from rounded
/// results, 2^-9 of sums of six products of up to 20.
pub const LEARNED_ROTARY_HALF: f64 = 0.25;

/// Queries below 1.25 rotated by models' own f32 code at the small sizes and positions of `rotary_axial.json`: a frequency
/// that differs by a unit of f32 times positions up to 900, in both terms. Where positions are that large, frequencies
/// are at most 1.
pub const AXIAL_ROTATED: f64 = 1.6e-4;

/// ... and the scores of rotated queries and keys of 192 columns in f64 at equal differences of positions: sums of terms below
/// 16, whose cosines err by half a unit of f64.
pub const AXIAL_SCORE: f64 = 1e-11;

/// ... and of LTX-Video, with frequencies up to 10000 quarter turns: the same relative error of angles up to 15,708.
pub const AXIAL_LTX: f64 = 4e-3;
/// Scores of xPos from f64 entries, four pairs of sizes up to 2: some roundings of 2^-53.
pub const XPOS_SCORE: f64 = 1e-13;

/// Sums of f32 attention weights: a softmax over some tens of keys has an error of a few units of
/// 2^-24 per weight.
pub const F32_SOFTMAX_SUM: f64 = 1e-6;

/// The same vectors out of matrix products of other shapes or with terms in another order:
/// f32 sums of 256 to 1024 terms of size one, twice through a layer norm.
pub const F32_ENCODER: f64 = 2e-5;

/// Rows of an f32 table after a rotation: half an ulp of the
/// input's and of the result's entries, sizes up to one.
pub const F32_ROTATION: f64 = 1.2e-7;

/// Figures printed with six decimals by a reference that cuts instead of rounding.
pub const SIX_DECIMALS_CUT: f64 = 1e-6;

/// Numbers of figures against the formulas at 200 bits, relative above one: sums of up to 500
/// f64 terms, a square root and a division after them.
pub const FIGURE_F64: f64 = 2e-14;

/// A fit of 288 given pixels in f64: the rounding of sums of 288 terms, times a condition number of at most 288 / 0.01.
pub const FIGURE_FIT: f64 = 1e-11;

/// Angles in degrees below 2808: the product of a position and a rate, and its conversion,
/// each within half an ulp of 4.5e-13.
pub const FIGURE_DEGREES: f64 = 1e-12;

/// Lengths of vectors of eight numbers, and their mean over six of them, relative: f64 sums in
/// another order, a square root and a division.
pub const NORMS_F64: f64 = 1e-14;

/// Grids resized by torch in f32, entries within -1..=1, sides up to 16: coordinates with an error of
/// an ulp, 1e-6 times the kernel's slope, and sums of 4 or more products.
pub const RESIZED_BY_TORCH: f64 = 3e-6;

/// Grids resized by JAX in f32: weights that are normalized in f32, and their products with the grid.
pub const RESIZED_BY_JAX: f64 = 1.2e-7;

/// Gradients of resized grids against Candle's own, which add up to 20 products below 1.3 in another
/// order: in f32.
pub const GRID_GRADIENT: f64 = 2e-6;

/// ... in f16, where Candle adds in f16 or f32, and ours rounds once.
pub const GRID_GRADIENT_F16: f64 = 1e-2;

/// ... and in bf16.
pub const GRID_GRADIENT_BF16: f64 = 8e-2;

/// Central differences with a step of 1e-5 of sums of cubes of terms below 8.
pub const GRID_DIFFERENCES: f64 = 1e-7;

/// Equal rows of f64 within -1..=1 after resizing: the sum of up to 64 weights, which are products of two
/// rounded ones, and of rounded products.
pub const EQUAL_ROWS_F64: f64 = 1e-14;

/// Figures printed with ten decimals.
pub const TEN_DECIMALS: f64 = 5e-11;

/// ... with three.
pub const THREE_DECIMALS: f64 = 5e-4;

/// ... with two.
pub const TWO_DECIMALS: f64 = 5e-3;

/// ... with seven significant digits, relative.
pub const SEVEN_DIGITS: f64 = 1e-6;

/// A rate just below 1 against the power of NumPy in f64: one ulp.
pub const RATE_NUMPY: f64 = 2e-16;

/// ... and near 1e-4: 15 units.
pub const SMALL_RATE_NUMPY: f64 = 2e-19;

/// Rates of a smallest rate given in decimals, relative: 1e-4 in f64 is wrong by 5e-17.
pub const RATE_OF_A_DECIMAL: f64 = 4e-16;

/// Entries at an angle that was converted to degrees and back: units of an angle of 49.
pub const SINE_OF_DEGREES: f64 = 1e-14;

/// Entries against NumPy in f64 at positions below 4: one ulp.
pub const ENTRY_NUMPY: f64 = 1.2e-16;

/// The longest wavelength, 60611, against NumPy in f64: a few units of a power times 2 pi.
pub const WAVELENGTH_NUMPY: f64 = 1e-10;

/// ... against 2 pi 10000: one ulp.
pub const WAVELENGTH_END: f64 = 1e-11;

/// Ratios of wavelengths and frequencies in f64: a few roundings.
pub const WAVELENGTH_RATIO: f64 = 1e-15;

/// ... against the power of the standard library, up to 1e6.
pub const WAVELENGTH_POWER: f64 = 1e-14;

/// The distance of neighbors as its document computes it, from 500 terms in f64.
pub const DOCUMENT_DISTANCE: f64 = 1e-13;

/// ... by its closed form in NumPy.
pub const CLOSED_FORM: f64 = 3e-15;

/// ... by subtraction of rows: the document states this spread over 1000 positions.
pub const DISTANCE_BY_ROWS: f64 = 1.2e-13;

/// Squared distances, relative: the terms are rounded, their sum is not.
pub const SSE_F64: f64 = 1e-15;

/// Dot products exceed the number of pairs by roundings only, relative.
pub const DOT_BOUND: f64 = 1e-15;

/// Entries of a row times a matrix of rotations in f64: two products each.
pub const SHIFTED_BY_MATRIX: f64 = 5e-16;

/// ... with a row in f32.
pub const SHIFTED_BY_MATRIX_F32: f64 = 1.2e-7;

/// ... as far as the document gets.
pub const DOCUMENT_SHIFT: f64 = 5.4e-15;

/// A matrix of rotations times its transpose: sine^2 + cosine^2 in f64.
pub const ORTHOGONAL: f64 = 2.3e-16;

/// Products of two such matrices: angle addition in f64.
pub const COMPOSED: f64 = 3.4e-16;

/// sine^2 + cosine^2 of entries rounded to f64.
pub const PAIR_NORM: f64 = 4e-16;

/// Entries after a shift in f64: angle addition, and the rounding of its four numbers.
pub const SHIFTED: f64 = 4e-16;

/// ... after two shifts. Also an entry's part of squared norms and dot products.
pub const SHIFTED_TWICE: f64 = 8e-16;

/// ... after four.
pub const SHIFTED_FOUR_TIMES: f64 = 16e-16;

/// Sines and cosines of a sum of angles, from f64 entries: two products and a sum.
pub const ANGLE_ADDITION: f64 = 1e-15;

/// Three rotations of numbers below 2 in f64, each with a few half units of error.
pub const ROTATED_THRICE: f64 = 4e-15;

/// ... by entries that a recipe rounds to f32: 2^-24 of at most 1.14, twice.
pub const ROTATED_BY_F32_ENTRIES: f64 = 5e-7;

/// A frequency of 2^-1000 from a shifted spacing, relative: the shift is rounded to 2^-53 of 2.
pub const SHIFTED_SPACING: f64 = 1e-9;

/// Half a unit of f32 in the last place of numbers below one, with the f64 rounding of the difference.
pub const HALF_ULP_BELOW_ONE: f64 = 1.0 / (1u64 << 25) as f64 * (1.0 + 1e-8);

/// Squared norms of rows of 64 entries by an f64 sum.
pub const TABLE_NORM: f64 = 1e-12;

/// Dot products of rows of 32 entries in f64.
pub const TABLE_DOT: f64 = 1e-13;

/// Attention scores of heads of 64 rotated columns below 4 in f64.
pub const SCORE_F64: f64 = 1e-12;

/// The f32 arithmetic of a rotation before its one rounding to a 16-bit type, for numbers below 8.
pub const F32_BEFORE_HALF: f64 = 2e-6;

/// f32 numbers below 4 rotated there and back.
pub const F32_ROTATED_BACK: f64 = 2e-6;

/// Central differences with a step of 1e-5 in f64, relative above one.
pub const FINITE_DIFFERENCE: f64 = 1e-6;

/// Central differences with a step of 1e-7 of sums of cubes of Fourier features, relative above one: a sixth of the
/// third derivative is up to 350^3 for frequencies of 112 pi.
pub const FOURIER_DIFFERENCES: f64 = 1e-5;

/// A gradient that is a multiple of the input, by rotations in f64.
pub const GRADIENT_F64: f64 = 1e-12;

/// The gradient of a sum of squares, twice the input below 4, through one rotation in f64.
pub const GRADIENT_OF_SQUARES: f64 = 1e-14;

/// Second derivatives by two backward passes in f64, relative above one.
pub const SECOND_DERIVATIVE: f64 = 1e-9;

/// Logits of a model in parts and at once: products of other shapes are summed in another order.
pub const CACHED_LOGITS_F64: f64 = 1e-11;

/// ... in f32.
pub const CACHED_LOGITS_F32: f64 = 1e-3;

/// Vectors of two orders of the same words in an encoder without positions, as the report prints them.
pub const SAME_WITHOUT_POSITIONS: f64 = 1e-4;

/// Not a tolerance: what must differ differs by at least this, far above all roundings.
pub const VISIBLE: f64 = 1e-2;

/// A norm of eight f32 numbers.
pub const F32_NORM: f64 = 1e-6;

/// A ratio of mean norms against one from numbers as they were printed.
pub const NORM_RATIO: f64 = 1e-9;

/// A correlation that is 1, from f32 vectors.
pub const F32_CORRELATION: f64 = 1e-6;

/// Correlations of vectors from batches of other shapes.
pub const BATCHED_CORRELATION: f64 = 1e-5;

/// Entries that are five units of f32 from the right ones, in tables below one.
pub const FIVE_ULPS_F32: f64 = 1e-6;

/// Slopes of ALiBi by BLOOM and MPT: powers of an f32 base with exponents up to 128, or f32 exponents.
pub const ALIBI_SLOPE_ULP: u32 = 11;

/// Coordinates of Swin v2 by torch: a division, a product, log2, and a division in f32.
pub const SWIN_V2_ULP: u32 = 3;

/// Encodings of grids that a library computes in f64, of coordinates below 100.
pub const GRID_F64: f64 = 1e-14;

/// ... whose angles are f64 and whose entries are rounded to f32.
pub const GRID_ROUNDED: f64 = 3.1e-8;

/// ... in f32, of coordinates up to 30: an error of an ulp of the angle, and of the power.
pub const GRID_F32: f64 = 4e-6;
/// Half a unit in the last place of an f64 entry: what remains of a distance measured in Python.
pub const F64_HALF_ULP_OF_ONE: f64 = 1.2e-16;

/// Sums of up to four f64 products of numbers below 10, in another order.
pub const LEARNED_F64: f64 = 1e-14;

/// A sum of 18 f32 products of numbers below 4.
pub const LEARNED_F32_SUM: f64 = 1e-4;

/// A sum of eight entries of bf16, each within 2^-9 of the exact one.
pub const BF16_SUM_OF_EIGHT: f64 = 0.02;
/// Biases and attention weights in f32 against transformers or Candle's composition: sums of a few products near 8 in another order,
/// half a unit of 2^-21 each, and another exponential.
pub const BIAS_F32: f64 = 4e-6;

/// Biases of SAM with tables that torch resizes in f32: the place of a tap has an error of 2^-22 rows, of values up to 2 and queries up to 2.
pub const BIAS_RESIZED_F32: f64 = 2e-5;

/// Sinusoids of distances below 10 by transformers in f32: the angle's rounding.
pub const BIAS_SINUSOID_F32: f64 = 1e-6;

/// Weights and gradients of the fused softmax in f64: sums of some 40 terms, and an exponential within 1 ulp.
pub const BIAS_GRADIENT_F64: f64 = 2e-14;

/// ... in f32, of biases up to some 100.
pub const BIAS_GRADIENT_F32: f64 = 4e-5;

/// ... in f16: the weights are rounded to 11 bits before the way back, and the reference rounds elsewhere.
pub const BIAS_GRADIENT_F16: f64 = 8e-3;

/// ... in bf16: 8 bits.
pub const BIAS_GRADIENT_BF16: f64 = 6e-2;

/// Gradients of Fourier features by torch in f64, relative above one: angles of up to 2^9 pi have an error of 2e-13.
pub const FOURIER_GRADIENT_F64: f64 = 1e-9;

/// The largest error of a recipe by NumPy and torch: their f32 cosine may be another by one unit, 6e-8.
pub const RECIPE_ERROR: f64 = 1.2e-7;

/// A number divided by a slope of ALiBi in f64, relative: two roundings.
pub const REACH: f64 = 5e-16;

/// An entry rounded to bf16, relative to the attention factor: half of the distance of two numbers from 1 to 2.
pub const BF16_ENTRY: f64 = 3.91e-3;
/// Entries at an angle up to 3 whose product of frequency and position is rounded to f64, and the frequency before it.
pub const ROUNDED_ANGLE: f64 = 1e-15;

/// Distances up to 16 between rows of 500 columns against NumPy in f64.
pub const DISTANCE_NUMPY: f64 = 1e-13;
