//! Sines and cosines of sums of products, such as `2 pi (x a + y b)`.
//!
//! A term is a product of a coordinate and a frequency in turns. Terms are added modulo one turn in
//! 128 bits, which decides nearly all entries by the rungs of the ladder. Otherwise all terms are added
//! again in [`WIDE`] words, which hold every product of two f64 without rounding.

use crate::num::fixed::Fixed;
use crate::num::float::{BigFloat, decompose};
use crate::round::{self, Float, SINGLE_ERROR, decided_f64};
use crate::sincos::fixed::{sin_cos_128, sin_cos_reduced};
use crate::sincos::single_f64;
use crate::turns::phase::{Phase, WideReduced, product, reduce};

/// Words of the exact sum: a product of two f64 is a multiple of 2^-2148.
const WIDE: usize = 34;

/// A number: the exact value of an f64, or one of 320 bits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Number {
    Short(f64),
    Wide { negative: bool, size: BigFloat },
}

impl Number {
    fn is_negative(self) -> bool {
        match self {
            Self::Short(value) => value < 0.0,
            Self::Wide { negative, .. } => negative,
        }
    }
}

/// A term in turns: at least one of its factors is short.
pub(crate) type Term = (Number, Number);

/// Returns the magnitude of a term, as bits / 2^128 x 2^exponent or as a wide fraction.
enum Magnitude {
    Zero,
    Exact(u128, i32),
    Wide(Fixed<6>, i32),
}

fn magnitude((a, b): Term) -> Magnitude {
    let short = |value: f64| decompose(value.abs());
    match (a, b) {
        (Number::Short(0.0), _) | (_, Number::Short(0.0)) => Magnitude::Zero,
        (Number::Short(a), Number::Short(b)) => {
            let ((a, e), (b, f)) = (short(a), short(b));
            Magnitude::Exact(u128::from(a) * u128::from(b), e + f + 128)
        }
        (Number::Short(a), Number::Wide { size, .. })
        | (Number::Wide { size, .. }, Number::Short(a)) => {
            if size.is_zero() {
                return Magnitude::Zero;
            }
            let (mantissa, exponent) = short(a);
            let (fraction, scale) = product(size, mantissa, exponent);
            Magnitude::Wide(fraction, scale)
        }
        // Not used: a frequency or the coordinate is short.
        (Number::Wide { size: a, .. }, Number::Wide { size: b, .. }) => {
            let size = a.mul(b);
            Magnitude::Wide(size.mantissa.resize(), size.exponent)
        }
    }
}

/// Returns `bits` / 2^128 x 2^`scale` modulo one turn, rounded down, and its error in units of 2^-128.
fn modulo(bits: u128, scale: i32) -> (u128, u128) {
    match scale {
        128.. => (0, 0),
        0.. => (bits << scale, 0),
        -127.. => (bits >> -scale, u128::from(bits << (128 + scale) != 0)),
        _ => (0, 1),
    }
}

/// Returns the sum of the terms modulo one turn, with its error in units of 2^-128.
fn phase(terms: impl Iterator<Item = Term>) -> (Phase, u128) {
    let (mut sum, mut error) = (0u128, 0);
    for (a, b) in terms {
        let (bits, unsure) = match magnitude((a, b)) {
            Magnitude::Zero => continue,
            Magnitude::Exact(bits, scale) => modulo(bits, scale),
            Magnitude::Wide(fraction, scale) => {
                let shifted = if scale >= 0 {
                    fraction.shl(scale.unsigned_abs().min(384))
                } else {
                    fraction.shr(scale.unsigned_abs().min(384))
                };
                (shifted.top128(), 2)
            }
        };
        sum = match a.is_negative() != b.is_negative() {
            true => sum.wrapping_sub(bits),
            false => sum.wrapping_add(bits),
        };
        error += unsure;
    }
    (Phase(sum), error)
}

/// Returns the sum of the terms modulo one turn: exactly, unless a term is wide.
fn wide(terms: &(impl Iterator<Item = Term> + Clone)) -> WideReduced {
    let mut sum = Fixed::<WIDE>::ZERO;
    for (a, b) in terms.clone() {
        let (fraction, scale) = match magnitude((a, b)) {
            Magnitude::Zero => continue,
            Magnitude::Exact(bits, scale) => (Fixed::<2>::from_bits(bits).resize::<WIDE>(), scale),
            Magnitude::Wide(fraction, scale) => (fraction.resize::<WIDE>(), scale),
        };
        let most = 64 * WIDE as u32;
        let placed = if scale >= 0 {
            fraction.shl(scale.unsigned_abs().min(most))
        } else {
            fraction.shr(scale.unsigned_abs().min(most))
        };
        sum = match a.is_negative() != b.is_negative() {
            true => sum.sub(placed).0,
            false => sum.add(placed).0,
        };
    }
    reduce(sum)
}

