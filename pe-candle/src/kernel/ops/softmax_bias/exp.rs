//! Exponential and hyperbolic tangent without the platform's mathematics library.
//!
//! They consist of additions, products, and shifts of bits, one by one, so loops over them become vector code on every
//! instruction set, with the same bits. Nothing is fused.

use std::ops::{Div, Sub};

use candle_core::WithDType;

use crate::kernel::element::Compute;
use crate::kernel::raw::Zeros;

/// A type that scores are computed in.
pub(crate) trait Real:
    Compute + Zeros + WithDType + PartialOrd + Sub<Output = Self> + Div<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const MINUS_INFINITY: Self;

    /// Returns e to the power `x`, for `x` of at most 0, or NaN.
    ///
    /// The error is below 1 ulp: at most 0.983 in `f32`, over all inputs, and 0.915 in `f64`, over 60,000 that were drawn. Results below the
    /// smallest normal number are zero: the CPU handles each subnormal product by microcode, and a steep bias has thousands in a row.
    /// NaN stays NaN.
    fn exp(x: Self) -> Self;

    /// Returns the hyperbolic tangent. The error is below 3 ulp.
    fn tanh(x: Self) -> Self;
}

/// Evaluates a polynomial, the highest coefficient first.
macro_rules! horner {
    ($x:expr, $first:expr $(, $next:expr)*) => {{
        let sum = $first;
        $(let sum = sum * $x + $next;)*
        sum
    }};
}

