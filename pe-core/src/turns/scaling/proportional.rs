//! Frequencies spread over the whole head, with only the first in use.

use super::{Context, positive};
use crate::error::{Error, Result};
use crate::num::float::BigFloat;
use crate::num::real::Real;

/// Returns the number of rotated pairs: `floor(partial_rotary_factor x head_dim / 2)`, with the
/// product in f64.
fn rotated(partial_rotary_factor: f64, context: &Context) -> Result<usize> {
    if !(0.0..=1.0).contains(&partial_rotary_factor) {
        return Err(Error::PartialRotaryFactor {
            partial_rotary_factor,
        });
    }
    let pairs = (partial_rotary_factor * context.rotary_dim as f64 / 2.0).floor();
    Ok(pairs as usize)
}

pub(super) fn exact(partial: f64, factor: f64, context: &Context) -> Result<Vec<Real>> {
    positive("factor", factor)?;
    let rotated = rotated(partial, context)?;
    let factor = Real::from(factor);
    let zero = Real::from(BigFloat::ZERO);
    let powers = context.exact_powers()?.into_iter().enumerate();
    Ok(powers
        .map(|(pair, f)| if pair < rotated { f / factor } else { zero })
        .collect())
}

pub(super) fn f32(partial: f64, factor: f64, context: &Context) -> Result<Vec<f32>> {
    positive("factor", factor)?;
    let rotated = rotated(partial, context)?;
    let powers = context.f32_powers().into_iter().enumerate();
    Ok(powers
        .map(|(pair, power)| {
            let f = if pair < rotated { 1.0 / power } else { 0.0 };
            f / factor as f32
        })
        .collect())
}
