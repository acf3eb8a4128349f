//! Whether the entries of a table are those of its specification.

use std::fmt;
use std::slice::ChunksExact;

use candle_core::{Result, bail};
use pe_core::{Element, Sinusoidal};

use super::file::element::{elements, same_bits, ulps};

/// How many rows of a table are compared with the numbers they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Verify {
    /// None.
    None,
    /// The first, the last, and up to 64 spread evenly between them.
    Sample,
    /// Every one. Computing a table again costs about as much as reading it: with two threads
    /// a table of 32 MiB is loaded in 21 ms and not in 15.
    #[default]
    All,
}

/// What a comparison found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// The entries compared.
    pub entries: u64,
    /// Those that differ by a bit, the sign of a zero included; where there is a tolerance,
    /// those that differ by more than it.
    pub wrong: u64,
    /// The first of them, by position and column.
    pub first_wrong: Option<WrongEntry>,
    /// The largest distance in units in the last place among those that differ:
    /// how many values of the table's type it takes to get from one to the other.
    /// `u64::MAX` if there is a NaN, 0 between the two zeros.
    pub max_ulps: u64,
    /// The largest absolute difference among all entries; NaN if there is a NaN.
    pub max_difference: f64,
}

/// An entry that is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct WrongEntry {
    /// The position that the row stands for.
    pub position: u64,
    /// The row, counted from 0.
    pub row: usize,
    /// The column, counted from 0.
    pub column: usize,
    /// The entry in the file.
    pub found: f64,
    /// The entry that the specification gives.
    pub expected: f64,
    /// The distance in units in the last place; `u64::MAX` if `found` is NaN, 0 if only the
    /// sign of a zero differs.
    pub ulps: u64,
}

impl Comparison {
    /// Whether no entry is wrong.
    pub fn is_right(&self) -> bool {
        self.wrong == 0
    }

    /// What was found in two parts of a table, whose rows may alternate.
    pub(crate) fn and(self, other: Self) -> Self {
        let first_wrong = match (self.first_wrong, other.first_wrong) {
            (Some(a), Some(b)) if b.row < a.row => Some(b),
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
        write!(f, "position {}, column {}: ", self.position, self.column)?;
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

/// A value with the digits of its own type: those of f32 for all but true f64 values.
fn short(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    let single = value as f32;
    if f64::from(single) == value {
        write!(f, "{single:?}")
    } else {
        write!(f, "{value:?}")
    }
}

/// What the rows of a table are compared with, and how closely.
pub(crate) struct Checks {
    pub(crate) encoding: Sinusoidal,
    /// The position of the first row.
    pub(crate) start: u64,
    pub(crate) rows: usize,
    pub(crate) verify: Verify,
    pub(crate) tolerance: f64,
}

impl Checks {
    /// The position of a row. The last one there is stands for those beyond it, which the
    /// encoding refuses as well.
    fn position(&self, row: usize) -> u64 {
        self.start.saturating_add(row as u64)
    }
}

/// Compares the blocks of a table as they come.
pub(crate) struct Checker<'a, T> {
    checks: &'a Checks,
    expected: Vec<T>,
    pub(crate) comparison: Comparison,
}

impl<'a, T: Element> Checker<'a, T> {
    pub(crate) fn new(checks: &'a Checks) -> Self {
        Self {
            checks,
            expected: Vec::new(),
            comparison: Comparison::default(),
        }
    }

    /// Compares whole rows from number `row` on, given as little-endian bytes.
    pub(crate) fn block(&mut self, row: usize, found: &[u8]) -> Result<()> {
        let Checks { verify, rows, .. } = *self.checks;
        match verify {
            Verify::None => Ok(()),
            Verify::All => self.rows(row, found),
            Verify::Sample => {
                let width = self.checks.encoding.d_model();
                for (row, found) in (row..).zip(rows_of::<T>(found, width)?) {
                    if sampled(row, rows) {
                        self.rows(row, found)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn rows(&mut self, first_row: usize, found: &[u8]) -> Result<()> {
        let mut expected = std::mem::take(&mut self.expected);
        expected.resize(elements::<T>(found).len(), T::default());
        self.checks
            .encoding
            .fill(self.checks.position(first_row), &mut expected)?;
        let entries = &mut self.comparison.entries;
        *entries = entries.saturating_add(expected.len() as u64);
        if !same_bits(found, &expected) {
            let mut found = elements::<T>(found);
            let rows = expected.chunks_exact(self.checks.encoding.d_model());
            for (row, expected) in (first_row..).zip(rows) {
                for (column, (expected, found)) in expected.iter().zip(&mut found).enumerate() {
                    if found.pattern() != expected.pattern() {
                        self.entry(row, column, found, *expected);
                    }
                }
            }
        }
        self.expected = expected;
        Ok(())
    }

    fn entry(&mut self, row: usize, column: usize, found: T, expected: T) {
        let difference = (found.to_f64() - expected.to_f64()).abs();
        let comparison = &mut self.comparison;
        comparison.max_difference = larger(comparison.max_difference, difference);
        // Without a tolerance every bit counts, those that make no difference in value too.
        if self.checks.tolerance > 0.0 && difference <= self.checks.tolerance {
            return;
        }
        let wrong = WrongEntry {
            position: self.checks.position(row),
            row,
            column,
            found: found.to_f64(),
            expected: expected.to_f64(),
            ulps: ulps(found, expected),
        };
        comparison.wrong = comparison.wrong.saturating_add(1);
        comparison.max_ulps = comparison.max_ulps.max(wrong.ulps);
        comparison.first_wrong.get_or_insert(wrong);
    }
}

/// Whole rows of `width` elements as bytes.
pub(crate) fn rows_of<T>(bytes: &[u8], width: usize) -> Result<ChunksExact<'_, u8>> {
    match width.checked_mul(size_of::<T>()) {
        Some(row_bytes @ 1..) => Ok(bytes.chunks_exact(row_bytes)),
        _ => bail!("there are no rows of {width} elements"),
    }
}

/// Whether [`Verify::Sample`] compares a row of so many.
pub(crate) fn sampled(row: usize, rows: usize) -> bool {
    row.is_multiple_of(rows.div_ceil(64).max(1)) || Some(row) == rows.checked_sub(1)
}

/// The larger difference; NaN if either is.
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else {
        a.max(b)
    }
}
