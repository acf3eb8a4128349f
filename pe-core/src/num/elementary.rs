//! Logarithm with 448 bits after the binary point, and exponential with a relative error below
//! 2^-310.
//!
//! They are used a handful of times per specification, never per entry.

use crate::num::fixed::Fixed;
use crate::num::float::{BigFloat, decompose};

/// Words after the binary point in a [`FixedPoint`].
const WORDS: usize = 7;

/// ln 2, with 448 bits after the binary point.
const LN_2: Fixed<WORDS> = Fixed([
    0xed2e_ae35_c138_2144,
    0x5595_52fb_4afa_1b10,
    0xe7b8_7620_6deb_ac98,
    0x8a0d_175b_8baa_fa2b,
    0x40f3_4326_7298_b62d,
    0xc9e3_b398_03f2_f6af,
    0xb172_17f7_d1cf_79ab,
]);

/// A signed number with 64 bits before the binary point and 448 bits after it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedPoint {
    pub(crate) negative: bool,
    pub(crate) integer: u64,
    pub(crate) fraction: Fixed<WORDS>,
}

impl FixedPoint {
    fn is_smaller_in_magnitude_than(&self, other: &Self) -> bool {
        self.integer < other.integer
            || (self.integer == other.integer && self.fraction.sub(other.fraction).1)
    }

    /// Returns the sum. Neither integer part may come near 2^63.
    fn plus(self, other: Self) -> Self {
        if self.negative == other.negative {
            let (fraction, carry) = self.fraction.add(other.fraction);
            return Self {
                negative: self.negative,
                integer: self.integer + other.integer + u64::from(carry),
                fraction,
            };
        }
        let (big, small) = if self.is_smaller_in_magnitude_than(&other) {
            (other, self)
        } else {
            (self, other)
        };
        let (fraction, borrow) = big.fraction.sub(small.fraction);
        Self {
            negative: big.negative,
            integer: big.integer - small.integer - u64::from(borrow),
            fraction,
        }
    }

    /// Multiplies by `numerator` / (`denominator` x 2^`shift`).
    ///
    /// Returns `None` if the result would reach 2^20 in magnitude, which no frequency does. The
    /// denominator must be below 2^127.
    pub(crate) fn scaled(self, numerator: u64, denominator: u128, shift: i32) -> Option<Self> {
        if denominator == 0 {
            return None;
        }
        let (fraction, carry) = self.fraction.mul_word(numerator);
        let integer = self.integer.checked_mul(numerator)?.checked_add(carry)?;
        let (fraction, integer) = match u64::try_from(denominator) {
            Ok(word) => fraction.div_word_with(integer, word),
            Err(_) => fraction.div_wide_with(integer, denominator),
        };
        // One more word in front lets one shift move the integer and the fraction together.
        let mut words = [0; WORDS + 1];
        words[..WORDS].copy_from_slice(&fraction.0);
        words[WORDS] = integer;
        let all = Fixed(words);
        let all = if shift >= 0 {
            all.shr(shift.unsigned_abs().min(64 * (WORDS as u32 + 1)))
        } else if shift.unsigned_abs() > all.leading_zeros() {
            return None;
        } else {
            all.shl(shift.unsigned_abs())
        };
        let integer = all.0[WORDS];
        if integer >= 1 << 20 {
            return None;
        }
        let mut fraction = Fixed::ZERO;
        fraction.0.copy_from_slice(&all.0[..WORDS]);
        Some(Self {
            negative: self.negative,
            integer,
            fraction,
        })
    }

    pub(crate) fn negated(self) -> Self {
        Self {
            negative: !self.negative,
            ..self
        }
    }

