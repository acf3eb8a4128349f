//! Cosines and sines with the roundings of transformers' forward pass.
//!
//! transformers computes the angle as the f32 product of position and frequency. It rounds the
//! functions and their product with the attention factor to f32. The functions are correctly
//! rounded here: from f64 if the rounding test passes, otherwise by the ladder of [`sincos`].

use crate::round::{Float, SINGLE_ERROR, decided_f64};
use crate::sincos::factor::Factor;
use crate::sincos::single_f64;
use crate::sincos::{self, Rungs};
use crate::turns::frequency::Frequency;
use crate::turns::position::Position;

/// 2^96 / (2 pi), rounded down.
const INV_TWO_PI: u128 = 0x28be_60db_9391_054a_7f09_d5f4;

/// Returns the phase of an angle of at least 2^-60 and below 2^32 radians, in units of 2^-64 turns,
/// within 2 units.
///
/// The constant has an error of at most 2^-96, multiplied by 24 bits of mantissa and up to 2^8.
fn phase(angle: f32) -> Option<u64> {
    let bits = angle.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    if !(-60..32).contains(&exponent) {
        return None;
    }
    let mantissa = u128::from(bits & 0x7f_ffff | 0x80_0000);
    let product = mantissa * INV_TWO_PI;
    let shift = exponent - 23;
    let turns = if shift >= 0 {
        product << shift
    } else {
        product >> -shift
    };
    Some((turns >> 32) as u64)
}

/// Computes sine and cosine of an f32 angle, correctly rounded. `radian` is the frequency of one
/// radian per position.
pub(crate) fn sin_cos(radian: &Frequency, angle: f32) -> [f32; 2] {
    let position = Position::Real(f64::from(angle));
    short(angle).unwrap_or_else(|| sincos::sin_cos(radian, position, &Factor::ONE, Rungs::From128))
}

/// Computes both from f64 arithmetic if both pass the rounding test.
fn short(angle: f32) -> Option<[f32; 2]> {
    let [sine, cosine] = single_f64::sin_cos::<pulp::Scalar>(phase(angle)?);
    Some([
        decided_f64(sine, SINGLE_ERROR)?,
        decided_f64(cosine, SINGLE_ERROR)?,
    ])
}

/// Computes sine and cosine of an f32 angle, each correctly rounded to f32, multiplied by `factor` in
/// f32, and rounded to `T`. `radian` is the frequency of one radian per position.
pub(crate) fn entry_pair<T: Float>(radian: &Frequency, angle: f32, factor: f32) -> [T; 2] {
    sin_cos(radian, angle).map(|value| T::rounded(f64::from(value * factor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Angles of every magnitude match the 320-bit rung, and nearly all of them pass in f64.
    #[test]
    fn functions_are_correctly_rounded_at_angles_of_every_size() {
        let radian = Frequency::one();
        let mut bits = 1u32;
        let (mut passed, mut all) = (0, 0);
        for _ in 0..40_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Exponents from 2^-64 to 2^40.
            let exponent = 127 - 64 + bits % 104;
            let angle = f32::from_bits(exponent << 23 | bits >> 9);
            let expected: [f32; 2] = sincos::sin_cos(
                &radian,
                Position::Real(f64::from(angle)),
                &Factor::ONE,
                Rungs::Only320,
            );
            assert_eq!(sin_cos(&radian, angle), expected, "{angle:e}");
            if (1e-3..4e9).contains(&angle) {
                all += 1;
                let values = sincos::fixed::sin_cos_128(
                    crate::turns::phase::phase_at(radian.wide, u64::from(bits >> 9 | 1 << 23), {
                        exponent as i32 - 150
                    })
                    .reduce(),
                    2,
                );
                let unit = 1.0 / (1u128 << 127) as f64 / 2.0;
                let [sine, cosine] = single_f64::sin_cos::<pulp::Scalar>(phase(angle).unwrap());
                let near = |value: f64, bits: u128| {
                    (value.abs() - bits as f64 * unit).abs() < SINGLE_ERROR
                };
                assert!(near(sine, values.sine) && near(cosine, values.cosine));
                passed += usize::from(short(angle).is_some());
            }
        }
        assert!(all > 10_000);
        assert!(passed > all - all / 1000, "{passed} of {all}");
        assert_eq!(sin_cos(&radian, 0.0), [0.0, 1.0]);
    }

    /// cos 2^-12 = 1 - 2^-25 + 2^-52 / 1.5 - ... is above the midpoint of 1 - 2^-24 and 1, closer
    /// than f64 arithmetic can resolve. sin 2^-12 = 2^-12 - 2^-36 / 6 + ... is far from any
    /// midpoint.
    #[test]
    fn cosine_next_to_a_midpoint_takes_the_long_way() {
        let angle = 1.0 / 4096.0;
        assert_eq!(short(angle), None);
        assert_eq!(sin_cos(&Frequency::one(), angle), [angle, 1.0]);
        let less = f32::from_bits(angle.to_bits() - 1);
        assert_eq!(short(less), Some([less, 1.0]));
        // 2^-12 + 2^-35: its cosine is lower by 2^-47.
        let more = f32::from_bits(angle.to_bits() + 1);
        assert_eq!(short(more), Some([more, 1.0 - f32::EPSILON / 2.0]));
    }
}
