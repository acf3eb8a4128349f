//! Fractions of 128 bits: a logarithm, an exponential, and powers with errors far below 2^-100. They give
//! the frequencies of a new length sooner than [`Real`] numbers do.
//!
//! A fraction `u128` means its bits divided by 2^128. The logarithms and exponentials of a few steps are
//! computed from [`Real`] numbers, each when it is first needed.

use std::sync::OnceLock;

use crate::num::real::Real;

/// Bits after the binary point of [`ln`].
pub(crate) const LN_BITS: u32 = 120;

/// Returns the product of two fractions, rounded down.
#[inline]
pub(crate) fn mul(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let (cross, other) = (a1 * b0, a0 * b1);
    let middle = ((a0 * b0) >> 64) + (cross & LOW) + (other & LOW);
    a1 * b1 + (cross >> 64) + (other >> 64) + (middle >> 64)
}

/// Returns the product of two fractions, at most two units below it, without the product of the low halves.
#[inline]
pub(crate) fn mul_nearly(a: u128, b: u128) -> u128 {
    const LOW: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let (cross, other) = (a1 * b0, a0 * b1);
    let middle = (cross & LOW) + (other & LOW);
    a1 * b1 + (cross >> 64) + (other >> 64) + (middle >> 64)
}

/// Returns `numerator` / `denominator`, which must be below 1, as a fraction, rounded down.
pub(crate) const fn ratio(numerator: u64, denominator: u64) -> u128 {
    // Two digits of 64 bits.
    let first = ((numerator as u128) << 64) / denominator as u128;
    let rest = ((numerator as u128) << 64) - first * denominator as u128;
    (first << 64) | ((rest << 64) / denominator as u128)
}

/// 1/2, 1/3, ...: more terms than `ln` needs for 2^-128.
const INVERSES: [u128; 22] = {
    let mut out = [0; 22];
    let mut n = 0;
    while n < 22 {
        out[n] = ratio(1, n as u64 + 2);
        n += 1;
    }
    out
};

/// 1/2!, 1/3!, ... 1/15!.
const FACTORIALS: [u128; 14] = {
    let mut out = [0; 14];
    let (mut n, mut product) = (0, 1);
    while n < 14 {
        product *= n as u64 + 2;
        out[n] = ratio(1, product);
        n += 1;
    }
    out
};

/// Returns the sum of `coefficients[n] x^n`, for sums below 1. Even and odd terms are summed next to each
/// other.
#[inline]
fn series(x: u128, coefficients: &[u128]) -> u128 {
    let square = mul(x, x);
    let mut sums = [0; 2];
    for pair in coefficients.chunks_exact(2).rev() {
        for (sum, coefficient) in sums.iter_mut().zip(pair) {
            *sum = mul(*sum, square) + coefficient;
        }
    }
    sums[0] + mul(sums[1], x)
}

/// Returns the bits of a number times 2^`bits`, rounded down. It must be below 2^(128 - `bits`).
pub(crate) fn fixed(number: Real, bits: u32) -> u128 {
    let shift = -(number.size.exponent + bits as i32 - 128);
    match number
        .size
        .mantissa
        .top128()
        .checked_shr(shift.max(0) as u32)
    {
        Some(fixed) if shift >= 0 => fixed,
        _ => 0,
    }
}

/// Returns the natural logarithm of `m` 2^`exponent`, where `m` is a fraction of at least 1/2, times 2^[`LN_BITS`], with an
/// error below 2^7 units. The number must be at least 1 and below 2^100.
pub(crate) fn ln(m: u128, exponent: u32) -> u128 {
    // number = m 2^e with m in [i, i + 1) / 128, and ln m = ln((i + 1) / 128) + ln(1 - t), where
    // t = 1 - m / ((i + 1) / 128) is at most 1/65. The steps are 64 / (i + 1) and -ln((i + 1) / 128).
    // Not arrays: their 3 and 32 KiB would be in every program.
    static STEPS: OnceLock<Vec<OnceLock<(u128, u128)>>> = OnceLock::new();
    static LN_2: OnceLock<u128> = OnceLock::new();
    let i = (m >> 121) as usize;
    let steps = STEPS.get_or_init(|| vec![OnceLock::new(); 64]);
    let (inverse, step) = steps[i - 64].get_or_init(|| {
        let over = i as u64 + 1;
        let step = match over {
            128 => 0,
            _ => fixed(-(Real::from(over) / Real::from(128)).ln(), 128),
        };
        (ratio(64, over), step)
    });
    let half = mul(m, *inverse);
    let t = ((1 << 127) - half) << 1;
    // -ln(1 - t) = t + t^2 (1/2 + t / 3 + ...).
    let below = t + mul(mul(t, t), series(t, &INVERSES));
    let ln_2 = LN_2.get_or_init(|| fixed(Real::from(2).ln(), LN_BITS));
    ln_2 * u128::from(exponent) - (step >> (128 - LN_BITS)) - (below >> (128 - LN_BITS))
}