    /// Returns the natural logarithm of a positive finite number.
    pub(crate) fn ln(value: f64) -> Self {
        let (mantissa, exponent) = decompose(value);
        // value = mantissa x 2^exponent with mantissa in [2^52, 2^53). The series below is shortest
        // for m x 2^e with m in [1/sqrt 2, sqrt 2).
        let above_sqrt_2 = mantissa > 6_369_051_672_525_772;
        let one: u64 = if above_sqrt_2 { 1 << 53 } else { 1 << 52 };
        let power = exponent + if above_sqrt_2 { 53 } else { 52 };
        // ln m = 2 artanh z with z = (m - 1) / (m + 1).
        let z = quotient(mantissa.abs_diff(one), mantissa + one);
        let square = z.mul(z);
        let mut power_of_z = z;
        let mut sum = z;
        let mut odd = 3;
        loop {
            power_of_z = power_of_z.mul(square);
            let term = power_of_z.div_word(odd);
            if term == Fixed::ZERO {
                break;
            }
            sum = sum.add(term).0;
            odd += 2;
        }
        let (fraction, integer) = sum.mul_word(2);
        let of_mantissa = Self {
            negative: mantissa < one,
            integer,
            fraction,
        };
        let (fraction, integer) = LN_2.mul_word(u64::from(power.unsigned_abs()));
        let of_power = Self {
            negative: power < 0,
            integer,
            fraction,
        };
        of_power.plus(of_mantissa)
    }

    /// Returns e to this power, with a relative error below 2^-310.
    ///
    /// The number must be below 2^20 in magnitude, as [`FixedPoint::scaled`] ensures.
    pub(crate) fn exp(self) -> BigFloat {
        // Split off powers of two so that e^self = 2^k e^-z, with 0 <= z < ln 2 or slightly beyond,
        // which is harmless.
        let top = (self.fraction.0[WORDS - 1] >> 11) as f64 / (1u64 << 53) as f64;
        let size = self.integer as f64 + top;
        let halvings = (size * std::f64::consts::LOG2_E) as u64;
        let whole = |k: u64| {
            let (fraction, integer) = LN_2.mul_word(k);
            Self {
                negative: false,
                integer,
                fraction,
            }
        };
        let (k, z) = if self.negative {
            (
                -(halvings as i32),
                self.negated().plus(whole(halvings).negated()),
            )
        } else {
            (
                halvings as i32 + 1,
                whole(halvings + 1).plus(self.negated()),
            )
        };
        // Rounding in the estimate can leave a z of about -2^-30.
        let (k, z) = if z.negative {
            (k + 1, z.plus(whole(1)))
        } else {
            (k, z)
        };
        // Compute e^-z from 2^-16 of the argument, followed by 16 squarings. Six words suffice: each
        // squaring doubles the relative error, to 2^-360 in the end.
        const SQUARINGS: u32 = 16;
        let small = z.fraction.shr(SQUARINGS).resize();
        let mut value = INVERSE_FACTORIALS[TERMS - 1];
        for coefficient in INVERSE_FACTORIALS[..TERMS - 1].iter().rev() {
            value = coefficient.sub(small.mul(value)).0;
        }
        for _ in 0..SQUARINGS {
            value = value.mul(value);
        }
        BigFloat::normalized(value, k)
    }
}

/// Terms of the exponential series: the first omitted one is 2^-16 to the power 20 over 20!, 2^-391 with
/// ln 2 to that power.
const TERMS: usize = 20;

/// 1/0!, 1/1!, 1/2! ... One itself is one unit short.
const INVERSE_FACTORIALS: [Fixed<6>; TERMS] = {
    let mut out = [Fixed::ALMOST_ONE; TERMS];
    let mut n = 1;
    while n < TERMS {
        out[n] = out[n - 1].div_word(n as u64);
        n += 1;
    }
    out
};

