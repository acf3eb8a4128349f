//! The one writer of rows: complete tables, single positions, and blocks.

use std::ops::Range;
use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::rows::columns::{Column, Columns, Out};
use crate::rows::f32_recipe;
use crate::rows::lane::Lane;
use crate::rows::plan::{Method, Plan};
use crate::rows::real::{self, Forms, Quarters};
use crate::rows::recurrence::{BLOCK, Recurrence};
use crate::rows::single::{self, Frequencies, Limbs};
use crate::rows::threads;
use crate::sincos::factor::Factor;
use crate::sincos::{self, Rungs};
use crate::table::{Memory, Table};
use crate::turns::frequency::Frequency;
use crate::turns::position::{Position, check_range};

/// The frequencies of the entries.
#[derive(Debug)]
pub(crate) enum Source {
    Exact {
        frequencies: Frequencies,
        limbs: Limbs,
        /// Computed for the first row at a real position.
        quarters: OnceLock<Quarters>,
    },
    Recipe {
        inv_freq: Vec<f32>,
        radian: Frequency,
        /// Factor of the rounded angles.
        scale: f32,
    },
}

/// The rows of an encoding.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Columns,
    pub(crate) source: Source,
    /// Factor that multiplies every entry.
    pub(crate) factor: Factor,
    /// Position of the row of zeros.
    pub(crate) padding_idx: Option<u32>,
}

impl Rows {
    /// Creates the rows of exact frequencies, without a factor and without a row of zeros.
    pub(crate) fn exact(frequencies: Vec<Frequency>, columns: Columns) -> Self {
        let limbs = Limbs::new(&frequencies);
        let frequencies = Frequencies::new(Box::new(move || frequencies));
        Self::exact_later(frequencies, limbs, columns)
    }

    /// Does the same with frequencies that are computed when they are needed.
    pub(crate) fn exact_later(frequencies: Frequencies, limbs: Limbs, columns: Columns) -> Self {
        Self {
            columns,
            source: Source::Exact {
                frequencies,
                limbs,
                quarters: OnceLock::new(),
            },
            factor: Factor::ONE,
            padding_idx: None,
        }
    }

    /// Creates the rows of f32 frequencies. Their angles are rounded to f32 and then multiplied by
    /// `scale` in f32.
    pub(crate) fn recipe(inv_freq: Vec<f32>, scale: f32, columns: Columns) -> Self {
        Self {
            columns,
            source: Source::Recipe {
                inv_freq,
                radian: Frequency::one(),
                scale,
            },
            factor: Factor::ONE,
            padding_idx: None,
        }
    }

    /// Builds the tables of a range of positions. The second is empty unless cosines and sines are
    /// apart.
    pub(crate) fn tables<T: Lane>(
        &self,
        plan: Plan,
        positions: Range<u64>,
    ) -> Result<[Table<T>; 2]> {
        check_range(&positions)?;
        let (start, rows) = (positions.start, positions.end - positions.start);
        let widths = self.columns.widths();
        let row_bytes = self.row_bytes::<T>();
        if plan.threads.piece_of_new(rows, row_bytes, BLOCK).is_none() {
            let mut writer = Writer::new(self, plan, start, rows);
            return Table::build(rows, widths, BLOCK, &mut |block| writer.write(Out(block)));
        }
        let [a, b] = widths;
        let mut tables = [Table::zeros(rows, a)?, Table::zeros(rows, b)?];
        let out = Out(tables.each_mut().map(Table::as_mut_slice));
        self.fill(plan, Memory::of_zeros(out.0[0]), start, out);
        Ok(tables)
    }