/// Returns e^-y as a fraction with an error below 2^5 units beyond that of its argument, `y` times 2^[`LN_BITS`]. It must be
/// above 0 and below 8.
pub(crate) fn exp_of_negative(y: u128) -> u128 {
    static STEPS: OnceLock<Vec<OnceLock<u128>>> = OnceLock::new();
    let step = (y >> (LN_BITS - 7)) as usize;
    // At most 1/128.
    let s = (y << (128 - LN_BITS)) & ((1 << 121) - 1);
    // 1 - e^-s = s - s^2 / 2! + s^3 / 3! ...
    let square = mul(s, s);
    let (mut even, mut odd) = (0, 0);
    for pair in FACTORIALS.chunks_exact(2).rev() {
        even = mul(even, square) + pair[0];
        odd = mul(odd, square) + pair[1];
    }
    let below = s - mul(square, even) + mul(mul(square, s), odd);
    if step == 0 {
        return below.wrapping_neg();
    }
    let steps = STEPS.get_or_init(|| vec![OnceLock::new(); 1024]);
    let table = steps[step].get_or_init(|| {
        let power = (-(Real::from(step as u64) / Real::from(128))).exp();
        fixed(power.unwrap_or_else(Real::one), 128)
    });
    table - mul(*table, below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: u128, wanted: u128, units: u128, about: &str) {
        let off = found.abs_diff(wanted);
        assert!(off < units, "{about}: {found:#x} {wanted:#x}, off by {off}");
    }

    #[test]
    fn products_are_the_high_half() {
        for (a, b, product) in [
            (0, u128::MAX, 0),
            (u128::MAX, u128::MAX, u128::MAX - 1),
            (1 << 127, 1 << 127, 1 << 126),
            (u128::MAX, 1 << 64, (1 << 64) - 1),
            (3 << 100, 5 << 90, 15 << 62),
        ] {
            assert_eq!((mul(a, b), mul(b, a)), (product, product), "{a:#x} {b:#x}");
        }
        for a in [
            1,
            u128::MAX,
            1 << 127,
            (1 << 64) - 1,
            0x1234_5678_9abc_def0 << 60,
        ] {
            for b in [1, u128::MAX, (1 << 64) + 1, (1 << 64) - 1, u128::MAX / 3] {
                let below = mul(a, b) - mul_nearly(a, b);
                assert!(below < 2, "{a:#x} {b:#x}: {below}");
            }
        }
        assert_eq!(ratio(1, 3), u128::MAX / 3);
        assert_eq!(ratio(u64::MAX - 1, u64::MAX), u128::MAX - (1 << 64) - 1);
        assert_eq!(ratio(64, 128), 1 << 127);
    }

    #[test]
    fn logarithms_are_those_of_wide_numbers() {
        let of = |number: Real| {
            ln(
                number.size.mantissa.top128(),
                number.size.exponent.unsigned_abs(),
            )
        };
        let mut x = 1.0f64;
        while x < 1e30 {
            for x in [x, x.next_down().max(1.0), x.next_up(), x * 1.37] {
                let number = Real::from(x);
                near(
                    of(number),
                    fixed(number.ln(), LN_BITS),
                    1 << 7,
                    &format!("ln {x}"),
                );
            }
            x *= 1.0625;
        }
        assert_eq!(of(Real::one()) >> 7, 0);
    }

    #[test]
    fn exponentials_are_those_of_wide_numbers() {
        for index in 1..4000u64 {
            let y = Real::from(index * index) / Real::from(2_100_000);
            let wanted = (-y).exp().unwrap();
            // The argument is rounded down by up to 2^8 units of the result.
            near(
                exp_of_negative(fixed(y, LN_BITS)),
                fixed(wanted, 128),
                1 << 9,
                &format!("{index}"),
            );
        }
    }
}
