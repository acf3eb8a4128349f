//! Rounding of a ratio of integers.

use crate::round::nearest::{Float, Magnitude, nearest};

/// Bits of the quotient that are computed. The rest is sticky.
const BITS: u32 = 80;

/// Returns the value of `T` nearest to `numerator / denominator`, ties to even. The denominator must
/// be positive and below 2^126.
pub(crate) fn ratio<T: Float>(numerator: i128, denominator: i128) -> T {
    debug_assert!(denominator > 0 && denominator < 1 << 126);
    let (size, divisor) = (numerator.unsigned_abs(), denominator.unsigned_abs());
    let (mut quotient, mut rest) = (size / divisor, size % divisor);
    // The value is (quotient + rest / divisor) / 2^shift.
    let mut shift = 0;
    while rest != 0 && quotient >> BITS == 0 {
        rest *= 2;
        let bit = rest >= divisor;
        rest -= if bit { divisor } else { 0 };
        quotient = quotient << 1 | u128::from(bit);
        shift += 1;
    }
    let magnitude = Magnitude {
        bits: quotient,
        exponent: 128 - shift,
        sticky: rest != 0,
    };
    nearest(numerator < 0, magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn ratios_round_once_to_nearest() {
        for (numerator, denominator) in [(1, 3), (-2, 3), (1, 10), (7, 1), (0, 5), (22, 7)] {
            let exact = numerator as f64 / denominator as f64;
            assert_eq!(ratio::<f64>(numerator, denominator), exact);
            assert_eq!(
                ratio::<f32>(numerator, denominator),
                numerator as f32 / denominator as f32
            );
        }
        // Ties go to even, and what follows a tie decides it.
        let one = 1i128 << 60;
        let tie = one + (one >> 24);
        assert_eq!(ratio::<f32>(tie, one), 1.0);
        assert_eq!(ratio::<f32>(tie + 1, one), 1.0 + f32::EPSILON);
        assert_eq!(ratio::<f32>(3 * tie - 1, 3 * one), 1.0);
        assert_eq!(
            ratio::<f32>(3 * (tie + (one >> 23)), 3 * one),
            1.0 + 2.0 * f32::EPSILON
        );
        // A tie of f16 and bf16 that a rounding to f32 first would not see.
        let above = |bits: i128| (1 << 40) + (1 << (40 - bits)) + 1;
        assert_eq!(
            ratio::<f16>(above(11), 1 << 40),
            f16::from_f32(1.0 + 1.0 / 1024.0)
        );
        assert_eq!(
            ratio::<bf16>(above(8), 1 << 40),
            bf16::from_f32(1.0 + 1.0 / 128.0)
        );
    }

    #[test]
    fn large_terms_do_not_overflow() {
        let large = (1 << 126) - 1;
        assert_eq!(ratio::<f64>(large, large), 1.0);
        assert_eq!(ratio::<f64>(i128::MAX, large), 2.0);
        assert_eq!(ratio::<f64>(1, large), f64::from_bits((1023 - 126) << 52));
        assert_eq!(ratio::<f64>(large, 1), f64::from_bits((1023 + 126) << 52));
    }
}
