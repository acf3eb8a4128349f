//! Cosines and sines of given angles, correctly rounded.

use pulp::{Simd, WithSimd};

use crate::error::{Error, Result};
use crate::round::SINGLE_ERROR;
use crate::rows::columns::PairSlices;
use crate::rows::f32_recipe;
use crate::rows::lane::Lane;
use crate::sincos::backend::Backend;
use crate::sincos::double_f64::RUN;
use crate::sincos::factor::Factor;
use crate::sincos::{self, Rungs, single_f64};
use crate::turns::frequency::Frequency;
use crate::turns::position::Position;

/// Computes the cosines and sines of angles in radians.
///
/// Every value is the `f32` nearest to the cosine or sine of the exact value of the angle, on every
/// machine. An infinite angle and NaN give NaN. Angles up to 524,288 take a nanosecond or two each,
/// larger ones, and the few that are hard to round, some hundreds.
///
/// ```
/// let angles = [0.0f32, 1.0, 1e30];
/// let (mut cos, mut sin) = ([0.0; 3], [0.0; 3]);
/// pe_core::cos_sin_of_angles(&angles, &mut cos, &mut sin)?;
/// assert_eq!((cos, sin), ([1.0, 0.5403023, -0.6116048], [0.0, 0.84147096, -0.79116344]));
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the lengths differ.
pub fn cos_sin_of_angles(angles: &[f32], cos: &mut [f32], sin: &mut [f32]) -> Result<()> {
    check(angles.len(), cos.len(), sin.len())?;
    let arch = Backend::best().arch();
    let radian = Frequency::one();
    let runs = cos.chunks_mut(RUN).zip(sin.chunks_mut(RUN));
    for (angles, (cos, sin)) in angles.chunks(RUN).zip(runs) {
        let passed = arch.dispatch(Run {
            angles,
            out: PairSlices::Halves {
                sines: &mut *sin,
                cosines: &mut *cos,
            },
        });
        if !passed {
            for ((angle, cos), sin) in angles.iter().zip(cos).zip(sin) {
                [*sin, *cos] = match angle.is_finite() {
                    true => f32_recipe::sin_cos(&radian, *angle),
                    false => [f32::NAN; 2],
                };
            }
        }
    }
    Ok(())
}

/// Computes the cosines and sines of `f64` angles, like [`cos_sin_of_angles`]. Each takes some hundreds of
/// nanoseconds.
///
/// ```
/// let (mut cos, mut sin) = ([0.0], [0.0]);
/// pe_core::cos_sin_of_angles_f64(&[1.0], &mut cos, &mut sin)?;
/// assert_eq!((cos, sin), ([0.5403023058681398], [0.8414709848078965]));
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the lengths differ.
pub fn cos_sin_of_angles_f64(angles: &[f64], cos: &mut [f64], sin: &mut [f64]) -> Result<()> {
    check(angles.len(), cos.len(), sin.len())?;
    let radian = Frequency::one();
    for ((angle, cos), sin) in angles.iter().zip(cos).zip(sin) {
        let position = Position::Real(*angle);
        [*sin, *cos] = match angle.is_finite() {
            true => sincos::sin_cos(&radian, position, &Factor::ONE, Rungs::Ladder),
            false => [f64::NAN; 2],
        };
    }
    Ok(())
}

fn check(angles: usize, cos: usize, sin: usize) -> Result<()> {
    for (name, len) in [("cos", cos), ("sin", sin)] {
        if len != angles {
            let expected = angles as u64;
            return Err(Error::Length {
                name,
                len,
                expected,
            });
        }
    }
    Ok(())
}

/// A run of angles on the chosen instruction set (`rows::recurrence` explains why this is a structure).
struct Run<'a> {
    angles: &'a [f32],
    out: PairSlices<'a, f32>,
}

impl WithSimd for Run<'_> {
    type Output = bool;

    /// Returns whether all values passed the rounding test.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let mut largest = 0f32;
        for angle in self.angles {
            let size = angle.abs();
            // Also false for NaN.
            largest = if size <= single_f64::LARGEST {
                largest
            } else {
                size
            };
        }
        if largest != 0.0 {
            return false;
        }
        let pairs = self.angles.iter().map(
            #[inline(always)]
            |angle| single_f64::sin_cos_of_radians::<S>(f64::from(*angle)),
        );
        !f32::write(pairs, SINGLE_ERROR, self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Angles of every magnitude match the 320-bit rung, and most are decided in lanes.
    #[test]
    fn angles_of_every_size_are_correctly_rounded() -> Result<()> {
        let radian = Frequency::one();
        let mut bits = 1u32;
        let mut angles = vec![
            0.0,
            -0.0,
            f32::MIN_POSITIVE,
            -1e-40,
            f32::MAX,
            524_288.0,
            -524_289.0,
        ];
        for quarter in 1..3000 {
            let near = (f64::from(quarter) * std::f64::consts::FRAC_PI_2) as f32;
            angles.extend([near, -near, near.next_up()]);
        }
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let exponent = 127 - 30 + bits % 60;
            angles.push(f32::from_bits(exponent << 23 | bits >> 9 | bits << 31));
        }
        let (mut cos, mut sin) = (vec![0.0; angles.len()], vec![0.0; angles.len()]);
        cos_sin_of_angles(&angles, &mut cos, &mut sin)?;
        for ((angle, cos), sin) in angles.iter().zip(&cos).zip(&sin) {
            let position = Position::Real(f64::from(*angle));
            let wanted: [f32; 2] = sincos::sin_cos(&radian, position, &Factor::ONE, Rungs::Only320);
            assert_eq!([*sin, *cos], wanted, "{angle:e}");
        }
        Ok(())
    }

    #[test]
    fn every_instruction_set_decides_ordinary_angles() {
        let angles: Vec<f32> = (1..=64).map(|n| n as f32 * 13.37).collect();
        for (name, backend) in Backend::available() {
            let (mut sines, mut cosines) = ([0.0; 64], [0.0; 64]);
            let passed = backend.arch().dispatch(Run {
                angles: &angles,
                out: PairSlices::Halves {
                    sines: &mut sines,
                    cosines: &mut cosines,
                },
            });
            assert!(passed, "{name}");
        }
    }

    #[test]
    fn angles_that_are_no_numbers_have_none() -> Result<()> {
        let angles = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1.0];
        let (mut cos, mut sin) = ([0.0; 4], [0.0; 4]);
        cos_sin_of_angles(&angles, &mut cos, &mut sin)?;
        assert_eq!(cos.map(f32::is_nan), [true, true, true, false]);
        assert_eq!((cos[3], sin[3]), (0.5403023, 0.84147096));
        let (mut cos, mut sin) = ([0.0; 2], [0.0; 2]);
        cos_sin_of_angles_f64(&[f64::NAN, -2.5], &mut cos, &mut sin)?;
        assert!(cos[0].is_nan() && sin[1] < 0.0);
        assert!(cos_sin_of_angles_f64(&[1.0], &mut cos, &mut sin).is_err());
        Ok(())
    }
}