    /// Writes consecutive rows from `start` until `out` is full. The rows must be complete and end
    /// by the last position: [`Rows::check`].
    pub(crate) fn fill<T: Lane>(&self, plan: Plan, memory: Memory, start: u64, out: Out<'_, T>) {
        let width = self.columns.width;
        let write = |start: u64, out: Out<'_, T>| {
            let mut writer = Writer::new(self, plan, start, (out.len() / width) as u64);
            for mut block in out.chunks(BLOCK * width) {
                if memory == Memory::Used {
                    // This brings the block into the cache, so that rows written from the middle
                    // outward do not wait for memory one by one (67 MB: 8.6 ms compared with 14
                    // ms).
                    for slice in &mut block.0 {
                        slice.fill(T::default());
                    }
                }
                writer.write(block);
            }
        };
        let rows = (out.len() / width) as u64;
        match plan.threads.piece(rows, self.row_bytes::<T>(), BLOCK) {
            None => write(start, out),
            Some(piece) => threads::for_each_piece(out, piece * width, |index, out| {
                write(start + (index * piece) as u64, out);
            }),
        }
    }

    /// Returns the bytes of a row of all tables.
    fn row_bytes<T>(&self) -> usize {
        let columns: usize = self.columns.widths().iter().sum();
        columns * size_of::<T>()
    }

    /// Returns the number of rows that `out` holds, if they are complete and, starting at `start`, end
    /// by the last position.
    pub(crate) fn check<T>(&self, start: u64, out: &Out<'_, T>) -> Result<u64> {
        let rows = (out.len() / self.columns.width.max(1)) as u64;
        self.check_rows(rows, out)?;
        check_range(&(start..start.saturating_add(rows)))?;
        Ok(rows)
    }

    /// Returns an error if `out` does not hold exactly `rows` rows.
    pub(crate) fn check_rows<T>(&self, rows: u64, out: &Out<'_, T>) -> Result<()> {
        let [first, second] = self.columns.widths();
        let names = match second {
            0 => ["out"; 2],
            _ => ["cos", "sin"],
        };
        for ((width, slice), name) in [first, second].into_iter().zip(&out.0).zip(names) {
            let expected = rows * width as u64;
            if slice.len() as u64 != expected {
                return Err(Error::Length {
                    name,
                    len: slice.len(),
                    expected,
                });
            }
        }
        Ok(())
    }

    /// Writes the rows of the given positions. One row allocates nothing.
    pub(crate) fn fill_at<T: Lane>(&self, positions: &[u32], out: Out<'_, T>) -> Result<()> {
        let plan = Plan::default();
        self.each_row(positions.len(), out, &|index, row| {
            self.fill_row(plan, Position::Integer(positions[index]), row);
        })
    }

    /// Does the same at real positions.
    pub(crate) fn fill_at_reals<T: Lane>(&self, positions: &[f64], out: Out<'_, T>) -> Result<()> {
        let plan = Plan::default();
        self.each_row(positions.len(), out, &|index, mut row| {
            if !self.fill_real(plan, positions[index], row.reborrow()) {
                self.fill_row(plan, Position::Real(positions[index]), row);
            }
        })
    }

    /// Calls a function for the rows of `out`, in several threads if they are many.
    fn each_row<T: Lane>(
        &self,
        rows: usize,
        out: Out<'_, T>,
        fill: &(dyn Fn(usize, Out<'_, T>) + Sync),
    ) -> Result<()> {
        self.check_rows(rows as u64, &out)?;
        let width = self.columns.width;
        let write = |first: usize, out: Out<'_, T>| {
            for (index, row) in out.chunks(width).enumerate() {
                fill(first + index, row);
            }
        };
        // A row on its own takes as long as four by recurrence.
        let row_bytes = 4 * self.row_bytes::<T>();
        match Plan::default().threads.piece(rows as u64, row_bytes, BLOCK) {
            None => write(0, out),
            Some(piece) => threads::for_each_piece(out, piece * width, |index, out| {
                write(index * piece, out);
            }),
        }
        Ok(())
    }

    /// Writes one row at a real position in lanes. Returns `false`, and writes nothing, if they do not accept it.
    fn fill_real<T: Lane>(&self, plan: Plan, position: f64, mut row: Out<'_, T>) -> bool {
        let (columns, factor) = (&self.columns, &self.factor);
        let Source::Exact {
            frequencies,
            limbs,
            quarters,
        } = &self.source
        else {
            return false;
        };
        if !T::SINGLE || matches!(plan.method, Method::Entries(_)) {
            return false;
        }
        let of = Forms {
            frequencies,
            limbs,
            quarters: quarters.get_or_init(|| Quarters::new(limbs)),
        };
        let (arch, out) = (plan.backend.arch(), row.reborrow());
        let filled = real::fill_row(arch, of, columns, factor, position, out);
        if filled {
            self.finish_row(Position::Real(position), plan.method.rungs(), row);
        }
        filled
    }

    /// Writes one row.
    fn fill_row<T: Lane>(&self, plan: Plan, position: Position, mut row: Out<'_, T>) {
        let (columns, rungs) = (&self.columns, plan.method.rungs());
        let in_lanes = match &self.source {
            Source::Exact {
                frequencies, limbs, ..
            } if !matches!(plan.method, Method::Entries(_)) => {
                let (arch, factor) = (plan.backend.arch(), &self.factor);
                let row = row.reborrow();
                single::fill_row(arch, frequencies, limbs, columns, factor, position, row)
            }
            _ => false,
        };
        if !in_lanes {
            let mut slices = columns.split(row.reborrow());
            for pair in 0..columns.complete_pairs() {
                slices.set(pair, self.pair(pair, position, rungs));
            }
        }
        self.finish_row(position, rungs, row);
    }

    /// Writes the columns outside the complete pairs: an odd column, the row of zeros, or the pairs
    /// that do not rotate.
    fn finish_row<T: Lane>(&self, position: Position, rungs: Rungs, row: Out<'_, T>) {
        let [first, sin] = row.0;
        if self.is_padding(position) {
            first.fill(T::default());
        } else if let Some(column) = self.columns.odd_one_out() {
            first[column] = self.entry(position, rungs, column);
        } else if let Some(unrotated) = sin.get_mut(self.columns.pairs..) {
            unrotated.fill(T::default());
            first[self.columns.pairs..].fill(self.factor.rounded());
        }
    }

    fn is_padding(&self, position: Position) -> bool {
        self.padding_idx.is_some_and(|padding| match position {
            Position::Integer(p) => p == padding,
            Position::Real(t) => t == f64::from(padding),
        })
    }

    /// Computes the sine and cosine of one pair.
    pub(crate) fn pair<T: Lane>(&self, pair: usize, position: Position, rungs: Rungs) -> [T; 2] {
        match &self.source {
            Source::Exact { frequencies, .. } => {
                sincos::sin_cos(&frequencies[pair], position, &self.factor, rungs)
            }
            Source::Recipe {
                inv_freq,
                radian,
                scale,
            } => {
                let position = match position {
                    Position::Integer(p) => f64::from(p),
                    Position::Real(t) => t,
                };
                let angle = scale * (position as f32 * inv_freq[pair]);
                f32_recipe::entry_pair(radian, angle, self.factor.value as f32)
            }
        }
    }

    /// Computes the entry in a column of a single table.
    pub(crate) fn entry<T: Lane>(&self, position: Position, rungs: Rungs, column: usize) -> T {
        let (pair, function) = match self.columns.at(column) {
            Column::Sine(pair) => (pair, 0),
            Column::Cosine(pair) => (pair, 1),
            Column::Zero => return T::default(),
        };
        self.pair(pair, position, rungs)[function]
    }
}

