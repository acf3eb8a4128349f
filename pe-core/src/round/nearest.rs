//! One rounding, to the nearest value of the target type, ties to even.

use half::vec::HalfBitsVecExt;
use half::{bf16, f16};

/// The properties of a type that rounding needs: the part of [`Element`](crate::Element) below all
/// other modules.
#[doc(hidden)]
#[allow(unreachable_pub)]
pub trait Float: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Name of the type: [`Element::NAME`](crate::Element::NAME).
    const TYPE: &'static str;

    /// Significant bits, including the hidden one.
    const PRECISION: u32;

    /// Exponent of the smallest normal number.
    const MIN_EXPONENT: i32;

    /// Whether plain f64 values can pass the rounding test. (For `f64` they cannot.)
    const SINGLE: bool = Self::PRECISION < f64::MANTISSA_DIGITS;

    /// Converts the bit pattern in the low bits.
    fn from_pattern(bits: u64) -> Self;

    /// Returns the bit pattern in the low bits.
    fn pattern(self) -> u64;

    /// Returns the value as `f64`, exactly.
    fn widen(self) -> f64;

    /// Returns the nearest value of this type, ties to even, in one rounding. Values beyond the
    /// range become infinite.
    fn rounded(value: f64) -> Self;

    /// Allocates a vector of zeros. If it is large, its pages are not yet touched.
    fn zeros(len: usize) -> Vec<Self>;
}

macro_rules! float {
    ($type:ty, $name:literal, $bits:ty, $precision:literal, $min_exponent:literal, $from:expr, $zeros:expr) => {
        impl Float for $type {
            const TYPE: &'static str = $name;
            const PRECISION: u32 = $precision;
            const MIN_EXPONENT: i32 = $min_exponent;

            #[inline]
            fn from_pattern(bits: u64) -> Self {
                Self::from_bits(bits as $bits)
            }

            #[inline]
            fn pattern(self) -> u64 {
                u64::from(self.to_bits())
            }

            #[inline]
            fn widen(self) -> f64 {
                f64::from(self)
            }

            #[inline]
            fn rounded(value: f64) -> Self {
                $from(value)
            }

            fn zeros(len: usize) -> Vec<Self> {
                $zeros(len)
            }
        }
    };
}

float!(f32, "f32", u32, 24, -126, |value| value as f32, |len| {
    vec![0.0; len]
});
float!(f64, "f64", u64, 53, -1022, |value| value, |len| vec![
    0.0;
    len
]);
// Rounds to an f32 that is odd wherever it is inexact, then to nearest, so that the second rounding
// knows on which side of a midpoint the value was. `half`'s own `from_f64` rounds to f32 first and
// then to nearest again.
float!(
    f16,
    "f16",
    u16,
    11,
    -14,
    |value| f16::from_f32(to_odd_f32(value)),
    |len| vec![0u16; len].reinterpret_into()
);
float!(
    bf16,
    "bf16",
    u16,
    8,
    -126,
    |value| bf16::from_f32(to_odd_f32(value)),
    |len| vec![0u16; len].reinterpret_into()
);

/// Returns the `f32` next to `value` toward zero, with its last bit set if that is inexact.
#[inline]
fn to_odd_f32(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() {
        return nearest;
    }
    let bits = nearest.to_bits();
    let towards_zero = if back.abs() > value.abs() {
        bits - 1
    } else {
        bits
    };
    f32::from_bits(towards_zero | 1)
}

/// A positive number: `bits` / 2^128 x 2^`exponent`, with a flag for nonzero bits dropped below the
/// last one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Magnitude {
    pub(crate) bits: u128,
    pub(crate) exponent: i32,
    pub(crate) sticky: bool,
}

