//! Frequencies: the rotation of each pair of columns per position.
//!
//! A frequency is stored twice: as a [`BigFloat`] number of turns with 320 bits, and modulo one turn as
//! a 128-bit [`Phase`]. The public API reports it as `inv_freq` (radians per position) and
//! `wavelength` (positions per turn).

use crate::error::{Error, Result};
use crate::num::elementary::FixedPoint;
use crate::num::float::{BigFloat, decompose};
use crate::round::{self, Magnitude, to_f64};
use crate::spec::spacing::{Base, Spacing};
use crate::turns::count::count;
use crate::turns::phase::Phase;

/// One frequency, in turns per position.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frequency {
    pub(crate) phase: Phase,
    pub(crate) wide: BigFloat,
}

impl Base {
    /// Returns ln(base), or an error for an invalid base.
    pub(crate) fn ln(self) -> Result<FixedPoint> {
        let (name, value) = match self {
            Self::Value(base) => ("base", base),
            Self::MinRate(rate) => ("min_rate", rate),
        };
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::NotPositive { name, value });
        }
        let ln = FixedPoint::ln(value);
        Ok(match self {
            Self::Value(_) => ln,
            Self::MinRate(_) => ln.negated(),
        })
    }
}

/// The difference of consecutive exponents: `numerator` / (`denominator` x 2^`shift`).
struct ExponentStep {
    numerator: u64,
    denominator: u128,
    shift: i32,
}

impl Frequency {
    /// Converts radians per position.
    pub(crate) fn from_radians(radians: BigFloat) -> Self {
        Self::from_turns(radians.mul(BigFloat::inv_two_pi()))
    }

    /// Converts turns per position, without rounding.
    pub(crate) fn from_turns(wide: BigFloat) -> Self {
        Self {
            phase: Phase::from_wide(wide),
            wide,
        }
    }

    /// Returns one radian per position.
    pub(crate) fn one() -> Self {
        Self::from_radians(BigFloat::ONE)
    }

    /// Returns this frequency times the exact value of a finite positive number.
    pub(crate) fn times(self, factor: f64) -> Self {
        let wide = self.wide.mul(BigFloat::from_f64(factor));
        Self {
            phase: Phase::from_wide(wide),
            wide,
        }
    }

    /// Returns the integer part of the turns per position, which must be below 2^32.
    pub(crate) fn complete_turns(self) -> u64 {
        match self.wide.exponent {
            bits @ 1..=32 => (self.wide.mantissa.top128() >> (128 - bits)) as u64,
            _ => 0,
        }
    }

    /// Returns half of this frequency.
    pub(crate) fn halved(self) -> Self {
        Self::from_turns(BigFloat {
            exponent: self.wide.exponent - 1,
            ..self.wide
        })
    }

    /// Returns the radians per position, correctly rounded.
    pub(crate) fn inv_freq(self) -> f64 {
        to_f64(self.wide.mul(BigFloat::two_pi()))
    }

    /// Returns the positions per turn, within 0.51 ulp. The result is infinite beyond the largest
    /// `f64`.
    pub(crate) fn wavelength(self) -> f64 {
        let number = |bits, exponent| {
            round::nearest::<f64>(
                false,
                Magnitude {
                    bits,
                    exponent,
                    sticky: false,
                },
            )
        };
        // The mantissa = high + low with 53 bits and the 75 that follow them. The exponent is
        // applied at the end, because parts of a frequency below 2^-1022 would lack bits.
        let bits = self.wide.mantissa.top128();
        let rest = bits & ((1 << 75) - 1);
        let (high, low) = (number(bits - rest, 0), number(rest, 0));
        // One step of Newton's method from the rounded ratio.
        let inverse = 1.0 / high;
        let inverse = inverse + inverse * ((-high).mul_add(inverse, 1.0) - low * inverse);
        let (mantissa, exponent) = decompose(inverse);
        number(u128::from(mantissa), 128 + exponent - self.wide.exponent)
    }
}

