//! Signed real numbers with about 310 bits, for computing frequencies.
//!
//! The scalings of rotary embeddings are short formulas of logarithms, powers, and quotients.
//! Evaluated here, they have an error below 2^-300 of the result (after cancellation, below 2^-300
//! of the terms), so that rounding to f64 once gives the nearest f64. They are used a handful of
//! times per specification, never per entry.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::OnceLock;

use crate::num::elementary::FixedPoint;
use crate::num::fixed::Fixed;
use crate::num::float::{BigFloat, WORDS};

/// A sign and a magnitude.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Real {
    pub(crate) negative: bool,
    pub(crate) size: BigFloat,
}

impl From<BigFloat> for Real {
    fn from(size: BigFloat) -> Self {
        Self {
            negative: false,
            size,
        }
    }
}

/// Converts a finite f64 exactly.
impl From<f64> for Real {
    fn from(value: f64) -> Self {
        Self {
            negative: value < 0.0,
            size: BigFloat::from_f64(value.abs()),
        }
    }
}

/// Converts an integer exactly.
impl From<u64> for Real {
    fn from(value: u64) -> Self {
        let words = Fixed([0, 0, 0, 0, value]);
        Self::from(if value == 0 {
            BigFloat::ZERO
        } else {
            BigFloat::normalized(words, 64)
        })
    }
}

impl From<FixedPoint> for Real {
    fn from(real: FixedPoint) -> Self {
        let mut words = [0; 8];
        words[..7].copy_from_slice(&real.fraction.0);
        words[7] = real.integer;
        let all = Fixed(words);
        let size = if all == Fixed::ZERO {
            BigFloat::ZERO
        } else {
            BigFloat::normalized(all, 64)
        };
        Self {
            negative: real.negative,
            size,
        }
    }
}

impl Real {
    /// Returns one.
    pub(crate) fn one() -> Self {
        Self::from(BigFloat::ONE)
    }

    /// Returns 2 pi.
    pub(crate) fn two_pi() -> Self {
        Self::from(BigFloat::two_pi())
    }

    /// Returns the number if it is not negative, else zero.
    pub(crate) fn at_least_zero(self) -> BigFloat {
        if self.negative {
            BigFloat::ZERO
        } else {
            self.size
        }
    }

    /// Returns the smaller of the two.
    pub(crate) fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// Returns the larger of the two.
    pub(crate) fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// Returns the largest integer that is not above this number, for magnitudes below 2^63.
    pub(crate) fn floor(self) -> Self {
        let exponent = self.size.exponent;
        if self.size.is_zero() || exponent > 63 {
            return self;
        }
        let (whole, rest) = if exponent <= 0 {
            (0, true)
        } else {
            let shift = 64 - exponent.unsigned_abs();
            let top = self.size.mantissa.0[WORDS - 1];
            let below = self.size.mantissa.shl(exponent.unsigned_abs());
            (top >> shift, below != Fixed::ZERO)
        };
        let size = Self::from(whole + u64::from(self.negative && rest));
        if self.negative { -size } else { size }
    }

    /// Returns the smallest integer that is not below this number, for magnitudes below 2^63.
    pub(crate) fn ceil(self) -> Self {
        -(-self).floor()
    }

    /// Returns 1 / self. The number must not be zero.
    fn inverse(self) -> Self {
        // The mantissa alone, so that the first guess is a normal f64.
        let exponent = self.size.exponent;
        let mantissa = Self::from(BigFloat {
            exponent: 0,
            ..self.size
        });
        let mut guess = Self::from(1.0 / self.size.mantissa_f64());
        // Correct bits: 52, 104, 208, 316.
        for _ in 0..3 {
            guess = guess * (Self::from(2.0) - guess * mantissa);
        }
        Self {
            negative: self.negative,
            size: BigFloat {
                exponent: guess.size.exponent - exponent,
                ..guess.size
            },
        }
    }