/// Returns the value of `T` nearest to the magnitude with the sign given, ties to even.
///
/// A magnitude beyond the largest finite value of `T` becomes infinite.
#[inline]
pub(crate) fn nearest<T: Float>(negative: bool, magnitude: Magnitude) -> T {
    let width = (std::mem::size_of::<T>() * 8) as u32;
    let sign = u64::from(negative) << (width - 1);
    let zeros = magnitude.bits.leading_zeros();
    if zeros == 128 {
        return T::from_pattern(sign);
    }
    let bits = magnitude.bits << zeros;
    // The value is in [2^power, 2^(power + 1)).
    let power = magnitude.exponent - zeros as i32 - 1;
    let fraction_bits = T::PRECISION - 1;
    let max_field = (1u64 << (width - 1 - fraction_bits)) - 1;
    let (keep, field) = if power >= T::MIN_EXPONENT {
        (T::PRECISION, (power - T::MIN_EXPONENT) as u64 + 1)
    } else {
        let lost = (T::MIN_EXPONENT - power).unsigned_abs();
        (T::PRECISION.saturating_sub(lost), 0)
    };
    if field >= max_field {
        return T::from_pattern(sign | (max_field << fraction_bits));
    }
    if keep == 0 && T::MIN_EXPONENT - power > T::PRECISION as i32 {
        // Less than half of the smallest subnormal number.
        return T::from_pattern(sign);
    }
    let (kept, rest) = if keep == 0 {
        (0, bits)
    } else {
        ((bits >> (128 - keep)) as u64, bits << keep)
    };
    const HALF: u128 = 1 << 127;
    let up = rest > HALF || (rest == HALF && (magnitude.sticky || kept & 1 == 1));
    // The hidden bit adds one to the exponent field, and so does a carry.
    let pattern = (field.saturating_sub(1) << fraction_bits) + kept + u64::from(up);
    T::from_pattern(sign | pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts an `f64` to a magnitude.
    fn magnitude(value: f64) -> Magnitude {
        let (mantissa, exponent) = crate::num::float::decompose(value);
        Magnitude {
            bits: u128::from(mantissa) << 75,
            exponent: exponent + 53,
            sticky: false,
        }
    }

    #[test]
    fn nearest_agrees_with_the_processor_in_f32() {
        let mut bits: u64 = 0x3ff0_0000_0000_0000;
        for _ in 0..200_000 {
            // Exponents from far below the subnormals to overflow.
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let exponent = 1023 - 160 + bits % 300;
            let value = f64::from_bits(exponent << 52 | bits >> 12);
            assert_eq!(
                nearest::<f32>(false, magnitude(value)),
                value as f32,
                "{value:e}"
            );
            assert_eq!(
                nearest::<f32>(true, magnitude(value)),
                -value as f32,
                "{value:e}"
            );
            assert_eq!(nearest::<f64>(false, magnitude(value)), value);
        }
        for value in [f64::MIN_POSITIVE, 5e-324, f64::MAX, 2.5e-320] {
            assert_eq!(nearest::<f64>(true, magnitude(value)), -value);
        }
    }

    /// Tests every midpoint of two neighbors, and the f64 on either side of it.
    fn midpoints<T: Float>(patterns: u64) {
        for pattern in 0..patterns {
            let below = T::from_pattern(pattern);
            let above = T::from_pattern(pattern + 1);
            let middle = (below.widen() + above.widen()) / 2.0;
            let even = if pattern % 2 == 0 { below } else { above };
            let next = |by: i64| f64::from_bits(middle.to_bits().wrapping_add_signed(by));
            for (value, expected) in [(next(-1), below), (middle, even), (next(1), above)] {
                assert_eq!(T::rounded(value), expected, "{pattern:x}");
                assert_eq!(T::rounded(-value).widen(), -expected.widen());
                assert_eq!(
                    nearest::<T>(false, magnitude(value)),
                    expected,
                    "{pattern:x}"
                );
            }
            // Bits below the last one decide a tie.
            let sticky = Magnitude {
                sticky: true,
                ..magnitude(middle)
            };
            assert_eq!(nearest::<T>(false, sticky), above);
        }
    }

    #[test]
    fn f16_rounds_to_nearest_even_at_every_midpoint() {
        midpoints::<f16>(0x7bff);
    }

    #[test]
    fn bf16_rounds_to_nearest_even_at_every_midpoint() {
        midpoints::<bf16>(0x7f7f);
    }

    #[test]
    fn special_values_convert() {
        assert!(f16::rounded(f64::NAN).is_nan() && bf16::rounded(f64::NAN).is_nan());
        assert_eq!(f16::rounded(65520.0), f16::INFINITY);
        assert_eq!(f16::rounded(65519.99), f16::MAX);
        assert_eq!(bf16::rounded(f64::NEG_INFINITY), bf16::NEG_INFINITY);
        assert_eq!(f16::rounded(1e300), f16::INFINITY);
        assert_eq!(f16::rounded(-1e-300).to_bits(), 0x8000);
        assert_eq!(nearest::<f16>(true, magnitude(1e300)), f16::NEG_INFINITY);
        assert_eq!(nearest::<f16>(true, magnitude(1e-300)).to_bits(), 0x8000);
    }
}
