//! Sines and cosines in f64 arithmetic: the first rung.

use pulp::Simd;

/// Computes the sine and cosine of `angle` / 2^64 turns, with an error below 2^-50 even if the
/// angle is off by 4 units.
///
/// 4 units are 2^-59.3 radians. The remainder is rounded to 53 bits once, and
/// multiplied once by a rounded constant: relative 3 x 2^-53, at an eighth of a
/// turn 2.6e-16. The polynomials end with two roundings of numbers below one (one, if fused).
#[inline(always)]
pub(crate) fn sin_cos<S: Simd>(angle: u64) -> [f64; 2] {
    // 2 pi / 2^66.
    const UNIT: f64 = std::f64::consts::TAU / 73_786_976_294_838_206_464.0;
    // In the low bits of the first, 32 bits h are 2^84 + 2^32 h. Of the second, 2^52 + h.
    const TWO_84: u64 = 0x4530_0000_0000_0000;
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    // 2^84 + 2^63 + 2^52.
    const OFFSET: f64 = f64::from_bits(TWO_84 | 1 << 31 | 1 << 20);
    const SIGN: u64 = 1 << 63;
    // The distance from the nearest quarter turn, in units of 2^-66 turns: an i64. Its upper half
    // gets 2^31 added, as nothing below 0 fits there.
    let rest = angle << 2;
    let high = f64::from_bits((rest >> 32) ^ (TWO_84 | 1 << 31));
    let low = f64::from_bits(rest & 0xffff_ffff | TWO_52);
    let x = (high - OFFSET + low) * UNIT;
    let y = x * x;
    let s = fused::<S>(x * y, polynomial::<S>(y, &SIN), x).to_bits();
    let c = fused::<S>(y, polynomial::<S>(y, &COS), 1.0).to_bits();
    // Its upper two bits are the quadrant. In odd ones sine and cosine change places.
    let ahead = angle.wrapping_add(1 << 61);
    let odd = ((ahead << 1) as i64 >> 63) as u64;
    let change = (s ^ c) & odd;
    // Sines are negative in quadrants 2 and 3, cosines in 1 and 2.
    let sine_sign = ahead & SIGN;
    let cosine_sign = ahead.wrapping_add(1 << 62) & SIGN;
    [
        f64::from_bits(s ^ change ^ sine_sign),
        f64::from_bits(c ^ change ^ cosine_sign),
    ]
}

/// Largest product of a position and a frequency in quarter turns for [`sin_cos_of_quarters`].
pub(crate) const MOST_QUARTERS: f64 = (1u64 << 40) as f64;

/// Computes the sine and cosine of `position` x `frequency` quarter turns with fused operations, with an error below 2^-51. The
/// frequency is the sum of two parts, the second below an ulp of the first.
///
/// The integer of quarter turns is rounded from the exact product with the first part. Its distance from the product is rounded
/// once, and once more with the product with the second part added: 2^-55 + 2^-54 of a quarter turn, 1.2 x 2^-53 radians.
/// From then on the errors are those of [`sin_cos`].
#[inline(always)]
pub(crate) fn sin_cos_of_quarters<S: Simd>(position: f64, [high, low]: [f64; 2]) -> [f64; 2] {
    let rounded = position.mul_add(high, ROUNDER);
    let (quadrant, quarters) = (rounded.to_bits(), rounded - ROUNDER);
    let rest = position.mul_add(low, position.mul_add(high, -quarters));
    // The sum makes a zero positive: the angle of a negative position and a frequency of zero.
    let x = rest.mul_add(std::f64::consts::FRAC_PI_2, 0.0);
    in_quadrant::<S>(x, quadrant)
}

/// Largest magnitude of an angle for [`sin_cos_of_radians`].
pub(crate) const LARGEST: f32 = 524_288.0;

/// Computes the sine and cosine of an f32 angle in radians, up to [`LARGEST`] in magnitude, with an error
/// below 2^-51.
///
/// The products of the number of quarter turns, below 2^19, with the first two parts of pi / 2 are exact,
/// and so is the first difference. The other two lose 2^-54 each, and the rest of pi / 2 beyond the three
/// parts is below 2^-118. The polynomials lose as much as those of [`sin_cos`].
#[inline(always)]
pub(crate) fn sin_cos_of_radians<S: Simd>(angle: f64) -> [f64; 2] {
    // 33 bits of pi / 2, the next 33, and the next 53.
    const FIRST: f64 = f64::from_bits(0x3ff9_21fb_5440_0000);
    const SECOND: f64 = f64::from_bits(0x3dd0_b461_1a60_0000);
    const THIRD: f64 = f64::from_bits(0x3ba3_198a_2e03_7073);
    let rounded = angle * std::f64::consts::FRAC_2_PI + ROUNDER;
    let (quadrant, quarters) = (rounded.to_bits(), rounded - ROUNDER);
    let x = ((angle - quarters * FIRST) - quarters * SECOND) - quarters * THIRD;
    in_quadrant::<S>(x, quadrant)
}

/// Adding 1.5 x 2^52 rounds to an integer, which is then in the low bits.
const ROUNDER: f64 = (3u64 << 51) as f64;

/// Computes the sine and cosine of `x` radians, at most an eighth of a turn, and as many quarter turns as the low two bits of `quadrant`
/// say.
#[inline(always)]
fn in_quadrant<S: Simd>(x: f64, quadrant: u64) -> [f64; 2] {
    let y = x * x;
    let s = fused::<S>(x * y, polynomial::<S>(y, &SIN), x);
    let c = fused::<S>(y, polynomial::<S>(y, &COS), 1.0);
    // In odd quadrants sine and cosine change places.
    let (s, c) = if quadrant & 1 == 0 { (s, c) } else { (c, s) };
    // Sines are negative in quadrants 2 and 3, cosines in 1 and 2.
    let sine_sign = (quadrant & 2) << 62;
    let cosine_sign = (quadrant.wrapping_add(1) & 2) << 62;
    [
        f64::from_bits(s.to_bits() ^ sine_sign),
        f64::from_bits(c.to_bits() ^ cosine_sign),
    ]
}

#[inline(always)]
fn polynomial<S: Simd>(y: f64, coefficients: &[f64; 8]) -> f64 {
    let [rest @ .., last] = coefficients;
    let mut sum = *last;
    for coefficient in rest.iter().rev() {
        sum = fused::<S>(sum, y, *coefficient);
    }
    sum
}

/// -1/3!, 1/5!, ... The first omitted term is below 2^-63.
const SIN: [f64; 8] = taylor(3);
/// -1/2!, 1/4!, ... The first omitted term is below 2^-58.
const COS: [f64; 8] = taylor(2);

const fn taylor(first: u64) -> [f64; 8] {
    let mut out = [0.0; 8];
    let mut factorial: u128 = 1;
    let mut n = 1;
    let mut k = 0;
    while k < 8 {
        while n < first + 2 * k as u64 {
            n += 1;
            factorial *= n as u128;
        }
        out[k] = 1.0 / factorial as f64;
        if k % 2 == 0 {
            out[k] = -out[k];
        }
        k += 1;
    }
    out
}

/// Returns a b + c, fused if the instruction set supports it.
#[inline(always)]
pub(crate) fn fused<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
    if S::IS_SCALAR {
        a * b + c
    } else {
        a.mul_add(b, c)
    }
}
