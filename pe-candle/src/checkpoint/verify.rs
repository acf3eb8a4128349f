//! Comparison of blocks of rows with the values of a specification.

use candle_core::{Result, bail};
use pe_core::Element;

use super::comparison::{Comparison, Place};
use super::file::element::{elements, same_bits, with_element};
use super::scheme::Scheme;
use super::spec::Spec;
use super::tables::Tables;

/// Choice of the rows that are compared with the specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Verify {
    /// No rows.
    None,
    /// The first, the last, and up to 64 spread evenly between them.
    Sample,
    /// Every row. Computing a table again costs about as much as reading it: with two threads a table
    /// of 32 MiB is loaded in 21 ms instead of 15.
    #[default]
    All,
}

/// Expected values of tables, and the tolerance of the comparison.
pub(crate) struct Checks<'a, S> {
    pub(crate) spec: &'a Spec<S>,
    pub(crate) tables: &'a Tables,
    pub(crate) verify: Verify,
    pub(crate) tolerance: f64,
}

impl<S: Scheme> Checks<'_, S> {
    /// Compares a constant, given as little-endian bytes.
    pub(crate) fn constant(&self, index: usize, found: &[u8]) -> Result<Comparison> {
        let constants = self.spec.scheme().constants(self.spec.dtype());
        let tensor = self.tables.constants.get(index);
        let Some((constant, tensor)) = constants.get(index).zip(tensor) else {
            return Ok(Comparison::default());
        };
        with_element!(constant.dtype, T => {
            Ok(self.constant_of::<T>(&tensor.name, found, &constant.values))
        })
    }

    fn constant_of<T: Element>(&self, tensor: &str, found: &[u8], values: &[f64]) -> Comparison {
        let mut comparison = Comparison {
            entries: values.len() as u64,
            ..Comparison::default()
        };
        for (column, (found, value)) in elements::<T>(found).zip(values).enumerate() {
            let expected = T::from_f64(*value);
            if found.pattern() != expected.pattern() {
                let place = Place {
                    tensor,
                    position: None,
                    row: 0,
                    column,
                };
                comparison.differ(place, (found, expected), self.tolerance);
            }
        }
        comparison
    }
}

/// Compares the blocks of the tables one after the other.
pub(crate) struct Checker<'a, S, T> {
    checks: &'a Checks<'a, S>,
    expected: Vec<Vec<T>>,
    pub(crate) comparison: Comparison,
}

impl<'a, S: Scheme, T: Element> Checker<'a, S, T> {
    pub(crate) fn new(checks: &'a Checks<'a, S>) -> Self {
        Self {
            checks,
            expected: vec![Vec::new(); S::TABLES.len()],
            comparison: Comparison::default(),
        }
    }

    /// Compares complete rows starting at number `row`, the same of each table, given as little-endian
    /// bytes.
    pub(crate) fn block(&mut self, row: usize, found: &[&[u8]]) -> Result<()> {
        let Checks { verify, tables, .. } = *self.checks;
        let Some(row_bytes @ 1..) = tables.width.checked_mul(size_of::<T>()) else {
            bail!("a row of {} entries has no size", tables.width);
        };
        match verify {
            Verify::None => Ok(()),
            Verify::All => self.rows(row, found),
            Verify::Sample => {
                let rows = found
                    .first()
                    .map_or(0, |bytes| bytes.chunks_exact(row_bytes).len());
                for at in (0..rows).filter(|at| sampled(row.saturating_add(*at), tables.rows)) {
                    let mut rows: Vec<&[u8]> = Vec::new();
                    for bytes in found {
                        rows.extend(bytes.chunks_exact(row_bytes).nth(at));
                    }
                    self.rows(row.saturating_add(at), &rows)?;
                }
                Ok(())
            }
        }
    }

    fn rows(&mut self, first_row: usize, found: &[&[u8]]) -> Result<()> {
        let Checks {
            spec,
            tables,
            tolerance,
            ..
        } = *self.checks;
        for (expected, found) in self.expected.iter_mut().zip(found) {
            expected.resize(elements::<T>(found).len(), T::default());
        }
        let scheme = spec.scheme();
        let entries = self.expected.first().map_or(0, Vec::len);
        let rows = entries.checked_div(tables.width).unwrap_or(0);
        let begin = spec.position(first_row);
        let mut write = scheme.writer(begin..begin.saturating_add(rows as u64))?;
        write(&mut self.expected)?;
        let comparison = &mut self.comparison;
        let both = self.expected.iter().zip(found).zip(&tables.tables);
        for ((expected, found), table) in both {
            comparison.entries = comparison.entries.saturating_add(expected.len() as u64);
            if same_bits(found, expected) {
                continue;
            }
            let mut found = elements::<T>(found);
            let rows = expected.chunks_exact(tables.width.max(1));
            for (row, expected) in (first_row..).zip(rows) {
                for (column, (expected, found)) in expected.iter().zip(&mut found).enumerate() {
                    if found.pattern() != expected.pattern() {
                        let place = Place {
                            tensor: &table.name,
                            position: Some(spec.position(row)),
                            row,
                            column,
                        };
                        comparison.differ(place, (found, *expected), tolerance);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns whether [`Verify::Sample`] compares a row of a table of `rows`.
fn sampled(row: usize, rows: usize) -> bool {
    row.is_multiple_of(rows.div_ceil(64).max(1)) || Some(row) == rows.checked_sub(1)
}
