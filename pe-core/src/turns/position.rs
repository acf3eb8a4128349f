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
