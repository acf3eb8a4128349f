//! Unsigned binary fractions of a fixed number of 64-bit words.
//!
//! `Fixed<N>` holds a number in [0, 1) as `N` words, least significant first: the integer that the
//! words form, divided by 2^(64 N). Multiplication and division drop everything below the last
//! word. Each has an error of less than one ulp, always toward zero, and the same on every machine.
//! `N = 2` serves the 128-bit rung, `N = 5` frequencies and the 320-bit rung, `N = 7` the logarithm
//! and the exponential. Other lengths are intermediate results.

/// A number in [0, 1), `N` words of 64 bits, least significant word first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fixed<const N: usize>(pub(crate) [u64; N]);

impl<const N: usize> Fixed<N> {
    /// Zero.
    pub(crate) const ZERO: Self = Self([0; N]);

    /// The largest value, one ulp below one. It represents one, which the format cannot hold.
    pub(crate) const ALMOST_ONE: Self = Self([u64::MAX; N]);

    /// Returns the high words of a longer constant.
    pub(crate) const fn high_words_of<const M: usize>(long: &[u64; M]) -> Self {
        assert!(N <= M, "a constant must be at least as long as its use");
        let mut out = [0; N];
        let mut i = 0;
        while i < N {
            out[i] = long[M - N + i];
            i += 1;
        }
        Self(out)
    }

    /// Returns the product, rounded down.
    #[inline]
    pub(crate) fn mul(self, other: Self) -> Self {
        // Computed column by column. Only the high half is kept.
        let mut out = [0u64; N];
        let mut low: u128 = 0;
        let mut high: u128 = 0;
        for column in 0..2 * N - 1 {
            let first = column.saturating_sub(N - 1);
            for i in first..=column.min(N - 1) {
                let term = u128::from(self.0[i]) * u128::from(other.0[column - i]);
                let (sum, carry) = low.overflowing_add(term);
                low = sum;
                high += u128::from(carry);
            }
            if column >= N {
                out[column - N] = low as u64;
            }
            low = (low >> 64) | (high << 64);
            high = 0;
        }
        out[N - 1] = low as u64;
        Self(out)
    }

    /// Returns the product with an integer: the fraction words and the integer word.
    #[inline]
    pub(crate) const fn mul_word(self, factor: u64) -> (Self, u64) {
        let mut out = [0; N];
        let mut carry: u64 = 0;
        let mut i = 0;
        while i < N {
            let wide = self.0[i] as u128 * factor as u128 + carry as u128;
            out[i] = wide as u64;
            carry = (wide >> 64) as u64;
            i += 1;
        }
        (Self(out), carry)
    }

    /// Returns the quotient by an integer, rounded down. The divisor must not be 0.
    #[inline]
    pub(crate) const fn div_word(self, divisor: u64) -> Self {
        self.div_word_with(0, divisor).0
    }

    /// Returns (`integer` + self) / `divisor`: the fraction words and the integer word.
    pub(crate) const fn div_word_with(self, integer: u64, divisor: u64) -> (Self, u64) {
        let mut out = [0; N];
        let whole = integer / divisor;
        let mut rest = integer % divisor;
        let mut i = N;
        while i > 0 {
            i -= 1;
            let wide = ((rest as u128) << 64) | self.0[i] as u128;
            out[i] = (wide / divisor as u128) as u64;
            rest = (wide % divisor as u128) as u64;
        }
        (Self(out), whole)
    }

    /// Computes [`Fixed::div_word_with`] bit by bit, for divisors of up to 127 bits.
    pub(crate) fn div_wide_with(self, integer: u64, divisor: u128) -> (Self, u64) {
        let mut rest: u128 = 0;
        let mut divide = |word: u64| {
            let mut quotient = 0;
            for bit in (0..64).rev() {
                rest = rest << 1 | u128::from(word >> bit & 1);
                quotient <<= 1;
                if rest >= divisor {
                    rest -= divisor;
                    quotient |= 1;
                }
            }
            quotient
        };
        let whole = divide(integer);
        let mut out = self;
        for word in out.0.iter_mut().rev() {
            *word = divide(*word);
        }
        (out, whole)
    }