/// Computes the frequencies of `pairs` pairs for a table with exponents that count `width` columns.
pub(crate) fn geometric(
    base: Base,
    spacing: Spacing,
    width: usize,
    pairs: usize,
) -> Result<Vec<Frequency>> {
    count();
    let ln_base = base.ln()?;
    let mut radians = BigFloat::ONE;
    let mut out = Vec::with_capacity(pairs);
    out.push(Frequency::one());
    if pairs == 1 {
        if let Spacing::Shifted(shift) = spacing {
            exponent_step_shifted(shift, pairs)?;
        }
        return Ok(out);
    }
    let step = match spacing {
        Spacing::Paper => ExponentStep {
            numerator: 2,
            denominator: width as u128,
            shift: 0,
        },
        Spacing::Inclusive => ExponentStep {
            numerator: 1,
            denominator: pairs as u128 - 1,
            shift: 0,
        },
        Spacing::Shifted(shift) => exponent_step_shifted(shift, pairs)?,
    };
    let out_of_range = |pair| Error::Frequency {
        base: base.value(),
        pair,
    };
    let ratio = ln_base
        .negated()
        .scaled(step.numerator, step.denominator, step.shift)
        .ok_or_else(|| out_of_range(1))?
        .exp();
    for pair in 1..pairs {
        radians = radians.mul(ratio);
        // The mantissa is below 1, so the exponent of 2^-1,500,000 is one more.
        if radians.exceeds_power_of_two(32) || radians.exponent <= LOWEST_POWER {
            return Err(out_of_range(pair));
        }
        out.push(Frequency::from_radians(radians));
    }
    Ok(out)
}

/// Returns the frequencies times the exact value of a positive finite number.
pub(crate) fn scaled(frequencies: &[Frequency], base: Base, scale: f64) -> Result<Vec<Frequency>> {
    let limit = BigFloat::inv_two_pi();
    let limit = BigFloat {
        exponent: limit.exponent + 32,
        ..limit
    };
    let scaled = |(pair, frequency): (usize, &Frequency)| {
        let scaled = frequency.times(scale);
        if scaled.wide.cmp_magnitude(&limit).is_gt() {
            let base = base.value();
            return Err(Error::Frequency { base, pair });
        }
        Ok(scaled)
    };
    frequencies.iter().enumerate().map(scaled).collect()
}

/// Returns 1 / (pairs - shift), exactly: both terms are integers over a power of two.
fn exponent_step_shifted(shift: f64, pairs: usize) -> Result<ExponentStep> {
    let error = Error::FreqShift { shift, pairs };
    if shift == 0.0 {
        return Ok(ExponentStep {
            numerator: 1,
            denominator: pairs as u128,
            shift: 0,
        });
    }
    if !(shift.is_finite() && shift < pairs as f64 && shift > -MAX_SHIFT) {
        return Err(error);
    }
    let (mantissa, exponent) = decompose(shift.abs());
    let trailing = mantissa.trailing_zeros();
    let (mantissa, exponent) = (mantissa >> trailing, exponent + trailing as i32);
    let power = exponent.min(0);
    if power < SMALLEST_SHIFT_UNIT {
        return Err(error);
    }
    let size = i128::from(mantissa) << (exponent - power);
    let whole = (pairs as i128) << -power;
    let difference = if shift.is_sign_negative() {
        whole + size
    } else {
        whole - size
    };
    Ok(ExponentStep {
        numerator: 1,
        denominator: u128::try_from(difference).map_err(|_| error)?,
        shift: power,
    })
}

/// Exponent of the lowest frequency, a power of two.
const LOWEST_POWER: i32 = -1_500_000;

/// Shifts range from -2^20 ...
const MAX_SHIFT: f64 = (1u64 << 20) as f64;
/// ... to the number of pairs, in multiples of 2^-104: together 126 bits at most.
const SMALLEST_SHIFT_UNIT: i32 = -104;
