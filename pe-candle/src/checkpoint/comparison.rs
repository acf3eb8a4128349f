//! Result of a comparison of tables with their specification.

use std::fmt;

use pe_core::Element;

use super::file::element::ulps;

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// Number of entries compared, of all tensors.
    pub entries: u64,
    /// Number of entries that differ by a bit, the sign of a zero included. With a tolerance, only
    /// those that differ by more.
    pub wrong: u64,
    /// The first wrong entry: in the constants, or else by row and column.
    pub first_wrong: Option<WrongEntry>,
    /// Largest distance of wrong entries in ulp: the number of representable values from one to the
    /// other. `u64::MAX` with a NaN, 0 between the two zeros.
    pub max_ulps: u64,
    /// Largest absolute difference of all entries. NaN with a NaN.
    pub max_difference: f64,
}

/// An entry that differs from the specification.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct WrongEntry {
    /// The tensor.
    pub tensor: String,
    /// The position of the row, or `None` in a constant.
    pub position: Option<u64>,
    /// The row, counted from 0.
    pub row: usize,
    /// The column, counted from 0. In a table of cosines it is the pair.
    pub column: usize,
    /// The entry in the file.
    pub found: f64,
    /// The entry that the specification gives.
    pub expected: f64,
    /// The distance in ulp: `u64::MAX` if `found` is NaN, 0 if only the sign of a
    /// zero differs.
    pub ulps: u64,
}

/// Place of an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) tensor: &'a str,
    pub(crate) position: Option<u64>,
    pub(crate) row: usize,
    pub(crate) column: usize,
}

impl Comparison {
    /// Returns whether no entry is wrong.
    pub fn is_right(&self) -> bool {
        self.wrong == 0
    }

    /// Counts an entry that differs from the expected one in its bits.
    pub(crate) fn differ<T: Element>(
        &mut self,
        place: Place<'_>,
        (found, expected): (T, T),
        tolerance: f64,
    ) {
        let difference = (found.to_f64() - expected.to_f64()).abs();
        self.max_difference = larger(self.max_difference, difference);
        // Without a tolerance every bit counts, also those that do not change the value.
        if tolerance > 0.0 && difference <= tolerance {
            return;
        }
        let ulps = ulps(found, expected);
        self.wrong = self.wrong.saturating_add(1);
        self.max_ulps = self.max_ulps.max(ulps);
        let Place {
            tensor,
            position,
            row,
            column,
        } = place;
        let first = &mut self.first_wrong;
        if first
            .as_ref()
            .is_none_or(|first| first.follows(row, column))
        {
            *first = Some(WrongEntry {
                tensor: tensor.to_owned(),
                position,
                row,
                column,
                found: found.to_f64(),
                expected: expected.to_f64(),
                ulps,
            });
        }
    }

    /// Joins the comparisons of two parts of the tables. The rows of the parts may alternate.
    pub(crate) fn and(self, other: Self) -> Self {
        let first_wrong = match (self.first_wrong, other.first_wrong) {
            (Some(a), Some(b)) if a.follows(b.row, b.column) => Some(b),
            (a, b) => a.or(b),
        };
        Self {
            entries: self.entries.saturating_add(other.entries),
            wrong: self.wrong.saturating_add(other.wrong),
            first_wrong,
            max_ulps: self.max_ulps.max(other.max_ulps),
            max_difference: larger(self.max_difference, other.max_difference),
        }
    }
}

impl WrongEntry {
    /// Returns whether the entry comes after another of the tables. Those of the constants come first.
    fn follows(&self, row: usize, column: usize) -> bool {
        self.position.is_some() && (row, column) < (self.row, self.column)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, wrong, .. } = self;
        match &self.first_wrong {
            None => write!(f, "all {entries} entries are right"),
            Some(first) => write!(
                f,
                "{wrong} of {entries} entries are wrong, the first at {first}; \
                 the largest difference is {:.3e}",
                self.max_difference
            ),
        }
    }
}

impl fmt::Display for WrongEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "position {position}, ")?;
        }
        write!(f, "column {}: ", self.column)?;
        short(f, self.found)?;
        write!(f, " where ")?;
        short(f, self.expected)?;
        match self.ulps {
            u64::MAX => write!(f, " is right"),
            0 => write!(f, " is right (the sign of zero)"),
            1 => write!(f, " is right (1 ulp apart)"),
            ulps => write!(f, " is right ({ulps} ulps apart)"),
        }
    }
}

/// Writes a value with the digits of its own type: as f32, unless only f64 holds it.
fn short(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    let single = value as f32;
    if f64::from(single) == value {
        write!(f, "{single:?}")
    } else {
        write!(f, "{value:?}")
    }
}

/// Returns the larger difference, or NaN if either is.
fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}