    /// Returns the sum modulo one and whether it reached one.
    #[inline]
    pub(crate) const fn add(self, other: Self) -> (Self, bool) {
        let mut out = [0; N];
        let mut carry = false;
        let mut i = 0;
        while i < N {
            let (sum, c1) = self.0[i].overflowing_add(other.0[i]);
            let (sum, c2) = sum.overflowing_add(carry as u64);
            out[i] = sum;
            carry = c1 || c2;
            i += 1;
        }
        (Self(out), carry)
    }

    /// Returns the difference modulo one and whether it fell below zero.
    #[inline]
    pub(crate) const fn sub(self, other: Self) -> (Self, bool) {
        let mut out = [0; N];
        let mut borrow = false;
        let mut i = 0;
        while i < N {
            let (diff, b1) = self.0[i].overflowing_sub(other.0[i]);
            let (diff, b2) = diff.overflowing_sub(borrow as u64);
            out[i] = diff;
            borrow = b1 || b2;
            i += 1;
        }
        (Self(out), borrow)
    }

    /// Multiplies by 2^`bits`, modulo one.
    #[inline]
    pub(crate) fn shl(self, bits: u32) -> Self {
        let words = (bits / 64) as usize;
        let bits = bits % 64;
        let mut out = [0; N];
        for i in (words..N).rev() {
            let mut word = self.0[i - words] << bits;
            if bits > 0 && i > words {
                word |= self.0[i - words - 1] >> (64 - bits);
            }
            out[i] = word;
        }
        Self(out)
    }

    /// Divides by 2^`bits`, rounded down.
    #[inline]
    pub(crate) fn shr(self, bits: u32) -> Self {
        let words = (bits / 64) as usize;
        let bits = bits % 64;
        let mut out = [0; N];
        for i in words..N {
            let mut word = self.0[i] >> bits;
            if bits > 0 && i + 1 < N {
                word |= self.0[i + 1] << (64 - bits);
            }
            out[i - words] = word;
        }
        Self(out)
    }

    /// Counts the leading zero bits; 64 N for zero.
    #[inline]
    pub(crate) fn leading_zeros(self) -> u32 {
        let mut zeros = 0;
        for word in self.0.iter().rev() {
            zeros += word.leading_zeros();
            if *word != 0 {
                break;
            }
        }
        zeros
    }

    /// Returns the number with fewer words (rounded down) or more.
    #[inline]
    pub(crate) fn resize<const M: usize>(self) -> Fixed<M> {
        let mut out = [0; M];
        let keep = N.min(M);
        out[M - keep..].copy_from_slice(&self.0[N - keep..]);
        Fixed(out)
    }

    /// Returns the 128 most significant bits.
    #[inline]
    pub(crate) fn top128(self) -> u128 {
        let wide = self.resize::<2>();
        u128::from(wide.0[0]) | (u128::from(wide.0[1]) << 64)
    }
}

impl Fixed<2> {
    /// Returns the fraction with the 128 bits given.
    #[inline]
    pub(crate) const fn from_bits(bits: u128) -> Self {
        Self([bits as u64, (bits >> 64) as u64])
    }
}

#[cfg(test)]
mod tests {
    use super::Fixed;

    fn bits(value: u128) -> Fixed<2> {
        Fixed::from_bits(value)
    }

    #[test]
    fn products_of_two_words_are_the_high_half() {
        // Halves and quarters are exact. The largest value squared loses two units.
        let half = bits(1 << 127);
        assert_eq!(half.mul(half).top128(), 1 << 126);
        assert_eq!(bits(u128::MAX).mul(bits(u128::MAX)).top128(), u128::MAX - 1);
        // (2^64 + 3)(2^64 + 5) = 2^128 + 8 x 2^64 + 15.
        assert_eq!(bits((1 << 64) + 3).mul(bits((1 << 64) + 5)).top128(), 1);
        assert_eq!(bits(1).mul(bits(u128::MAX)).top128(), 0);
    }