/// Writer of consecutive rows, by the method that suits their number.
pub(crate) struct Writer<'a, T> {
    rows: &'a Rows,
    plan: Plan,
    /// Positions of the rows that are left.
    left: Range<u64>,
    recurrence: Option<Recurrence<'a, T>>,
}

impl<'a, T: Lane> Writer<'a, T> {
    /// Creates the writer of `count` rows starting at position `start`.
    pub(crate) fn new(rows: &'a Rows, plan: Plan, start: u64, count: u64) -> Self {
        let columns = &rows.columns;
        let recurrence = match &rows.source {
            Source::Exact { frequencies, .. }
                if columns.complete_pairs() > 0 && plan.recurs::<T>(count) =>
            {
                let arch = plan.backend.arch();
                Recurrence::new(arch, frequencies, columns, &rows.factor, start)
            }
            _ => None,
        };
        Self {
            rows,
            plan,
            left: start..start + count,
            recurrence,
        }
    }

    /// Writes the next rows, as many as `out` holds.
    pub(crate) fn write(&mut self, out: Out<'_, T>) {
        let width = self.rows.columns.width;
        for mut block in out.chunks(BLOCK * width) {
            if let Some(recurrence) = &mut self.recurrence {
                recurrence.write(block.reborrow());
            }
            for row in block.chunks(width) {
                let position = Position::Integer(self.left.start as u32);
                self.left.start += 1;
                if self.recurrence.is_some() {
                    self.rows.finish_row(position, Rungs::Ladder, row);
                } else {
                    self.rows.fill_row(self.plan, position, row);
                }
            }
        }
    }

    /// Does the same as [`Writer::write`] for memory of any length.
    pub(crate) fn write_checked(&mut self, out: Out<'_, T>) -> Result<()> {
        let rows = (out.len() / self.rows.columns.width) as u64;
        let left = self.left.end - self.left.start;
        self.rows.check_rows(rows.min(left), &out)?;
        self.write(out);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recipe, Sinusoidal, SinusoidalConfig};

    #[test]
    fn recurrence_needs_complete_pairs_and_exact_frequencies() {
        let paper = SinusoidalConfig::new(6);
        let lone = SinusoidalConfig {
            odd_width: crate::OddWidth::Truncate,
            ..SinusoidalConfig::new(1)
        };
        let recipe = SinusoidalConfig {
            recipe: Recipe::ExpF32,
            ..paper
        };
        let plan = Plan {
            method: Method::Recurrence,
            ..Plan::default()
        };
        let found = [lone, recipe, paper].map(|config| {
            let encoding = Sinusoidal::new(config).unwrap();
            let writer = Writer::<f32>::new(&encoding.inner.rows, plan, 7, 99);
            writer.recurrence.is_some()
        });
        assert_eq!(found, [false, false, true]);
    }
}
