//! Sines and cosines in f64 arithmetic: the first rung.

/// Computes the sine and cosine of `angle` / 2^64 turns, with an error below 2^-50 even if the
/// angle is off by 4 units.
///
/// 4 units are 2^-59.3 radians. The remainder is rounded to 53 bits once, and
/// multiplied once by a rounded constant: relative 3 x 2^-53, at an eighth of a
/// turn 2.6e-16. The polynomials end with two roundings of numbers below one.
#[inline(always)]
pub(crate) fn sin_cos(angle: u64) -> (f64, f64) {
    // 2 pi / 2^64.
    const UNIT: f64 = std::f64::consts::TAU / 18_446_744_073_709_551_616.0;
    // A number below 2^52 in the low bits of this is itself plus 2^52 as an f64.
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    const OFFSET_52: f64 = (1u64 << 52) as f64;
    // The nearest quarter turn, and the remainder plus an eighth of a turn.
    let ahead = angle.wrapping_add(1 << 61);
    let quadrant = ahead >> 62;
    let shifted = ahead & ((1 << 62) - 1);
    let high = f64::from_bits(TWO_52 | (shifted >> 32)) - (OFFSET_52 + (1u64 << 29) as f64);
    let low = f64::from_bits(TWO_52 | (shifted & 0xffff_ffff)) - OFFSET_52;
    let x = (high * 4_294_967_296.0 + low) * UNIT;
    let y = x * x;
    let s = x + x * y * polynomial(y, &SIN);
    let c = 1.0 + y * polynomial(y, &COS);
    let (sine, cosine) = if quadrant & 1 == 0 { (s, c) } else { (c, s) };
    // Sines are negative in quadrants 2 and 3, cosines in 1 and 2.
    let sine_sign = (quadrant & 2) << 62;
    let cosine_sign = ((quadrant + 1) & 2) << 62;
    (
        f64::from_bits(sine.to_bits() ^ sine_sign),
        f64::from_bits(cosine.to_bits() ^ cosine_sign),
    )
}

#[inline(always)]
fn polynomial(y: f64, coefficients: &[f64; 8]) -> f64 {
    let [c0, c1, c2, c3, c4, c5, c6, c7] = *coefficients;
    ((((((c7 * y + c6) * y + c5) * y + c4) * y + c3) * y + c2) * y + c1) * y + c0
}

/// -1/3!, 1/5!, ... The first omitted term is below 2^-68.
const SIN: [f64; 8] = taylor(3);
/// -1/2!, 1/4!, ...
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