    #[test]
    fn long_products_agree_with_repeated_word_products() {
        let a = Fixed([0x0123_4567_89ab_cdef, u64::MAX, 7, 0, 0xfedc_ba98_7654_3210]);
        for word in [1u64, 3, u64::MAX, 1 << 63] {
            // word / 2^64 as a fraction of five words.
            let factor = Fixed([0, 0, 0, 0, word]);
            let (low, high) = a.mul_word(word);
            let mut expected = low.shr(64);
            expected.0[4] = high;
            assert_eq!(a.mul(factor), expected);
            assert_eq!(factor.mul(a), expected);
        }
    }

    #[test]
    fn division_undoes_multiplication() {
        let a = Fixed([5, 0xdead_beef, u64::MAX, 0, 1 << 62]);
        for word in [1u64, 2, 3, 10, 1 << 40, u64::MAX] {
            let (product, integer) = a.mul_word(word);
            assert_eq!(product.div_word_with(integer, word), (a, 0));
            assert_eq!(product.div_wide_with(integer, u128::from(word)), (a, 0));
        }
        let divisor = (1u128 << 126) + 12345;
        let (quotient, integer) = a.div_wide_with(0, divisor);
        // a / (2^126 + 12345) has its first word 126 bits further down.
        assert_eq!(integer, 0);
        assert_eq!(quotient.leading_zeros(), 1 + 127);
    }

    #[test]
    fn sums_and_differences_carry_through_all_words() {
        let one_unit = Fixed([1, 0, 0, 0, 0]);
        assert_eq!(Fixed::ALMOST_ONE.add(one_unit), (Fixed::ZERO, true));
        assert_eq!(Fixed::ZERO.sub(one_unit), (Fixed::ALMOST_ONE, true));
        let a = Fixed([u64::MAX, u64::MAX, 3, 0, 9]);
        assert_eq!(a.add(one_unit), (Fixed([0, 0, 4, 0, 9]), false));
        assert_eq!(a.add(one_unit).0.sub(one_unit), (a, false));
        assert_eq!(a.sub(a), (Fixed::ZERO, false));
    }

    #[test]
    fn shifts_move_bits_across_words() {
        let a = Fixed([0x8000_0000_0000_0001, 0, 0xf, 0, 1]);
        for bits in [0, 1, 7, 63, 64, 65, 128, 191, 319] {
            let there = a.shr(bits);
            for bit in 0..320u32 {
                let at = |x: Fixed<5>, bit: u32| x.0[(bit / 64) as usize] >> (bit % 64) & 1;
                let expected = if bit + bits < 320 {
                    at(a, bit + bits)
                } else {
                    0
                };
                assert_eq!(at(there, bit), expected, "{bits} right, bit {bit}");
                let left = a.shl(bits);
                let expected = if bit >= bits { at(a, bit - bits) } else { 0 };
                assert_eq!(at(left, bit), expected, "{bits} left, bit {bit}");
            }
        }
        assert_eq!((a.shr(320), a.shl(320)), (Fixed::ZERO, Fixed::ZERO));
        assert_eq!(a.leading_zeros(), 63);
        assert_eq!(Fixed::<5>::ZERO.leading_zeros(), 320);
    }

    #[test]
    fn resizing_keeps_the_leading_words() {
        let a = Fixed([1, 2, 3]);
        assert_eq!(a.resize::<2>(), Fixed([2, 3]));
        assert_eq!(a.resize::<4>(), Fixed([0, 1, 2, 3]));
        assert_eq!(a.top128(), 2 | 3 << 64);
    }
}
