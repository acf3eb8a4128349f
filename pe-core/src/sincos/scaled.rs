//! Entries multiplied by an attention factor, with one rounding.
//!
//! The factor is the exact value of an `f64`. An entry is the value of `T` nearest to the real
//! number `factor x sin(angle)`, so its sine must not be rounded first. In bulk, correctly rounded
//! f64 sines are multiplied in f64, and the product is kept if it passes the rounding test. The
//! hard cases climb two rungs of 128 and 320 bits, as in [`sincos`](crate::sincos).
//!
//! At the angle 0 the entries are 0 and the factor itself, rounded once. Only there can an entry be
//! a tie. Everywhere else the dropped part of a product counts as nonzero.

use crate::num::fixed::Fixed;
use crate::num::wide::{Wide, decompose};
use crate::round::{self, Float, Magnitude};
use crate::sincos::fixed;
use crate::sincos::ladder::Rungs;
use crate::turns::frequency::Frequency;

/// Bound on the relative error of a product in [`scale_row`]. The sine has a relative error of
/// 2^-53, and the product another 2^-53. 2^-51 leaves room for the multiplications of the test
/// itself.
const RELATIVE_ERROR: f64 = 1.0 / (1u64 << 51) as f64;

/// Multiplies one row of correctly rounded f64 sines and cosines by `factor`.
pub(crate) fn scale_row<T: Float>(
    frequencies: &[Frequency],
    position: u32,
    factor: f64,
    sines: &[f64],
    cosines: &[f64],
    sin: &mut [T],
    cos: &mut [T],
) {
    let mut failed = 0;
    for (values, out) in [(sines, &mut *sin), (cosines, &mut *cos)] {
        for (value, out) in values.iter().zip(out) {
            let (product, bad) = round_and_test(*value * factor);
            *out = product;
            failed |= bad;
        }
    }
    if failed == 0 {
        return;
    }
    for (pair, frequency) in frequencies.iter().enumerate() {
        let bad = round_and_test::<T>(sines[pair] * factor).1
            | round_and_test::<T>(cosines[pair] * factor).1;
        if bad != 0 {
            (sin[pair], cos[pair]) = sin_cos(frequency, position, factor, Rungs::From128);
        }
    }
}

/// Rounds the product. Returns a nonzero second value if it fails the rounding test.
#[inline(always)]
fn round_and_test<T: Float>(product: f64) -> (T, u64) {
    let low = T::rounded(product - product * RELATIVE_ERROR);
    let high = T::rounded(product + product * RELATIVE_ERROR);
    (high, low.pattern() ^ high.pattern())
}

/// Computes `factor` x sine and cosine of `frequency` x `position`, each as the nearest `T`.
pub(crate) fn sin_cos<T: Float>(
    frequency: &Frequency,
    position: u32,
    factor: f64,
    rungs: Rungs,
) -> (T, T) {
    let (mut sine, mut cosine) = (None, None);
    if rungs != Rungs::Only320 {
        let reduced = frequency.phase.times(position).reduce();
        // The phase of one position is less than one unit too low.
        let values = fixed::sin_cos_128(reduced, u128::from(position));
        sine = decided(values.sine_negative, values.sine, values.error, factor);
        cosine = decided(values.cosine_negative, values.cosine, values.error, factor);
    }
    if let (Some(sine), Some(cosine)) = (sine, cosine) {
        return (sine, cosine);
    }
    let Some([s, c]) = fixed::sin_cos_320(frequency.wide, u64::from(position), 0) else {
        return (T::default(), T::rounded(factor));
    };
    let wide = Wide::from_f64(factor);
    let of = |(negative, value): (bool, Wide)| {
        let product = value.mul(wide);
        let magnitude = Magnitude {
            sticky: true,
            ..round::magnitude(product)
        };
        round::nearest::<T>(negative, magnitude)
    };
    (
        sine.unwrap_or_else(|| of(s)),
        cosine.unwrap_or_else(|| of(c)),
    )
}

/// Returns the value of `T` nearest to `factor` times all numbers within `error` units of `bits` /
/// 2^128 that are not ties, or `None` if they do not all round alike.
fn decided<T: Float>(negative: bool, bits: u128, error: u128, factor: f64) -> Option<T> {
    let (mantissa, exponent) = decompose(factor);
    let of = |bits: u128| {
        // 192 bits. The top 128 after the leading zeros are kept.
        let (low, high) = Fixed::from_bits(bits).mul_word(mantissa);
        let all = Fixed([low.0[0], low.0[1], high]);
        let zeros = all.leading_zeros();
        let all = all.shl(zeros);
        round::nearest::<T>(
            negative,
            Magnitude {
                bits: all.top128(),
                exponent: exponent + 64 - zeros as i32,
                sticky: true,
            },
        )
    };
    let low = of(bits.checked_sub(error)?);
    (low.pattern() == of(bits.saturating_add(error)).pattern()).then_some(low)
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;

    /// Nearly every product passes, and none that is within its error of a midpoint.
    #[test]
    fn products_fail_the_rounding_test_next_to_midpoints_alone() {
        for product in [0.3, -0.3, 1.0, 7.25, -1e-3] {
            assert_eq!(round_and_test::<f32>(product), (product as f32, 0));
        }
        assert_eq!(round_and_test::<bf16>(0.1), (bf16::from_f32(0.1), 0));
        let midpoint = 1.0 + f64::from(f32::EPSILON) / 2.0;
        for ulps in -1i64..=1 {
            let near = f64::from_bits(midpoint.to_bits().wrapping_add_signed(ulps));
            for product in [near, -near, near / 1024.0] {
                assert_ne!(round_and_test::<f32>(product).1, 0, "{product:?}");
            }
        }
        // Beyond 2^-51 of itself a midpoint is far away.
        for ulps in [-9i64, 9] {
            let near = f64::from_bits(midpoint.to_bits().wrapping_add_signed(ulps));
            assert_eq!(round_and_test::<f32>(near), (near as f32, 0));
        }
    }

    #[test]
    fn decisions_need_both_ends_to_agree() {
        let half = 1u128 << 127;
        assert_eq!(decided::<f32>(false, half, 1, 3.0), Some(1.5));
        assert_eq!(decided::<f64>(true, half, 64, 0.75), Some(-0.375));
        // 3 x (0.5 + 2^-24 / 3) is a midpoint.
        let midpoint = half + (1 << 104) / 3;
        assert_eq!(decided::<f32>(false, midpoint, 1 << 10, 3.0), None);
        let (below, above) = (midpoint - (1 << 60), midpoint + (1 << 60));
        assert_eq!(decided::<f32>(false, below, 1 << 10, 3.0), Some(1.5));
        let next = 1.5 + f32::EPSILON;
        assert_eq!(decided::<f32>(false, above, 1 << 10, 3.0), Some(next));
        // A number that may be 0 has no known bits.
        assert_eq!(decided::<f32>(false, 5, 6, 1.0), None);
    }
}
