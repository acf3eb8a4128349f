//! The ladder: from a phase to the nearest representable sine and cosine.
//!
//! The ladder (Ziv's strategy) has three rungs. Each computes the value with a proven bound on its
//! error and applies the rounding test. If the test fails, the next rung computes the value again:
//!
//! 1. `single_f64::sin_cos`: f64 arithmetic on the top 64 bits of the phase, bound 2^-50
//! 2. `fixed::sin_cos_128`: 128-bit fractions, bound about 2^-93 at the largest positions
//! 3. `fixed::sin_cos_320`: 320-bit fractions, relative bound below 2^-150
//!
//! About one f32 entry in a million reaches the second rung. An f64 entry starts there. Only values
//! far below 2^-60 practically reach the third. No entry is ever an exact tie: for a
//! rational base and a position other than 0, the sine and cosine are transcendental
//! (Lindemann-Weierstrass), and position 0 gives exactly 0 and 1.

use crate::num::fixed::Fixed;
use crate::num::float::BigFloat;
use crate::round::{self, Float, Magnitude, SINGLE_ERROR, decided_f64};
use crate::sincos::factor::Factor;
use crate::sincos::fixed::{sin_cos_128, sin_cos_320};
use crate::sincos::single_f64;
use crate::turns::frequency::Frequency;
use crate::turns::phase;
use crate::turns::position::Position;

/// The rungs that compute an entry. The fast paths skip the f64 rung for their hard cases. The
/// tests force every choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rungs {
    /// All three rungs, each only if the one before failed the rounding test.
    Ladder,
    /// The 128-bit and the 320-bit rung.
    From128,
    /// The 320-bit rung alone.
    Only320,
}

/// Computes `factor` x sine and cosine of `frequency` x `position`, each as the nearest `T`.
///
/// The product is rounded once. At the angle 0 the entries are 0 and the factor itself. Only there can
/// an entry with a factor be a tie.
pub(crate) fn sin_cos<T: Float>(
    frequency: &Frequency,
    position: Position,
    factor: &Factor,
    rungs: Rungs,
) -> [T; 2] {
    let (negative, mantissa, exponent) = position.parts();
    if mantissa == 0 {
        return [T::rounded(0.0), factor.rounded()];
    }
    let (phase, error) = match position {
        // The phase of one position is less than one unit too low.
        Position::Integer(p) => (frequency.phase.times(p), u128::from(p)),
        Position::Real(_) => (phase::phase_at(frequency.wide, mantissa, exponent), 2),
    };
    let mut entries = [None, None];
    if rungs == Rungs::Ladder
        && let Some(error) = single_error(factor)
    {
        let [sine, cosine] = single_f64::sin_cos::<pulp::Scalar>((phase.0 >> 64) as u64);
        entries = [sine, cosine].map(|value| decided_f64(value * factor.value, error));
    }
    if rungs != Rungs::Only320 && entries.contains(&None) {
        let values = sin_cos_128(phase.reduce(), error);
        let of = |negative, bits| decided(negative, bits, values.error, factor);
        let [sine, cosine] = entries;
        entries = [
            sine.or_else(|| of(values.sine_negative, values.sine)),
            cosine.or_else(|| of(values.cosine_negative, values.cosine)),
        ];
    }
    let [sine, cosine] = match entries {
        [Some(sine), Some(cosine)] => [sine, cosine],
        [sine, cosine] => {
            let [s, c] = full::<T>(frequency.wide, mantissa, exponent, factor);
            [sine.unwrap_or(s), cosine.unwrap_or(c)]
        }
    };
    [if negative { negate(sine) } else { sine }, cosine]
}

/// Returns the bound on the error of plain f64 values multiplied by `factor`, or `None` for a
/// factor that would cause too many hard cases or leave the exponents of 16-bit floats.
///
/// With u = 2^-53 and a factor in [1, 2): the seeds of a recurrence contain the factor and are rounded
/// once, so an entry has an error of 3u as without a factor, 6u with the factor. The three steps of
/// adding and subtracting the bound have an error of 2u each for magnitudes up to 2: 12u < 2^-49. An
/// entry from [`single_f64`] has an error of less than half of [`SINGLE_ERROR`], 8u with the factor. The
/// nearest f64 of the factor and the product add u each, and so do the two steps of adding and
/// subtracting the bound for products below 2: 12u < 2^-49. A power of two multiplies values and errors
/// alike.
pub(crate) fn single_error(factor: &Factor) -> Option<f64> {
    match factor.is_one() {
        true => Some(SINGLE_ERROR),
        // The size is 2 for factors in [1, 2).
        false => factor.suits_lanes().then_some(factor.size * SINGLE_ERROR),
    }
}

