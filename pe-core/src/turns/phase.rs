//! Phases: angles modulo one turn.
//!
//! A [`Phase`] is an unsigned 128-bit fraction of a turn. Adding, subtracting, and multiplying by
//! an integer wrap around exactly where the angle does. The reduction of `position x frequency`
//! modulo one turn, where floating-point code loses its digits, is therefore exact and
//! free.

use crate::num::fixed::Fixed;
use crate::num::float::BigFloat;

/// A phase: the bits divided by 2^128, in turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Phase(pub(crate) u128);

/// A phase split into the nearest quarter turn and the remainder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduced {
    /// Quarter turns, 0 to 3.
    pub(crate) quadrant: u8,
    /// Whether the remainder is negative.
    pub(crate) negative: bool,
    /// Magnitude of the remainder in turns x 2^128, at most 2^125.
    pub(crate) remainder: u128,
}

impl Phase {
    /// Returns the fractional part of `wide`, rounded down, with an error of less than one unit.
    pub(crate) fn from_wide(wide: BigFloat) -> Self {
        let shift = wide.exponent;
        let fraction = if shift >= 0 {
            wide.mantissa.shl(shift.unsigned_abs().min(320))
        } else {
            wide.mantissa.shr(shift.unsigned_abs().min(320))
        };
        Self(fraction.top128())
    }

    /// Returns the phase at an integer position. An error of `error` units grows to
    /// `error x position`.
    #[inline]
    pub(crate) fn times(self, position: u32) -> Self {
        Self(self.0.wrapping_mul(u128::from(position)))
    }

    /// Returns the nearest quarter turn and the remainder, at most an eighth of a turn.
    #[inline]
    pub(crate) fn reduce(self) -> Reduced {
        let ahead = self.0.wrapping_add(1 << 125);
        let quadrant = (ahead >> 126) as u8;
        let offset = (ahead & ((1 << 126) - 1)) as i128 - (1 << 125);
        Reduced {
            quadrant,
            negative: offset < 0,
            remainder: offset.unsigned_abs(),
        }
    }
}

/// The remainder of a phase in full width, for the last rung of the ladder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WideReduced {
    pub(crate) quadrant: u8,
    pub(crate) negative: bool,
    /// Magnitude of the remainder in turns; `None` for the angle 0.
    pub(crate) remainder: Option<BigFloat>,
}

impl WideReduced {
    /// Replaces a remainder of less than 2^`exponent` turns, which is the error of a complete quarter turn.
    pub(crate) fn exact_below(self, exponent: i32) -> Self {
        match self.remainder {
            Some(rest) if rest.exponent > exponent => self,
            _ => Self {
                negative: false,
                remainder: None,
                ..self
            },
        }
    }
}

/// Reduces `mantissa` x 2^`exponent` x `frequency` turns modulo one turn.
///
/// For a frequency of at most 2^32 radians per position and positions below 2^53, at least 200 bits
/// of the remainder are correct: 320 bits, less at most 88 before the binary point, less the
/// cancellation at a quarter turn.
pub(crate) fn reduce_wide(frequency: BigFloat, mantissa: u64, exponent: i32) -> WideReduced {
    let (fraction, scale) = product(frequency, mantissa, exponent);
    if scale <= 0 {
        // Below 2^-11 turns, because the mantissa is below 2^53, and possibly very much less.
        return WideReduced {
            quadrant: 0,
            negative: false,
            remainder: (fraction != Fixed::ZERO).then(|| BigFloat::normalized(fraction, scale)),
        };
    }
    // The error of a product is at most 2^-230. A smaller remainder is the error of a complete quarter turn,
    // which a rational number of turns may be. Other numbers do not come so close.
    reduce(fraction.shl(scale.unsigned_abs())).exact_below(-225)
}

/// Reduces a fraction of a turn.
pub(crate) fn reduce<const N: usize>(fraction: Fixed<N>) -> WideReduced {
    let mut eighth = Fixed([0; N]);
    eighth.0[N - 1] = 1 << 61;
    let (ahead, _) = fraction.add(eighth);
    let quadrant = (ahead.0[N - 1] >> 62) as u8;
    let mut rest = ahead;
    rest.0[N - 1] &= (1 << 62) - 1;
    let (below, negative) = rest.sub(eighth);
    let size = if negative { eighth.sub(rest).0 } else { below };
    let exact = size == Fixed::ZERO;
    WideReduced {
        quadrant,
        negative: negative && !exact,
        remainder: (!exact).then(|| BigFloat::normalized(size, 0)),
    }
}

/// Returns the same angle as a [`Phase`], with an error of less than two units.
pub(crate) fn phase_at(frequency: BigFloat, mantissa: u64, exponent: i32) -> Phase {
    let (fraction, scale) = product(frequency, mantissa, exponent);
    let shifted = if scale >= 0 {
        fraction.shl(scale.unsigned_abs())
    } else {
        fraction.shr(scale.unsigned_abs().min(384))
    };
    Phase(shifted.top128())
}

/// Returns `mantissa` x 2^`exponent` x `frequency` as a fraction and a power of two.
pub(crate) fn product(frequency: BigFloat, mantissa: u64, exponent: i32) -> (Fixed<6>, i32) {
    let (low, high) = frequency.mantissa.mul_word(mantissa);
    let mut fraction = low.resize::<6>().shr(64);
    fraction.0[5] = high;
    (fraction, frequency.exponent + exponent + 64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Angles that are integer multiples of 1/64 turn.
    #[test]
    fn wide_angles_go_to_the_nearest_quarter() {
        for sixty_fourths in (0..64).chain(64_000..64_064).filter(|n| n % 16 != 8) {
            let found = reduce_wide(BigFloat::ONE, sixty_fourths, -6);
            let quarters = (sixty_fourths + 8) / 16;
            let rest = sixty_fourths as i64 - 16 * quarters as i64;
            assert_eq!(found.quadrant, (quarters % 4) as u8, "{sixty_fourths}");
            assert_eq!(found.negative, rest < 0, "{sixty_fourths}");
            let size = rest.unsigned_abs() as f64 / 64.0;
            let wanted = (rest != 0).then(|| BigFloat::from_f64(size));
            assert_eq!(found.remainder, wanted, "{sixty_fourths}");
        }
        // Far below a quarter turn, the remainder is the angle itself.
        for power in [-9, -70, -1000] {
            let found = reduce_wide(BigFloat::ONE, 1, power);
            assert_eq!((found.quadrant, found.negative), (0, false));
            let remainder = found.remainder.unwrap();
            assert_eq!(remainder.mantissa, BigFloat::ONE.mantissa);
            assert_eq!(remainder.exponent, power + 1);
        }
    }
}