    /// Returns the natural logarithm. The number must be positive.
    pub(crate) fn ln(self) -> Self {
        // self = m 2^e with m in [1/2, 1). For c, the multiple of 1/128 nearest to m, is
        // ln m = ln c + 2 artanh z with z = (m - c) / (m + c), at most 2^-8 in magnitude.
        let mantissa = Self::from(BigFloat {
            exponent: 0,
            ..self.size
        });
        let top = self.size.mantissa.0[WORDS - 1] >> 56;
        let near = (top as usize).div_ceil(2);
        let c = Self::from(near as f64 / STEPS as f64);
        let z = (mantissa - c) / (mantissa + c);
        // z^2 / 3 + z^4 / 5 + ...
        let root = z.size.mantissa.resize::<6>();
        let root = root.shr(z.size.exponent.unsigned_abs().min(384));
        let square = root.mul(root);
        let mut series = Fixed::ZERO;
        for coefficient in INVERSE_ODD.iter().rev() {
            series = coefficient.add(square.mul(series)).0;
        }
        let mut artanh = z;
        let series = square.mul(series);
        if series != Fixed::ZERO {
            artanh = artanh + z * Self::from(BigFloat::normalized(series, 0));
        }
        let exponent = Self::from(f64::from(self.size.exponent));
        exponent * ln_of_step(STEPS / 2).neg() + ln_of_step(near) + artanh + artanh
    }

    /// Returns e to this power, or `None` for a magnitude of 2^20 or more.
    pub(crate) fn exp(self) -> Option<Self> {
        if self.size.is_zero() {
            return Some(Self::one());
        }
        if self.size.exponent > 20 {
            return None;
        }
        // 64 bits before the binary point and 448 behind it.
        let all = self.size.mantissa.resize::<8>();
        let all = all.shr((64 - self.size.exponent).unsigned_abs().min(512));
        let mut fraction = Fixed::ZERO;
        fraction.0.copy_from_slice(&all.0[..7]);
        let real = FixedPoint {
            negative: self.negative,
            integer: all.0[7],
            fraction,
        };
        Some(Self::from(real.exp()))
    }

    /// Returns the square root of a positive number.
    pub(crate) fn sqrt(self) -> Option<Self> {
        (self.ln() * Self::from(0.5)).exp()
    }
}

/// Steps of the table of logarithms.
const STEPS: usize = 128;

/// Returns ln(`step` / 128), computed once in a process.
fn ln_of_step(step: usize) -> Real {
    // Not an array: its 8 KiB would be in every program.
    static TABLE: OnceLock<Vec<OnceLock<Real>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| vec![OnceLock::new(); STEPS + 1]);
    *table[step].get_or_init(|| Real::from(FixedPoint::ln(step as f64 / STEPS as f64)))
}

/// 1/3, 1/5, 1/7 ... The first omitted term of the logarithm's series is 2^-16 to the power 22.
const INVERSE_ODD: [Fixed<6>; 21] = {
    let mut out = [Fixed::ALMOST_ONE; 21];
    let mut n = 0;
    while n < 21 {
        out[n] = out[n].div_word(2 * n as u64 + 3);
        n += 1;
    }
    out
};

impl Neg for Real {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            negative: !self.negative,
            ..self
        }
    }
}

impl Add for Real {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (big, small) = if self.size.cmp_magnitude(&other.size) == Ordering::Less {
            (other, self)
        } else {
            (self, other)
        };
        if small.size.is_zero() {
            return big;
        }
        let gap = (big.size.exponent - small.size.exponent).unsigned_abs();
        // One more word at the low end limits the loss where terms cancel.
        let shifted = small.size.mantissa.resize::<6>().shr(gap.min(384));
        let first = big.size.mantissa.resize::<6>();
        let (sum, exponent) = if big.negative == small.negative {
            let (sum, carry) = first.add(shifted);
            if carry {
                let mut half = sum.shr(1);
                half.0[5] |= 1 << 63;
                (half, big.size.exponent + 1)
            } else {
                (sum, big.size.exponent)
            }
        } else {
            (first.sub(shifted).0, big.size.exponent)
        };
        if sum == Fixed::ZERO {
            return Self::from(BigFloat::ZERO);
        }
        Self {
            negative: big.negative,
            size: BigFloat::normalized(sum, exponent),
        }
    }
}