fn negate<T: Float>(value: T) -> T {
    let sign = 1u64 << (std::mem::size_of::<T>() * 8 - 1);
    T::from_pattern(value.pattern() ^ sign)
}

/// Returns the value of `T` nearest to `factor` times all numbers within `error` units of `bits` /
/// 2^128, or `None` if they do not all round alike.
fn decided<T: Float>(negative: bool, bits: u128, error: u128, factor: &Factor) -> Option<T> {
    if factor.is_one() {
        return round::decided(negative, bits, error, 0);
    }
    // Less than two units too low: one for the bits of the factor that are cut off, one for those of
    // the product. A mantissa below 1 does not enlarge the error of the bits.
    let mantissa = Fixed::<2>::from_bits(factor.wide.mantissa.top128());
    let product = Fixed::from_bits(bits).mul(mantissa).top128();
    round::decided(negative, product, error + 2, factor.wide.exponent)
}

/// Computes sine and cosine times `factor` in 320-bit fractions, rounded without a test.
///
/// The relative error is below 2^-150, so a wrong rounding would need a value that agrees with a
/// midpoint of `T` in more than 90 bits beyond the 53 of an f64. Among 2^46 entries, far
/// more than the largest table has, one is expected with a probability of 2^-44 or less.
fn full<T: Float>(frequency: BigFloat, mantissa: u64, exponent: i32, factor: &Factor) -> [T; 2] {
    let Some(values) = sin_cos_320(frequency, mantissa, exponent) else {
        return [T::rounded(0.0), factor.rounded()];
    };
    values.map(|(negative, value)| {
        let magnitude = if factor.is_one() {
            round::magnitude(value)
        } else {
            Magnitude {
                sticky: true,
                ..round::magnitude(value.mul(factor.wide))
            }
        };
        round::nearest::<T>(negative, magnitude)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sincos::fixed::SinCos128;
    use crate::turns::phase::Phase;

    /// Returns phases spread over the circle and dense at its eighths.
    fn angles() -> impl Iterator<Item = Phase> {
        let golden = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_u128;
        let spread = (1..20_000u128).map(move |n| golden.wrapping_mul(n));
        let eighths = (0..8u128).flat_map(|eighth| {
            (0..120).flat_map(move |shift| {
                let at = eighth << 125;
                [at.wrapping_add(1 << shift), at.wrapping_sub(1 << shift)]
            })
        });
        spread.chain(eighths).map(Phase)
    }

    /// Returns the distance between `value` and `bits` / 2^128 with a sign.
    fn gap(value: f64, negative: bool, bits: u128) -> f64 {
        let unit = 1.0 / (1u128 << 127) as f64 / 2.0;
        // Subtract the leading part exactly, then compare the rest.
        let high = (bits >> 76) << 76;
        let signed = |bits: u128| {
            if negative {
                -(bits as f64 * unit)
            } else {
                bits as f64 * unit
            }
        };
        ((value - signed(high)) - signed(bits - high)).abs()
    }

    /// Computes with fused operations, as `Scalar128b` has them, and without.
    #[test]
    fn f64_rung_stays_within_half_its_bound() {
        let ways = [
            single_f64::sin_cos::<pulp::Scalar>,
            single_f64::sin_cos::<pulp::Scalar128b>,
        ];
        for way in ways {
            let mut worst = 0f64;
            for phase in angles() {
                let reduced = phase.reduce();
                let [sine, cosine] = way((phase.0 >> 64) as u64);
                let values = sin_cos_128(reduced, 0);
                worst = worst
                    .max(gap(sine, values.sine_negative, values.sine))
                    .max(gap(cosine, values.cosine_negative, values.cosine));
            }
            assert!(
                worst < SINGLE_ERROR / 2.0 && worst > SINGLE_ERROR / 64.0,
                "{worst:e}"
            );
        }
    }

    /// Identities that hold to the last few units only if both functions do.
    #[test]
    fn rung_of_128_bits_stays_within_its_bound() {
        for phase in angles() {
            let SinCos128 {
                sine,
                cosine,
                error,
                ..
            } = sin_cos_128(phase.reduce(), 0);
            let square = |x: u128| Fixed::from_bits(x).mul(Fixed::from_bits(x)).top128();
            // sin^2 + cos^2 = 2^128 units = 0 modulo one.
            let off = square(sine).wrapping_add(square(cosine)) as i128;
            assert!(off.unsigned_abs() <= 3 * error, "{phase:?}: {off}");
        }
    }

    #[test]
    fn quadrants_turn_the_right_way() {
        let of = |turn: u128| {
            let n = sin_cos_128(Phase(turn).reduce(), 0);
            let signed = |negative: bool, bits: u128| {
                let value = bits as f64 / (1u128 << 127) as f64 / 2.0;
                if negative { -value } else { value }
            };
            (
                signed(n.sine_negative, n.sine),
                signed(n.cosine_negative, n.cosine),
            )
        };
        let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() + (b - d).abs() < 1e-15;
        let third = 0.866_025_403_784_438_6;
        let turn = u128::MAX / 12;
        for (twelfth, expected) in [
            (0, (0.0, 1.0)),
            (1, (0.5, third)),
            (3, (1.0, 0.0)),
            (5, (0.5, -third)),
            (6, (0.0, -1.0)),
            (8, (-third, -0.5)),
            (9, (-1.0, 0.0)),
            (11, (-0.5, third)),
        ] {
            assert!(
                near(of(turn * twelfth), expected),
                "{twelfth}: {:?}",
                of(turn * twelfth)
            );
            let [s, c] = single_f64::sin_cos::<pulp::Scalar>(((turn * twelfth) >> 64) as u64);
            assert!(near((s, c), expected), "{twelfth}");
        }
    }

    /// Some entry needs each rung.
    #[test]
    fn every_rung_is_needed() {
        let one = Frequency::one();
        let decided_fast = |position: u32| {
            let [s, c] =
                single_f64::sin_cos::<pulp::Scalar>((one.phase.times(position).0 >> 64) as u64);
            [s, c]
                .iter()
                .all(|value| decided_f64::<f32>(*value, SINGLE_ERROR).is_some())
        };
        let hard = (1..3_000_000).filter(|p| !decided_fast(*p)).count();
        assert!((1..100).contains(&hard), "{hard}");
        // A sine far below 2^-94 is beyond the 128-bit rung.
        let slow = Frequency::from_radians(BigFloat {
            exponent: -400,
            ..BigFloat::ONE
        });
        let n = sin_cos_128(slow.phase.times(3).reduce(), 4);
        assert_eq!(
            round::decided::<f64>(n.sine_negative, n.sine, n.error, 0),
            None
        );
        let found = sin_cos::<f64>(&slow, Position::Integer(3), &Factor::ONE, Rungs::Ladder);
        let expected = 3.0 * f64::from_bits((1023 - 401) << 52);
        assert_eq!(found, [expected, 1.0]);
    }

    /// The bounds cover the counted roundings and are not so wide that many entries become hard
    /// cases.
    #[test]
    fn bounds_of_values_with_a_factor() {
        let unit = f64::EPSILON / 2.0;
        let of = |factor: f64| single_error(&Factor::from(factor));
        assert!((6.0..10.0).contains(&(of(1.0).unwrap() / unit)));
        let below = |x: f64| f64::from_bits(x.to_bits() - 1);
        for power in [1.0 / 1024.0, 0.5, 1.0, 2.0, 512.0] {
            for factor in [power * 1.001, below(2.0 * power)] {
                let bound = of(factor).unwrap() / unit / power;
                assert!((12.0..20.0).contains(&bound), "{factor}");
            }
        }
        for factor in [1e-300, below(1.0 / 1024.0), 1024.0, 1e300] {
            assert_eq!(of(factor), None, "{factor}");
        }
    }

    #[test]
    fn decisions_with_a_factor_need_both_ends_to_agree() {
        let half = 1u128 << 127;
        assert_eq!(
            decided::<f32>(false, half, 1, &Factor::from(3.0)),
            Some(1.5)
        );
        assert_eq!(
            decided::<f64>(true, half, 64, &Factor::from(0.75)),
            Some(-0.375)
        );
        // 3 x (0.5 + 2^-24 / 3) is a midpoint.
        let midpoint = half + (1 << 104) / 3;
        assert_eq!(
            decided::<f32>(false, midpoint, 1 << 10, &Factor::from(3.0)),
            None
        );
        let (below, above) = (midpoint - (1 << 60), midpoint + (1 << 60));
        assert_eq!(
            decided::<f32>(false, below, 1 << 10, &Factor::from(3.0)),
            Some(1.5)
        );
        let next = 1.5 + f32::EPSILON;
        assert_eq!(
            decided::<f32>(false, above, 1 << 10, &Factor::from(3.0)),
            Some(next)
        );
        // A number that may be 0 has no known bits.
        assert_eq!(decided::<f32>(false, 5, 6, &Factor::from(1.5)), None);
    }
}
