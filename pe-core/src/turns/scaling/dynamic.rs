//! Dynamic NTK: the base grows with the sequence.

use super::{Context, length, positive, powers};
use crate::error::{Error, Result};
use crate::num::real::Real;

/// Returns (M, L): the trained length, and the effective length.
fn lengths(factor: f64, context: &Context) -> Result<(usize, usize)> {
    positive("factor", factor)?;
    if context.rotary_dim == 2 {
        // d / (d - 2).
        return Err(Error::DynamicWidth);
    }
    let Some(trained) = context.max_position_embeddings else {
        let scaling = "dynamic";
        return Err(Error::MissingLength { scaling });
    };
    length("max_position_embeddings", trained)?;
    Ok((trained, context.seq_len.max(trained)))
}

pub(super) fn exact(factor: f64, context: &Context) -> Result<Vec<Real>> {
    let (trained, length) = lengths(factor, context)?;
    let of = |count: usize| Real::from(count as u64);
    let (factor, dim) = (Real::from(factor), context.rotary_dim);
    let growth = factor * of(length) / of(trained) - (factor - Real::one());
    let ln_base = context.ln_base() + growth.ln() * of(dim) / of(dim - 2);
    powers::exact(ln_base, dim, context.pairs()).ok_or(Error::Frequency {
        base: context.base,
        pair: 1,
    })
}

/// Returns the powers of the base, which Python computes in f64 with four roundings.
pub(super) fn f32(factor: f64, context: &Context) -> Result<Vec<f32>> {
    let (trained, length) = lengths(factor, context)?;
    let dim = context.rotary_dim;
    let growth = factor * length as f64 / trained as f64 - (factor - 1.0);
    positive("the growth of the base", growth)?;
    let exponent = dim as f64 / (dim - 2) as f64;
    let power = (Real::from(growth).ln() * Real::from(exponent)).exp();
    let base = context.base * power.map_or(f64::INFINITY, Real::to_f64);
    positive("base in f32", f64::from(base as f32))?;
    Ok(powers::f32(base as f32, dim, context.pairs()))
}