impl Real for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;
    const MINUS_INFINITY: f32 = f32::NEG_INFINITY;

    /// Does what Cephes' `expf` does: x = n ln 2 + r, and a polynomial of degree 7 in r.
    #[inline(always)]
    fn exp(x: f32) -> f32 {
        /// Added to a number below 2^22 it rounds to an integer, which is in the last bits.
        const ROUND: f32 = 12_582_912.0;
        /// ln 2^-126, rounded up.
        const LEAST: f32 = -87.336_54;
        let normal = if x < LEAST { LEAST } else { x };
        let shifted = normal * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        // The first product is exact, because ln 2 has two parts.
        let r = normal - n * 0.693_359_4;
        let r = r - n * -2.121_944_4e-4;
        let tail = horner!(
            r,
            1.987_569_1e-4,
            1.398_199_9e-3,
            8.333_452e-3,
            4.166_579_6e-2,
            1.666_666_5e-1,
            0.5
        );
        let value = tail * (r * r) + r + 1.0;
        let n = (shifted.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
        let power = value * f32::from_bits((n.wrapping_add(127) as u32) << 23);
        if x < LEAST { 0.0 } else { power }
    }

    /// Does what Cephes' `tanhf` does.
    #[inline(always)]
    fn tanh(x: f32) -> f32 {
        let size = x.abs();
        let square = x * x;
        let small = horner!(
            square,
            -5.704_988_7e-3,
            2.063_909e-2,
            -5.373_971_5e-2,
            1.333_144_2e-1,
            -3.333_328e-1
        ) * square
            * x
            + x;
        let power = <f32 as Real>::exp(size * -2.0);
        let large = (1.0 - power) / (1.0 + power);
        let large = if x < 0.0 { -large } else { large };
        if size < 0.625 { small } else { large }
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;
    const MINUS_INFINITY: f64 = f64::NEG_INFINITY;

    /// Evaluates x = n ln 2 + r, and the Taylor polynomial of degree 13 in r, which omits less than 2^-57.
    #[inline(always)]
    fn exp(x: f64) -> f64 {
        const ROUND: f64 = 6_755_399_441_055_744.0;
        /// ln 2^-1022, rounded up.
        const LEAST: f64 = -708.396_418_532_264;
        let normal = if x < LEAST { LEAST } else { x };
        let shifted = normal * std::f64::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let r = normal - n * 6.931_457_519_531_25e-1;
        let r = r - n * 1.428_606_820_309_417_3e-6;
        let tail = horner!(
            r,
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5
        );
        let value = tail * (r * r) + r + 1.0;
        let n = (shifted.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64);
        let power = value * f64::from_bits((n.wrapping_add(1023) as u64) << 52);
        if x < LEAST { 0.0 } else { power }
    }

    /// Does what Cephes' `tanh` does.
    #[inline(always)]
    fn tanh(x: f64) -> f64 {
        let size = x.abs();
        let square = x * x;
        let over = horner!(
            square,
            -9.643_991_794_250_523e-1,
            -9.928_772_310_019_185e1,
            -1.614_687_684_417_084_5e3
        );
        let under = horner!(
            square,
            1.0,
            1.128_116_784_916_329_4e2,
            2.235_488_390_601_004_6e3,
            4.844_063_053_251_255e3
        );
        let small = x * (square * (over / under)) + x;
        let power = <f64 as Real>::exp(size * -2.0);
        let large = (1.0 - power) / (1.0 + power);
        let large = if x < 0.0 { -large } else { large };
        if size < 0.625 { small } else { large }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the error of a result in ulp of the true value, which `f64` holds well enough.
    fn ulp(found: f32, wanted: f64) -> f64 {
        let near = wanted.abs().max(f64::from(f32::MIN_POSITIVE)) as f32;
        let unit = f64::from(f32::from_bits(near.to_bits() + 1)) - f64::from(near);
        (f64::from(found) - wanted).abs() / unit
    }

    #[test]
    fn exponentials_of_f64_equal_those_of_mpmath() {
        for (x, wanted) in [
            (0.0, 1.0),
            (-1e-09, 0.999999999),
            (-0.25, 0.7788007830714049),
            (-0.34, 0.7117703227626097),
            (-1.0, 0.36787944117144233),
            (-2.5, 0.0820849986238988),
            (-17.125, 3.6534822137210456e-08),
            (-100.5, 2.256340135917036e-44),
            (-700.0, 9.85967654375977e-305),
            (-708.3, 2.450295530965988e-308),
            (-708.4, 0.0),
            (-800.0, 0.0),
            (f64::NEG_INFINITY, 0.0),
        ] {
            let found = <f64 as Real>::exp(x);
            let close = (found - wanted).abs() <= wanted * 2.7e-16;
            assert!(close, "{x}: {found:e} {wanted:e}");
        }
        assert!(<f64 as Real>::exp(f64::NAN).is_nan() && <f32 as Real>::exp(f32::NAN).is_nan());
    }

    #[test]
    fn exponentials_of_f32_are_within_their_bound() {
        let mut worst = 0.0f64;
        for bits in (0..87.336_54f32.to_bits()).step_by(1531) {
            let x = -f32::from_bits(bits);
            worst = worst.max(ulp(<f32 as Real>::exp(x), <f64 as Real>::exp(f64::from(x))));
        }
        assert!(worst < 1.0, "{worst}");
        assert!(<f32 as Real>::exp(-87.336_54) >= f32::MIN_POSITIVE);
        for x in [-87.336_55, -88.0, -104.0, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(<f32 as Real>::exp(x).to_bits(), 0, "{x}");
        }
        assert!(<f32 as Real>::exp(f32::NAN).is_nan());
        assert_eq!(<f32 as Real>::exp(-0.0), 1.0);
    }

    #[test]
    fn tangents_are_within_their_bound() {
        let mut worst = 0.0f64;
        for bits in (0..20f32.to_bits()).step_by(1531) {
            let x = f32::from_bits(bits);
            let wanted = <f64 as Real>::tanh(f64::from(x));
            // Below it the result is subnormal.
            if x > 1e-30 {
                worst = worst.max(ulp(<f32 as Real>::tanh(x), wanted));
            }
            assert_eq!(<f32 as Real>::tanh(-x), -<f32 as Real>::tanh(x));
        }
        assert!(worst < 3.0, "{worst}");
        for (x, wanted) in [
            (0.1, 0.09966799462495582),
            (0.6, 0.5370495669980353),
            (0.7, 0.6043677771171635),
            (3.0, 0.9950547536867305),
        ] {
            assert!((<f64 as Real>::tanh(x) - wanted).abs() < 3e-16, "{x}");
        }
        assert!(<f32 as Real>::tanh(f32::NAN).is_nan());
        assert_eq!(<f64 as Real>::tanh(f64::NEG_INFINITY), -1.0);
    }
}
