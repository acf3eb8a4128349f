//! Frequencies with the roundings of f32 recipes, and the functions they need.

use crate::error::{Error, Result};
use crate::num::elementary::FixedPoint;
use crate::num::fixed::Fixed;
use crate::num::float::decompose;
use crate::num::real::Real;
use crate::round::to_f32;
use crate::spec::recipe::Recipe;
use crate::spec::spacing::{Base, Spacing};

impl Recipe {
    /// Returns the f32 frequencies, or `None` for [`Recipe::Exact`].
    pub(crate) fn inv_freq(
        self,
        base: Base,
        spacing: Spacing,
        width: usize,
        pairs: usize,
    ) -> Result<Option<Vec<f32>>> {
        let undefined = Error::Recipe {
            recipe: self.name(),
            spacing: spacing.name(),
        };
        let frequencies = match (self, spacing) {
            (Self::Exact, _) => return Ok(None),
            (Self::ExpF32, Spacing::Paper) => exp_steps(base, 2.0, width, pairs)?,
            (Self::ExpF32, Spacing::Inclusive) => {
                exp_steps(base, 1.0, pairs.saturating_sub(1).max(1), pairs)?
            }
            (Self::PowF32, Spacing::Paper) => {
                let base = base.value() as f32;
                (0..pairs)
                    .map(|i| 1.0 / pow_f32(base, (2 * i) as f32 / width as f32))
                    .collect()
            }
            (Self::DiffusersF32, Spacing::Shifted(shift)) => {
                let slope = -Real::from(base.ln()?).to_f64() as f32;
                let divisor = (pairs as f64 - shift) as f32;
                (0..pairs)
                    .map(|i| exp_f32(slope * i as f32 / divisor))
                    .collect()
            }
            _ => return Err(undefined),
        };
        Ok(Some(frequencies))
    }
}

/// Computes exp(k x c) with k = stride x i and c = -ln(base) / divisor, rounded to f64 twice
/// (logarithm and ratio, as in Python) and then to f32.
fn exp_steps(base: Base, stride: f32, divisor: usize, pairs: usize) -> Result<Vec<f32>> {
    let ln = Real::from(base.ln()?).to_f64();
    let factor = (-ln / divisor as f64) as f32;
    Ok((0..pairs)
        .map(|i| exp_f32(i as f32 * stride * factor))
        .collect())
}

/// Computes exp(x) in f32, correctly rounded, for x below 88.
fn exp_f32(x: f32) -> f32 {
    let one = FixedPoint {
        negative: x.is_sign_negative(),
        integer: 1,
        fraction: Fixed::ZERO,
    };
    exp_of_multiple(one, x.abs())
}

/// Computes base^exponent in f32, correctly rounded, for a positive base and an exponent of at
/// least 0.
pub(crate) fn pow_f32(base: f32, exponent: f32) -> f32 {
    if base == f32::INFINITY && exponent > 0.0 {
        return base;
    }
    exp_of_multiple(FixedPoint::ln(f64::from(base)), exponent)
}

/// Computes exp(x times) in f32, correctly rounded, for `times` of at least 0.
fn exp_of_multiple(x: FixedPoint, times: f32) -> f32 {
    if times == 0.0 {
        return 1.0;
    }
    let beyond = if x.negative { 0.0 } else { f32::INFINITY };
    let (mantissa, power) = decompose(f64::from(times));
    let trailing = mantissa.trailing_zeros();
    x.scaled(mantissa >> trailing, 1, -(power + trailing as i32))
        .map_or(beyond, |real| to_f32(real.exp()))
}
