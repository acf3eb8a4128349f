//! Factors of sines and cosines, wider than f64.
//!
//! The attention factor of a scaling is a real number such as `0.1 ln(40) + 1`. An f64 entry is
//! nearest to the product with that number only if the product is computed with more digits of it
//! than an f64 has.

use crate::num::float::BigFloat;
use crate::num::real::Real;
use crate::round::{self, Float, to_f64};
use crate::sincos::hi_lo::split;

/// A positive factor, in the precisions that the rungs need.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factor {
    /// The factor, with 320 bits.
    pub(crate) wide: BigFloat,
    /// The nearest f64.
    pub(crate) value: f64,
    /// The factor as `high` + `low`. `high` is a multiple of `size` x 2^-26, so that its product with
    /// the high part of a sine is exact.
    pub(crate) parts: (f64, f64),
    /// Power of two of at least the factor: errors of products are in proportion to it.
    pub(crate) size: f64,
    one: bool,
}

/// Lanes accept factors from 2^-10 up to 2^10.
const POWERS: i32 = 10;

impl Factor {
    /// No factor.
    pub(crate) const ONE: Self = Self {
        wide: BigFloat::ONE,
        value: 1.0,
        parts: (1.0, 0.0),
        size: 1.0,
        one: true,
    };

    /// Returns whether products with the factor are the values themselves.
    #[inline(always)]
    pub(crate) fn is_one(&self) -> bool {
        self.one
    }

    /// Returns whether lanes accept the factor. Others would leave the exponents of 16-bit floats.
    pub(crate) fn suits_lanes(&self) -> bool {
        // The mantissa is in [1/2, 1).
        (1 - POWERS..=POWERS).contains(&self.wide.exponent)
    }

    /// Returns the nearest value of `T`.
    pub(crate) fn rounded<T: Float>(&self) -> T {
        round::nearest(false, round::magnitude(self.wide))
    }
}

impl From<BigFloat> for Factor {
    fn from(wide: BigFloat) -> Self {
        if wide == BigFloat::ONE {
            return Self::ONE;
        }
        // Only factors that lanes accept need the parts and the size.
        let power = wide.exponent.clamp(-POWERS, POWERS);
        let size = f64::from_bits(((1023 + power) as u64) << 52);
        let (high, low) = split(false, wide.mantissa.top128());
        Self {
            wide,
            value: to_f64(wide),
            parts: (high * size, low * size),
            size,
            one: false,
        }
    }
}

/// Converts a positive number.
impl From<Real> for Factor {
    fn from(value: Real) -> Self {
        Self::from(value.size)
    }
}

/// Converts a positive finite number exactly.
impl From<f64> for Factor {
    fn from(value: f64) -> Self {
        Self::from(BigFloat::from_f64(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_the_factor() {
        let third = Real::one() / Real::from(3.0);
        for (real, size) in [
            (third, 0.5),
            (third + Real::one(), 2.0),
            (Real::from(1024.0) - third, 1024.0),
            (Real::from(0.75), 1.0),
            (Real::from(1.0), 1.0),
        ] {
            let factor = Factor::from(real);
            assert_eq!((factor.size, factor.suits_lanes()), (size, true));
            let (high, low) = factor.parts;
            assert_eq!(high % (size / (1u64 << 26) as f64), 0.0);
            let rest = real - Real::from(high) - Real::from(low);
            assert!(
                rest.to_f64().abs() <= size / (1u128 << 80) as f64,
                "{factor:?}"
            );
            assert_eq!(factor.value, real.to_f64());
        }
        assert!(Factor::from(1.0).is_one());
        let near_one = Real::one() - Real::from(1e-40);
        assert!(Factor::from(near_one).value == 1.0 && !Factor::from(near_one).is_one());
    }

    #[test]
    fn lanes_accept_factors_of_ordinary_size() {
        let below = |x: f64| f64::from_bits(x.to_bits() - 1);
        let (least, beyond) = (1.0 / 1024.0, 1024.0);
        for (value, suits) in [
            (least, true),
            (below(least), false),
            (below(beyond), true),
            (beyond, false),
            (1e-300, false),
            (1e300, false),
        ] {
            assert_eq!(Factor::from(value).suits_lanes(), suits, "{value}");
        }
    }

    /// A number next to a midpoint of f32, nearer than an f64 can resolve.
    #[test]
    fn factors_are_rounded_once() {
        let midpoint = Real::from(1.0 + f64::from(f32::EPSILON) / 2.0);
        let hair = Real::from(1e-30);
        assert_eq!(Factor::from(midpoint - hair).rounded::<f32>(), 1.0);
        let above = 1.0 + f32::EPSILON;
        assert_eq!(Factor::from(midpoint + hair).rounded::<f32>(), above);
    }
}
