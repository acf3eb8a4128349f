//! Positions: integers below 2^32, or finite real numbers.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::limits::POSITIONS;
use crate::num::float::decompose;

/// A position: an integer, or a finite real number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Position {
    Integer(u32),
    Real(f64),
}

impl Position {
    /// Returns the sign, and mantissa x 2^exponent.
    pub(crate) fn parts(self) -> (bool, u64, i32) {
        match self {
            Self::Integer(p) => (false, u64::from(p), 0),
            Self::Real(0.0) => (false, 0, 0),
            Self::Real(t) => {
                let (mantissa, exponent) = decompose(t.abs());
                (t < 0.0, mantissa, exponent)
            }
        }
    }
}

/// Checks that the range ascends and ends by the last integer position.
pub(crate) fn check_range(positions: &Range<u64>) -> Result<()> {
    let Range { start, end } = *positions;
    if start > end || end > POSITIONS {
        return Err(Error::Range { start, end });
    }
    Ok(())
}

/// Checks that each position is finite and at most 2^53 in magnitude.
pub(crate) fn check_reals(positions: &[f64]) -> Result<()> {
    const LIMIT: f64 = (1u64 << 53) as f64;
    for (index, value) in positions.iter().enumerate() {
        if !(value.is_finite() && value.abs() <= LIMIT) {
            let value = *value;
            return Err(Error::Timestep { value, index });
        }
    }
    Ok(())
}