impl Sub for Real {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Real {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            size: self.size.mul(other.size),
        }
    }
}

/// The divisor must not be zero.
impl Div for Real {
    type Output = Self;

    #[allow(clippy::suspicious_arithmetic_impl)] // by the inverse
    fn div(self, other: Self) -> Self {
        self * other.inverse()
    }
}

impl PartialEq for Real {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Real {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let difference = *self - *other;
        Some(if difference.size.is_zero() {
            Ordering::Equal
        } else if difference.negative {
            Ordering::Less
        } else {
            Ordering::Greater
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: f64) -> Real {
        Real::from(value)
    }

    #[test]
    fn arithmetic_of_whole_numbers_is_exact() {
        for a in [-17.0, -3.0, 0.0, 1.0, 5.0, 4096.0] {
            for b in [-9.0, -1.0, 0.0, 2.0, 3.0, 1e10] {
                assert_eq!((n(a) + n(b)).to_f64(), a + b);
                assert_eq!((n(a) - n(b)).to_f64(), a - b);
                assert_eq!((n(a) * n(b)).to_f64(), a * b);
                assert_eq!(n(a) < n(b), a < b);
                assert_eq!(n(a) == n(b), a == b);
                assert_eq!(n(a).min(n(b)).to_f64(), a.min(b));
                assert_eq!(n(a).max(n(b)).to_f64(), a.max(b));
                if b != 0.0 {
                    assert_eq!((n(a) / n(b)).to_f64(), a / b, "{a} / {b}");
                }
            }
        }
        assert_eq!(Real::from(12345u64).to_f64(), 12345.0);
        assert_eq!(Real::from(u64::MAX).to_f64(), u64::MAX as f64);
    }

    #[test]
    fn floors_and_ceilings() {
        for value in [-2.5, -2.0, -0.25, 0.0, 0.25, 1.0, 1.5, 16.999, 4095.0001] {
            assert_eq!(n(value).floor().to_f64(), value.floor(), "{value}");
            assert_eq!(n(value).ceil().to_f64(), value.ceil(), "{value}");
        }
        // Slightly below and above an integer, by less than an f64 can resolve.
        let hair = n(1e-60);
        assert_eq!((n(7.0) - hair).floor().to_f64(), 6.0);
        assert_eq!((n(7.0) + hair).ceil().to_f64(), 8.0);
        // Up to the largest magnitude.
        let (large, half) = (n((1u64 << 62) as f64), n(0.5));
        assert!((large + half).floor() == large && large.floor() == large);
        assert!((-large - half).floor() == -large - n(1.0));
    }

    /// Identities that hold to 300 bits.
    #[test]
    fn logarithms_and_exponentials_are_inverse() {
        let tiny = n(1e-87);
        let close = |a: Real, b: Real| {
            let difference = a - b;
            let size = if difference < n(0.0) {
                -difference
            } else {
                difference
            };
            assert!(size < tiny * a || size < tiny, "{a:?} {b:?}");
        };
        for value in [0.3, 1.0, 1.5, 2.0, 10000.0, 1e300, 1e-300] {
            let value = n(value) / n(3.0);
            close(value.ln().exp().unwrap(), value);
            close(value.sqrt().unwrap() * value.sqrt().unwrap(), value);
            close((value * value).ln(), value.ln() + value.ln());
            close(value / value, Real::one());
        }
        assert!(n(1_048_576.0).exp().is_none());
        close(n(-600_000.0).exp().unwrap().ln(), n(-600_000.0));
        close(n(0.0).exp().unwrap(), Real::one());
        assert!(Real::one().ln().to_f64().abs() < 1e-80);
    }
}