/// Returns `numerator` / `denominator` for a numerator below the denominator.
fn quotient(numerator: u64, denominator: u64) -> Fixed<WORDS> {
    let mut words = [0; WORDS + 1];
    words[WORDS] = numerator;
    let quotient = Fixed(words).div_word(denominator);
    let mut out = Fixed::ZERO;
    out.0.copy_from_slice(&quotient.0[..WORDS]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: exponent and the four high words of the mantissa, from mpmath at 600 bits.
    fn assert_wide(found: BigFloat, exponent: i32, words: [u64; 4]) {
        assert_eq!(found.exponent, exponent);
        assert_eq!(found.mantissa.0[1..], words, "{:x?}", found.mantissa);
    }

    fn real(value: f64) -> FixedPoint {
        let one = FixedPoint {
            negative: value < 0.0,
            integer: 1,
            fraction: Fixed::ZERO,
        };
        let (mantissa, exponent) = decompose(value.abs());
        one.scaled(mantissa, 1 << 52, -(exponent + 52)).unwrap()
    }

    #[test]
    fn exponentials_of_both_signs() {
        let words = [
            0xa9e1_3641_1464_33fb,
            0xd8b9_c583_ce2d_3695,
            0xafdc_5620_273d_3cf1,
            0xadf8_5458_a2bb_4a9a,
        ];
        assert_wide(real(1.0).exp(), 2, words);
        let words = [
            0xce4a_e958_6101_4318,
            0xe347_bf8a_d0e8_0abb,
            0xd675_a355_30cd_d767,
            0x9b45_97e3_7cb0_4ff3,
        ];
        assert_wide(real(-0.5).exp(), 0, words);
        let words = [
            0x3dcd_cbab_1b47_f7d2,
            0x51e3_aec4_0223_45c5,
            0x927a_373c_a2df_5c38,
            0x9e21_0cf2_0c4a_a079,
        ];
        assert_wide(real(-1000.0).exp(), -1442, words);
        let words = [
            0x9047_4e2f_d1c3_e4de,
            0x1c3b_18ff_940f_4aa6,
            0x6fb3_7105_ae96_9f0a,
            0x97ec_7265_fd20_9a59,
        ];
        assert_wide(real(700.25).exp(), 1011, words);
    }

    /// Returns `count` / 64.
    fn sixty_fourths(count: i64) -> FixedPoint {
        let mut fraction = Fixed::ZERO;
        fraction.0[WORDS - 1] = (count.unsigned_abs() % 64) << 58;
        FixedPoint {
            negative: count < 0,
            integer: count.unsigned_abs() / 64,
            fraction,
        }
    }

    #[test]
    fn sums_of_both_signs() {
        for a in [-1000, -130, -64, -1, 1, 63, 64, 200, 6399] {
            for b in [-6400, -200, -65, -3, 2, 63, 100, 1001] {
                let (found, wanted) = (
                    sixty_fourths(a).plus(sixty_fourths(b)),
                    sixty_fourths(a + b),
                );
                assert_eq!(
                    (found.negative, found.integer, found.fraction),
                    (wanted.negative, wanted.integer, wanted.fraction),
                    "{a} + {b}"
                );
            }
        }
    }

    /// The f64 estimate of the number of halvings is off by one next to multiples of ln 2.
    #[test]
    fn exponentials_next_to_powers_of_two() {
        let ln_2 = std::f64::consts::LN_2;
        for n in (1..3000).step_by(7) {
            let near = n as f64 * ln_2;
            for value in [near.next_down(), near, near.next_up()] {
                for (value, n) in [(value, n), (-value, -n)] {
                    // value - n ln 2, with the part of ln 2 that its f64 lacks.
                    let rest = value - n as f64 * ln_2 - n as f64 * 2.3190468138462996e-17;
                    let found = real(value).exp();
                    let ratio = crate::round::to_f64(BigFloat {
                        exponent: 0,
                        ..found
                    });
                    let power = found.exponent - n;
                    assert!(power == 0 || power == 1, "{value}: {power}");
                    let found = if power == 1 { ratio * 2.0 } else { ratio };
                    assert!((found - 1.0 - rest).abs() < 1e-12, "{value}: {found}");
                }
            }
        }
    }

    #[test]
    fn powers_by_way_of_the_logarithm() {
        let power = |base: f64, numerator, denominator| {
            let ln = FixedPoint::ln(base);
            let ln = if numerator < 0 { ln.negated() } else { ln };
            ln.scaled(i64::unsigned_abs(numerator), denominator, 0)
                .unwrap()
                .exp()
        };
        let words = [
            0x35d9_0742_f566_bae3,
            0x5e67_78ea_0b3f_4efc,
            0x2691_ae3a_d5d1_0dd9,
            0xf6f4_105d_3998_7d2d,
        ];
        assert_wide(power(10000.0, -1, 256), 0, words);
        let words = [
            0x7b99_672e_7317_055f,
            0x5119_9ea7_703a_af2a,
            0x0678_2df1_414b_cfc8,
            0x858a_a794_af25_02a2,
        ];
        assert_wide(power(12345.678, 2, 3), 10, words);
        // 2/3 in binary, correct to the last bit except for truncation.
        assert_wide(power(1.5, -1, 1), 0, [0xaaaa_aaaa_aaaa_aaaa; 4]);
        // 1 and integer powers of two, from just below.
        for (base, numerator, exponent) in [(1.0, 5, 1), (2.0, -10, -9), (0.25, -3, 7)] {
            let found = power(base, numerator, 1);
            let close = found.mantissa.0 == [0, 0, 0, 0, 1 << 63] && found.exponent == exponent;
            let just_below =
                found.mantissa.0[1..] == [u64::MAX; 4] && found.exponent == exponent - 1;
            assert!(close || just_below, "{base}: {found:x?}");
        }
    }

    #[test]
    fn logarithms_of_extreme_numbers_come_back() {
        for value in [
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            1.0 + f64::EPSILON,
            0.9999999,
            1e-40,
        ] {
            let back = crate::round::to_f64(FixedPoint::ln(value).exp());
            assert_eq!(back, value);
        }
    }

    #[test]
    fn scaling_refuses_what_no_frequency_reaches() {
        let ln = FixedPoint::ln(10000.0);
        assert!(ln.scaled(1, 0, 0).is_none());
        assert!(ln.scaled(u64::MAX, 1, 0).is_none());
        assert!(ln.scaled(1, 1, -60).is_none());
        assert!(ln.scaled(1 << 16, 1, 0).is_some());
        // 2^20 and beyond is rejected, whether it fits a word or not.
        let one = sixty_fourths(64);
        assert_eq!(one.scaled(1, 1, -19).map(|it| it.integer), Some(1 << 19));
        for shift in [20, 62, 63, 64, 65, 400] {
            assert!(one.scaled(1, 1, -shift).is_none(), "{shift}");
        }
        // 2^-shift, until nothing is left.
        for shift in [1, 63, 64, 200, 447] {
            let small = one.scaled(1, 1, shift).unwrap();
            let mut fraction = Fixed::<WORDS>::ZERO;
            let bit = 64 * WORDS - shift as usize;
            fraction.0[bit / 64] = 1 << (bit % 64);
            assert_eq!((small.integer, small.fraction), (0, fraction), "{shift}");
        }
        let none = one.scaled(1, 1, 1000).unwrap();
        assert_eq!((none.integer, none.fraction), (0, Fixed::ZERO));
        // BigFloat and narrow divisors agree.
        let wide = ln.scaled(3, 5 << 64, -64).unwrap();
        let narrow = ln.scaled(3, 5, 0).unwrap();
        assert_eq!(wide.integer, narrow.integer);
        assert_eq!(wide.fraction.0[2..], narrow.fraction.0[2..]);
    }

    #[test]
    fn decomposition_is_exact() {
        for value in [1.0, 0.1, 1e300, 5e-324, f64::MIN_POSITIVE, 3e-310] {
            let (mantissa, exponent) = decompose(value);
            assert_eq!(mantissa >> 52, 1);
            // 2^exponent in two factors that do not underflow.
            let two_to = |power: i32| f64::from_bits(((1023 + power) as u64) << 52);
            let first = exponent.max(-1000);
            assert_eq!(
                mantissa as f64 * two_to(first) * two_to(exponent - first),
                value
            );
        }
    }
}
