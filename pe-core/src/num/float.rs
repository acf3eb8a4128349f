//! Positive binary floating-point numbers with a mantissa of 320 bits.

use std::sync::LazyLock;

use crate::num::fixed::Fixed;

/// Number of words of a [`BigFloat`] mantissa.
pub(crate) const WORDS: usize = 5;

/// `mantissa` x 2^`exponent`, with the mantissa in [1/2, 1), or zero.
///
/// Products are truncated to 320 bits: each loses less than 2^-318 of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BigFloat {
    pub(crate) mantissa: Fixed<WORDS>,
    pub(crate) exponent: i32,
}

/// 1 / (2 pi), with 448 bits after the binary point.
const INV_TWO_PI: [u64; 7] = [
    0x3f87_7ac7_2c4a_69cf,
    0x0192_4bba_8274_6487,
    0x6dc9_1b8e_9093_74b8,
    0x7f94_58ea_f7ae_f158,
    0x36d8_a566_4f10_e410,
    0x7f09_d5f4_7d4d_3770,
    0x28be_60db_9391_054a,
];

/// pi / 4, with 384 bits after the binary point.
pub(crate) const PI_OVER_4: [u64; 6] = [
    0xef95_19b3_cd3a_431b,
    0x514a_0879_8e34_04dd,
    0x020b_bea6_3b13_9b22,
    0x2902_4e08_8a67_cc74,
    0xc4c6_628b_80dc_1cd1,
    0xc90f_daa2_2168_c234,
];

impl BigFloat {
    /// One.
    pub(crate) const ONE: Self = Self {
        mantissa: Fixed([0, 0, 0, 0, 1 << 63]),
        exponent: 1,
    };

    /// Zero, the only value with a mantissa below 1/2.
    pub(crate) const ZERO: Self = Self {
        mantissa: Fixed::ZERO,
        exponent: 0,
    };

    /// Returns whether this is [`BigFloat::ZERO`].
    pub(crate) fn is_zero(self) -> bool {
        self.mantissa == Fixed::ZERO
    }

    /// Converts a finite number of at least 0 exactly.
    pub(crate) fn from_f64(value: f64) -> Self {
        if value == 0.0 {
            return Self::ZERO;
        }
        let (mantissa, exponent) = decompose(value);
        Self {
            mantissa: Fixed([0, 0, 0, 0, mantissa << 11]),
            exponent: exponent + 53,
        }
    }

    /// Returns `fraction` x 2^`exponent` with the mantissa shifted up to its top bit. `fraction`
    /// must not be zero.
    pub(crate) fn normalized<const N: usize>(fraction: Fixed<N>, exponent: i32) -> Self {
        let zeros = fraction.leading_zeros();
        Self {
            mantissa: fraction.shl(zeros).resize(),
            exponent: exponent - zeros as i32,
        }
    }

    /// Returns 1 / (2 pi).
    pub(crate) fn inv_two_pi() -> Self {
        static NORMALIZED: LazyLock<BigFloat> =
            LazyLock::new(|| BigFloat::normalized(Fixed(INV_TWO_PI), 0));
        *NORMALIZED
    }

    /// Returns 2 pi.
    pub(crate) fn two_pi() -> Self {
        Self::normalized(Fixed(PI_OVER_4), 3)
    }

    /// Returns the product.
    #[inline]
    pub(crate) fn mul(self, other: Self) -> Self {
        // Both mantissas are at least 1/2, so at most one bit is missing.
        let product = self.mantissa.mul(other.mantissa);
        let short = product.leading_zeros();
        if short == 64 * WORDS as u32 {
            return Self::ZERO;
        }
        Self {
            mantissa: product.shl(short),
            exponent: self.exponent + other.exponent - short as i32,
        }
    }

    /// Compares two numbers.
    pub(crate) fn cmp_magnitude(&self, other: &Self) -> std::cmp::Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, _) | (_, true) => other.is_zero().cmp(&self.is_zero()),
            _ => self.exponent.cmp(&other.exponent).then_with(|| {
                self.mantissa
                    .0
                    .iter()
                    .rev()
                    .cmp(other.mantissa.0.iter().rev())
            }),
        }
    }

    /// Returns the mantissa as an f64 with an error of at most 2^-52, the starting point of
    /// iterations.
    pub(crate) fn mantissa_f64(self) -> f64 {
        const UNIT_64: f64 = 1.0 / (1u128 << 64) as f64;
        self.mantissa.0[WORDS - 1] as f64 * UNIT_64
    }

    /// Returns whether the number is above 2^`power`.
    pub(crate) fn exceeds_power_of_two(self, power: i32) -> bool {
        self.exponent > power + 1
            || (self.exponent == power + 1 && self.mantissa != Self::ONE.mantissa)
    }
}

/// Splits a positive finite number into `mantissa` x 2^`exponent` with 2^52 <= mantissa < 2^53.
pub(crate) fn decompose(value: f64) -> (u64, i32) {
    const HIDDEN: u64 = 1 << 52;
    let bits = value.to_bits();
    let field = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & (HIDDEN - 1);
    if field == 0 {
        let up = fraction.leading_zeros() - 11;
        (fraction << up, -1074 - up as i32)
    } else {
        (fraction | HIDDEN, field - 1075)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_with_zero_are_zero() {
        for other in [
            BigFloat::ZERO,
            BigFloat::ONE,
            BigFloat::two_pi(),
            BigFloat::from_f64(1e300),
        ] {
            assert_eq!(BigFloat::ZERO.mul(other), BigFloat::ZERO);
            assert_eq!(other.mul(BigFloat::ZERO), BigFloat::ZERO);
        }
    }
}
