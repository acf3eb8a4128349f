//! Cosines and sines with the roundings of transformers' forward pass.
//!
//! There the angle is the f32 product of position and frequency, and the functions and the
//! product with the attention factor round to f32 each. The functions are correctly
//! rounded here: from f64 where a check allows it, else by the ladder of
//! [`sincos`](crate::sincos).

use crate::direct;
use crate::frequency::Frequency;
use crate::lane::SINGLE_ERROR;
use crate::round::Element;
use crate::sincos::{self, Position, Rungs};

/// 2^96 / (2 pi), rounded down.
const INV_TWO_PI: u128 = 0x28be_60db_9391_054a_7f09_d5f4;

/// The fraction of a turn, in units of 2^-64, that an angle of at least 2^-60 and below 2^32
/// radians makes: within 2 units.
///
/// The constant is one unit of 2^-96 off at most, times 24 bits of mantissa and up to 2^8.
fn turn(angle: f32) -> Option<u64> {
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

/// Sine and cosine of an f32 angle, correctly rounded. `radian` is the frequency of one
/// radian per position.
fn sin_cos(radian: &Frequency, angle: f32) -> (f32, f32) {
    if let Some(turn) = turn(angle) {
        let (sine, cosine) = direct::sin_cos(turn);
        let ends = |value: f64| ((value - SINGLE_ERROR) as f32, (value + SINGLE_ERROR) as f32);
        let ((sine, sine_end), (cosine, cosine_end)) = (ends(sine), ends(cosine));
        if sine.to_bits() == sine_end.to_bits() && cosine.to_bits() == cosine_end.to_bits() {
            return (sine, cosine);
        }
    }
    sincos::sin_cos::<f32>(radian, Position::Real(f64::from(angle)), Rungs::NarrowUp)
}

/// One row. `factor` is the attention factor in f32.
pub(super) fn fill_row<T: Element>(
    radian: &Frequency,
    inv_freq: &[f32],
    factor: f32,
    position: u32,
    cos: &mut [T],
    sin: &mut [T],
) {
    let position = position as f32;
    for ((inv_freq, cos), sin) in inv_freq.iter().zip(cos).zip(sin) {
        let (s, c) = sin_cos(radian, inv_freq * position);
        *sin = T::from_f64(f64::from(s * factor));
        *cos = T::from_f64(f64::from(c * factor));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Angles of every size against the 320-bit rung, and that nearly all take the short way.
    #[test]
    fn functions_are_correctly_rounded_at_angles_of_every_size() {
        let radian = Frequency::one();
        let mut bits = 1u32;
        let (mut short, mut all) = (0, 0);
        for _ in 0..40_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Exponents from 2^-64 to 2^40.
            let exponent = 127 - 64 + bits % 104;
            let angle = f32::from_bits(exponent << 23 | bits >> 9);
            let expected =
                sincos::sin_cos::<f32>(&radian, Position::Real(f64::from(angle)), Rungs::FullOnly);
            assert_eq!(sin_cos(&radian, angle), expected, "{angle:e}");
            if (1e-3..4e9).contains(&angle) {
                all += 1;
                let narrow = sincos::narrow(
                    crate::turn::turn_at(radian.wide, u64::from(bits >> 9 | 1 << 23), {
                        exponent as i32 - 150
                    })
                    .reduce(),
                    2,
                );
                let unit = 1.0 / (1u128 << 127) as f64 / 2.0;
                let (sine, cosine) = direct::sin_cos(turn(angle).unwrap());
                let near = |value: f64, bits: u128| {
                    (value.abs() - bits as f64 * unit).abs() < SINGLE_ERROR
                };
                short += usize::from(near(sine, narrow.sine) && near(cosine, narrow.cosine));
            }
        }
        assert_eq!(short, all);
        assert!(all > 10_000);
        assert_eq!(sin_cos(&radian, 0.0), (0.0, 1.0));
    }
}
