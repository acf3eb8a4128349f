//! The rounding test (Ziv): a value known to within a bound passes if everything within the bound
//! rounds to the same float. An entry that fails is a hard case.

use crate::round::nearest::{Float, Magnitude, nearest};

/// Bound on the error of plain f64 values: 2^-50.
///
/// With u = 2^-53, for an entry computed by recurrence: each of the four factors has a relative
/// error of u, each product another u, together 3u (|sA cB| + |cA sB|) <= 3u. Adding the bound to
/// one product, adding the other product, and subtracting the bound twice add an error of u each:
/// 6u < 2^-50.4 (less with fused operations). The seeds' own errors of 2^-62 are negligible in
/// comparison. For single rows see [`single_f64`](crate::sincos::single_f64).
pub(crate) const SINGLE_ERROR: f64 = 1.0 / (1u64 << 50) as f64;

/// Returns the `T` nearest to all numbers within `error` of `value`, if they share one.
///
/// `f64` results need more than f64 arithmetic and never pass here.
#[inline]
pub(crate) fn decided_f64<T: Float>(value: f64, error: f64) -> Option<T> {
    if !T::SINGLE {
        return None;
    }
    let low = T::rounded(value - error);
    (low.pattern() == T::rounded(value + error).pattern()).then_some(low)
}

/// Returns the value of `T` nearest to all numbers within `error` units of `bits` / 2^128, times
/// 2^`exponent`, or `None` if they do not all round alike.
#[inline]
pub(crate) fn decided<T: Float>(
    negative: bool,
    bits: u128,
    error: u128,
    exponent: i32,
) -> Option<T> {
    let low = bits.checked_sub(error)?;
    let of = |bits| {
        nearest::<T>(
            negative,
            Magnitude {
                bits,
                exponent,
                sticky: false,
            },
        )
    };
    let low = of(low);
    (low.pattern() == of(bits.saturating_add(error)).pattern()).then_some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_need_both_ends_to_agree() {
        let half = 1u128 << 127;
        // 0.5 + 2^-25 is halfway between two neighbors.
        assert_eq!(decided::<f32>(false, half + (1 << 103), 1, 0), None);
        assert_eq!(decided::<f32>(false, half, 1, 0), Some(0.5));
        assert_eq!(
            decided::<f32>(false, half + (1 << 100), 1 << 99, 0),
            Some(0.5)
        );
        assert_eq!(decided::<f32>(false, 5, 6, 0), None);
        assert_eq!(decided::<f32>(true, u128::MAX, 1 << 100, 1), Some(-2.0));
    }
}
