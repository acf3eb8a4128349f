//! Positions: whole numbers below 2^32, or any finite ones.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::limits::POSITIONS;
use crate::num::wide::decompose;

/// A position: a whole number, or any finite number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Position {
    Whole(u32),
    Real(f64),
}

impl Position {
    /// Sign, and mantissa x 2^exponent.
    pub(crate) fn parts(self) -> (bool, u64, i32) {
        match self {
            Self::Whole(p) => (false, u64::from(p), 0),
            Self::Real(0.0) => (false, 0, 0),
            Self::Real(t) => {
                let (mantissa, exponent) = decompose(t.abs());
                (t < 0.0, mantissa, exponent)
            }
        }
    }
}

/// Whether the range ascends and ends by the last whole position.
pub(crate) fn check_range(positions: &Range<u64>) -> Result<()> {
    let Range { start, end } = *positions;
    if start > end || end > POSITIONS {
        return Err(Error::Range { start, end });
    }
    Ok(())
}
