//! Consecutive rows of an encoding, by the method that suits their number.

use crate::rows::columns::{Column, Columns};
use crate::rows::f32_recipe;
use crate::rows::lane::Lane;
use crate::rows::recurrence::{self, Recurrence};
use crate::rows::single::{self, Limbs};
use crate::sincos::backend::Backend;
use crate::sincos::{self, Rungs};
use crate::turns::frequency::Frequency;
use crate::turns::position::Position;

/// The frequencies of the entries.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Exact {
        frequencies: Vec<Frequency>,
        limbs: Limbs,
    },
    Recipe {
        inv_freq: Vec<f32>,
        radian: Frequency,
    },
}

/// The rows of an encoding.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) columns: Columns,
    pub(crate) source: Source,
    /// Position of the row of zeros.
    pub(crate) padding_idx: Option<u32>,
}

impl Rows {
    /// Creates the writer of `rows` consecutive rows, by the method that suits their number.
    pub(crate) fn writer<T: Lane>(
        &self,
        backend: Backend,
        rungs: Rungs,
        start: u64,
        rows: u64,
    ) -> Writer<'_, T> {
        let columns = &self.columns;
        let many = rows >= recurrence::few_rows::<T>() as u64;
        let recurrence = match &self.source {
            Source::Exact { frequencies, .. }
                if columns.complete_pairs() > 0
                    && rows > 0
                    && (rungs == Rungs::Recurrence || rungs == Rungs::Ladder && many) =>
            {
                let start = start as u32;
                Some(Recurrence::new(backend.arch(), frequencies, columns, start))
            }
            _ => None,
        };
        Writer {
            rows: self,
            backend,
            rungs,
            position: start,
            recurrence,
        }
    }

    /// Writes one row.
    pub(crate) fn fill_row<T: Lane>(
        &self,
        backend: Backend,
        position: Position,
        rungs: Rungs,
        row: &mut [T],
    ) {
        let columns = &self.columns;
        match (&self.source, position) {
            (Source::Exact { frequencies, limbs }, Position::Integer(position))
                if rungs == Rungs::Ladder =>
            {
                single::fill_row(backend.arch(), frequencies, limbs, columns, position, row);
            }
            _ => {
                for pair in 0..columns.complete_pairs() {
                    let (sine, cosine) = self.pair(pair, position, rungs);
                    let (s, c) = columns.of_pair(pair);
                    row[s] = sine;
                    row[c] = cosine;
                }
            }
        }
        self.finish_row(position, rungs, row);
    }

    /// Writes the columns outside the complete pairs: an odd column, or the row of zeros.
    pub(crate) fn finish_row<T: Lane>(&self, position: Position, rungs: Rungs, row: &mut [T]) {
        if self.is_padding(position) {
            row.fill(T::default());
        } else if let Some(column) = self.columns.odd_one_out() {
            row[column] = self.entry(position, rungs, column);
        }
    }

    fn is_padding(&self, position: Position) -> bool {
        let Some(padding) = self.padding_idx else {
            return false;
        };
        match position {
            Position::Integer(p) => p == padding,
            Position::Real(t) => t == f64::from(padding),
        }
    }

    /// Computes the sine and cosine of one pair.
    pub(crate) fn pair<T: Lane>(&self, pair: usize, position: Position, rungs: Rungs) -> (T, T) {
        match &self.source {
            Source::Exact { frequencies, .. } => {
                sincos::sin_cos(&frequencies[pair], position, rungs)
            }
            Source::Recipe { inv_freq, radian } => {
                let position = match position {
                    Position::Integer(p) => f64::from(p),
                    Position::Real(t) => t,
                };
                f32_recipe::entry_pair(radian, inv_freq[pair], position)
            }
        }
    }

    pub(crate) fn entry<T: Lane>(&self, position: Position, rungs: Rungs, column: usize) -> T {
        match self.columns.at(column) {
            Column::Sine(pair) => self.pair(pair, position, rungs).0,
            Column::Cosine(pair) => self.pair(pair, position, rungs).1,
            Column::Zero => T::default(),
        }
    }
}

/// Writer of consecutive rows, block after block.
pub(crate) struct Writer<'a, T> {
    rows: &'a Rows,
    backend: Backend,
    rungs: Rungs,
    /// Position of the next row.
    position: u64,
    recurrence: Option<Recurrence<'a, T>>,
}

impl<T: Lane> Writer<'_, T> {
    /// Writes the next [`BLOCK`](recurrence::BLOCK) rows, or fewer.
    pub(crate) fn write(&mut self, block: &mut [T]) {
        if let Some(recurrence) = &mut self.recurrence {
            recurrence.write(block);
        }
        for row in block.chunks_exact_mut(self.rows.columns.width) {
            let position = Position::Integer(self.position as u32);
            self.position += 1;
            if self.recurrence.is_some() {
                self.rows.finish_row(position, self.rungs, row);
            } else {
                self.rows.fill_row(self.backend, position, self.rungs, row);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recipe, Sinusoidal, SinusoidalConfig, f16};

    fn uses_recurrence<T: Lane>(config: SinusoidalConfig, rungs: Rungs, rows: u64) -> bool {
        let encoding = Sinusoidal::new(config).unwrap();
        let writer = encoding
            .inner
            .rows
            .writer::<T>(Backend::best(), rungs, 7, rows);
        writer.recurrence.is_some()
    }

    /// Both methods produce the same bits, so tests that force the recurrence would prove nothing
    /// without it.
    #[test]
    fn recurrence_serves_many_rows_and_tests_that_force_it() {
        fn check<T: Lane>() {
            let many = recurrence::few_rows::<T>() as u64;
            assert!(many > 2);
            for (rungs, rows, expected) in [
                (Rungs::Ladder, 0, false),
                (Rungs::Ladder, 1, false),
                (Rungs::Ladder, many - 1, false),
                (Rungs::Ladder, many, true),
                (Rungs::Ladder, many + 1, true),
                (Rungs::Recurrence, 0, false),
                (Rungs::Recurrence, 1, true),
                (Rungs::Recurrence, many, true),
                (Rungs::From128, 1, false),
                (Rungs::From128, many, false),
                (Rungs::Only320, many, false),
            ] {
                let found = uses_recurrence::<T>(SinusoidalConfig::new(6), rungs, rows);
                assert_eq!(found, expected, "{}, {rungs:?}, {rows} rows", T::TYPE);
            }
        }
        check::<f32>();
        check::<f64>();
        check::<f16>();
    }

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
        let found = [lone, recipe, paper]
            .map(|config| uses_recurrence::<f32>(config, Rungs::Recurrence, 99));
        assert_eq!(found, [false, false, true]);
    }
}
