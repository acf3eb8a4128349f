//! Unscaled frequencies: powers of the base.

use crate::num::real::Real;
use crate::turns::f32_recipe::pow_f32;

/// Returns `base^(-2i / dim)` for `i` below `count`, or `None` if the ratio is out of range.
pub(super) fn exact(ln_base: Real, dim: usize, count: usize) -> Option<Vec<Real>> {
    let step = Real::from(2.0) / Real::from(dim as u64);
    let ratio = (-(ln_base * step)).exp()?;
    let mut power = Real::one();
    let mut out = Vec::with_capacity(count);
    for _ in 0..count {
        out.push(power);
        power = power * ratio;
    }
    Some(out)
}

/// Returns `base^(2i / dim)` in f32, with the exponent rounded to f32 first and the power correctly
/// rounded.
pub(super) fn f32(base: f32, dim: usize, count: usize) -> Vec<f32> {
    (0..count)
        .map(|i| pow_f32(base, (2 * i) as f32 / dim as f32))
        .collect()
}