/// Computes the sine and the cosine of a sum of terms, in turns, each as the nearest `T`.
///
/// If `rational` is set, the sum is a rational number with a denominator below 2^100, so that a distance
/// of less than 2^-150 turns from a quarter turn is a rounding of its wide terms, and counts as 0. The
/// values there are 0, 1, and -1 exactly. No value is a tie otherwise: the sine of a rational multiple of
/// pi is rational at these values and at 1/2 only (Niven), and any other one is irrational.
pub(crate) fn sin_cos_summed<T: Float>(
    terms: impl Iterator<Item = Term> + Clone,
    rational: bool,
) -> [T; 2] {
    let (phase, error) = phase(terms.clone());
    let [sine, cosine] = single_f64::sin_cos::<pulp::Scalar>((phase.0 >> 64) as u64);
    let entries = [sine, cosine].map(|value| decided_f64::<T>(value, SINGLE_ERROR));
    if let [Some(sine), Some(cosine)] = entries {
        return [sine, cosine];
    }
    undecided(entries, phase, error, &|| match rational {
        true => wide(&terms).exact_below(-150),
        false => wide(&terms),
    })
}

/// Computes the entries that the first rung does not decide. Not inlined: nearly none are, and the code is large.
#[cold]
#[inline(never)]
fn undecided<T: Float>(
    [sine, cosine]: [Option<T>; 2],
    phase: Phase,
    error: u128,
    wide: &dyn Fn() -> WideReduced,
) -> [T; 2] {
    let values = sin_cos_128(phase.reduce(), error);
    let of = |negative, bits| round::decided::<T>(negative, bits, values.error, 0);
    let entries = [
        sine.or_else(|| of(values.sine_negative, values.sine)),
        cosine.or_else(|| of(values.cosine_negative, values.cosine)),
    ];
    if let [Some(sine), Some(cosine)] = entries {
        return [sine, cosine];
    }
    sin_cos_reduced(wide())
        .map(|(negative, value)| round::nearest::<T>(negative, round::magnitude(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn short(terms: &[(f64, f64)]) -> [f64; 2] {
        let terms = terms
            .iter()
            .map(|(a, b)| (Number::Short(*a), Number::Short(*b)));
        sin_cos_summed(terms, false)
    }

    #[test]
    fn quarter_turns_are_exact() {
        for (turns, wanted) in [
            (0.0, [0.0, 1.0]),
            (0.25, [1.0, 0.0]),
            (0.5, [0.0, -1.0]),
            (0.75, [-1.0, 0.0]),
            (-0.25, [-1.0, 0.0]),
            (123_456_789.5, [0.0, -1.0]),
            (1e300, [0.0, 1.0]),
        ] {
            assert_eq!(short(&[(turns, 1.0)]), wanted, "{turns}");
            assert_eq!(short(&[(1.0, turns), (3.0, 2.0)]), wanted, "{turns}");
        }
    }

    /// Terms that cancel to far below the last bit of any of them.
    #[test]
    fn cancellation_leaves_exact_remainders() {
        let tiny = f64::from_bits(23 << 52); // 2^-1000
        let tau = std::f64::consts::TAU;
        let [sine, cosine] = short(&[(3.0, 0.3), (-1.0, 0.9), (tiny, 1.0)]);
        // 3 x 0.3 - 0.9 as exact values of doubles.
        let rest = 3f64.mul_add(0.3, -0.9);
        assert!(
            (sine - tau * rest).abs() <= 1e-15 * (tau * rest).abs(),
            "{sine:e}"
        );
        assert_eq!(cosine, 1.0);
        let [sine, _] = short(&[(1e200, 7.0), (-7e200, 1.0), (tiny, 1.0), (-3.0, tiny)]);
        let wanted = -2.0 * tiny * tau + tau * f64::mul_add(1e200, 7.0, -7e200).rem_euclid(1.0);
        assert!(
            (sine - wanted).abs() <= 1e-15 * wanted.abs().max(tiny),
            "{sine:e} {wanted:e}"
        );
    }
}
