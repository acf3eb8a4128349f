//! Sines and cosines in binary fractions of 128 and 320 bits: the second and the third rung.

use crate::num::fixed::Fixed;
use crate::num::float::{BigFloat, PI_OVER_4};
use crate::turns::phase::{self, Reduced, WideReduced};

/// Sine and cosine in units of 2^-128, with a common error bound.
pub(crate) struct SinCos128 {
    pub(crate) sine_negative: bool,
    pub(crate) sine: u128,
    pub(crate) cosine_negative: bool,
    pub(crate) cosine: u128,
    pub(crate) error: u128,
}

/// Computes sine and cosine in 128-bit fractions.
///
/// `angle_error` is the error of the angle in units of 2^-128 turns. A turn is less than 7 radians,
/// and both functions have a slope of at most one. The arithmetic itself loses less than 64 units:
/// multiplication and subtraction lose at most two per Horner step, and each step is scaled by at
/// most 0.62.
#[inline]
pub(crate) fn sin_cos_128(reduced: Reduced, angle_error: u128) -> SinCos128 {
    let eight_times = if reduced.remainder >= 1 << 125 {
        u128::MAX
    } else {
        reduced.remainder << 3
    };
    let x = Fixed::from_bits(eight_times).mul(Fixed::high_words_of(&PI_OVER_4));
    let y = x.mul(x);
    let sine = x.mul(alternating(y, &SIN_2)).top128();
    let cosine = alternating(y, &COS_2).top128();
    let negative = reduced.negative;
    let (sine_negative, sine, cosine_negative, cosine) = match reduced.quadrant {
        0 => (negative, sine, false, cosine),
        1 => (false, cosine, !negative, sine),
        2 => (!negative, sine, true, cosine),
        _ => (true, cosine, negative, sine),
    };
    SinCos128 {
        sine_negative,
        sine,
        cosine_negative,
        cosine,
        error: 7 * angle_error + 64,
    }
}

/// Computes sine and cosine as signs and 320-bit numbers. Returns `None` for complete turns: those of
/// the angle 0. At other complete quarter turns, which only frequencies in turns reach, they are exact.
pub(crate) fn sin_cos_320(
    frequency: BigFloat,
    mantissa: u64,
    exponent: i32,
) -> Option<[(bool, BigFloat); 2]> {
    let reduced = phase::reduce_wide(frequency, mantissa, exponent);
    let is_zero = reduced.remainder.is_none() && reduced.quadrant == 0;
    (!is_zero).then(|| sin_cos_reduced(reduced))
}

/// Computes both for a reduced angle. At multiples of a quarter turn they are 0, 1, and -1.
pub(crate) fn sin_cos_reduced(reduced: WideReduced) -> [(bool, BigFloat); 2] {
    let (sine, cosine) = match reduced.remainder {
        None => (BigFloat::ZERO, BigFloat::ONE),
        Some(remainder) => {
            let x = remainder.mul(BigFloat::two_pi());
            let y = {
                // x is below one, so its exponent is at most 0.
                let x = x.mantissa.shr(x.exponent.unsigned_abs().min(320));
                x.mul(x)
            };
            let sine = x.mantissa.mul(alternating(y, &SIN_5));
            let cosine = alternating(y, &COS_5);
            (
                BigFloat::normalized(sine, x.exponent),
                BigFloat::normalized(cosine, 0),
            )
        }
    };
    let negative = reduced.negative;
    match reduced.quadrant {
        0 => [(negative, sine), (false, cosine)],
        1 => [(false, cosine), (!negative, sine)],
        2 => [(!negative, sine), (true, cosine)],
        _ => [(true, cosine), (negative, sine)],
    }
}

/// Evaluates c0 - y (c1 - y (c2 - ...)).
#[inline]
fn alternating<const N: usize, const K: usize>(
    y: Fixed<N>,
    coefficients: &[Fixed<N>; K],
) -> Fixed<N> {
    let mut sum = coefficients[K - 1];
    for coefficient in coefficients[..K - 1].iter().rev() {
        sum = coefficient.sub(y.mul(sum)).0;
    }
    sum
}

// 1/1!, 1/3!, 1/5!, ... and 1/0!, 1/2!, 1/4!, ... The first omitted terms are below 2^-133 (two
// words) and 2^-327 (five words) at an eighth of a turn.
pub(crate) const SIN_2: [Fixed<2>; 17] = inverse_factorials(1);
pub(crate) const COS_2: [Fixed<2>; 17] = inverse_factorials(0);
const SIN_5: [Fixed<5>; 34] = inverse_factorials(1);
const COS_5: [Fixed<5>; 34] = inverse_factorials(0);

/// Returns 1/first!, 1/(first + 2)!, ... One itself is one unit short.
const fn inverse_factorials<const N: usize, const K: usize>(first: u64) -> [Fixed<N>; K] {
    let mut out = [Fixed::ALMOST_ONE; K];
    let mut k = 1;
    while k < K {
        let n = first + 2 * k as u64;
        out[k] = out[k - 1].div_word(n * (n - 1));
        k += 1;
    }
    out
}
