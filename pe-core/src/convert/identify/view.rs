//! Entries as numbers, whatever their type, and the comparison with computed ones.

use std::ops::Range;

use super::Agreement;
use crate::error::Result;
use crate::rows::element::Element;

/// A table of entries.
pub(super) struct View<'a> {
    pub(super) rows: usize,
    pub(super) width: usize,
    /// Distance of two neighboring entries at 1, halved.
    pub(super) precision: f64,
    /// The only row of zeros.
    pub(super) zero_row: Option<usize>,
    entry: &'a dyn Fn(usize) -> f64,
}

impl<'a> View<'a> {
    pub(super) fn new<T: Element>(
        rows: usize,
        width: usize,
        entry: &'a dyn Fn(usize) -> f64,
    ) -> Self {
        let mut view = Self {
            rows,
            width,
            precision: precision::<T>(),
            zero_row: None,
            entry,
        };
        let mut zeros = (0..rows).filter(|row| (0..width).all(|at| view.at(*row, at) == 0.0));
        view.zero_row = match (zeros.next(), zeros.next()) {
            (row, None) => row,
            _ => None,
        };
        view
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        (self.entry)(row * self.width + column)
    }

    /// Returns up to `most` rows, evenly spread, without the row of zeros.
    pub(super) fn sample(&self, most: usize) -> Vec<usize> {
        let rows = spread(self.rows, most);
        rows.into_iter()
            .filter(|row| Some(*row) != self.zero_row)
            .collect()
    }

    pub(super) fn column_is_zero(&self, column: usize) -> bool {
        (0..self.rows).all(|row| self.at(row, column) == 0.0)
    }

    pub(super) fn columns_are_equal(&self, a: usize, b: usize) -> bool {
        (0..self.rows).all(|row| self.at(row, a) == self.at(row, b))
    }
}

/// Returns half the distance of two neighboring values of a type at 1.
pub(super) fn precision<T: Element>() -> f64 {
    let mut precision = 1.0;
    while T::from_f64(1.0 + precision).to_f64() != 1.0 {
        precision /= 2.0;
    }
    precision
}

/// Returns up to `most` numbers below `count`, evenly spread, with the first few and the last one.
pub(super) fn spread(count: usize, most: usize) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let few = most / 4;
    let rest = most - few;
    let others = (0..rest).map(|i| few + (count - 1 - few) * i / (rest - 1));
    let mut all: Vec<usize> = (0..few).chain(others).collect();
    all.dedup();
    all
}

/// Counts equal entries and keeps the largest difference.
#[derive(Default)]
pub(super) struct Tally {
    entries: usize,
    equal: usize,
    largest_error: f64,
}

impl Tally {
    pub(super) fn add<T: Element>(&mut self, found: T, expected: T) {
        self.entries += 1;
        self.equal += usize::from(found == expected);
        let error = (found.to_f64() - expected.to_f64()).abs();
        self.largest_error = self.largest_error.max(error);
    }

    pub(super) fn agreement(&self) -> Agreement {
        Agreement {
            equal_share: self.equal as f64 / self.entries.max(1) as f64,
            largest_error: self.largest_error,
        }
    }
}

/// Compares entries with computed numbers.
pub(super) fn compare_with<T: Element>(
    values: &[T],
    expected: impl IntoIterator<Item = f64>,
) -> Agreement {
    let mut tally = Tally::default();
    for (found, expected) in values.iter().zip(expected) {
        tally.add(*found, T::from_f64(expected));
    }
    tally.agreement()
}

/// Compares all entries with computed ones. `compute` writes the rows of a range.
pub(super) fn compare<T: Element>(
    values: &[T],
    width: usize,
    mut compute: impl FnMut(Range<usize>) -> Result<Vec<T>>,
) -> Result<Agreement> {
    const BLOCK: usize = 256;
    let rows = values.len() / width.max(1);
    let mut tally = Tally::default();
    for start in (0..rows).step_by(BLOCK) {
        let end = rows.min(start + BLOCK);
        let computed = compute(start..end)?;
        for (found, expected) in values[start * width..end * width].iter().zip(computed) {
            tally.add(*found, expected);
        }
    }
    Ok(tally.agreement())
}
