//! Rows of several axes put together: each axis' rows are computed once per coordinate, and copied to the
//! tokens that have it.

use std::cmp::Ordering;

use crate::error::Result;
use crate::families::rotary::frequencies::RotaryFrequencies;
use crate::families::rotary::tables::{CosSin, signed};
use crate::limits::POSITIONS;
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::rows::recurrence::BLOCK;
use crate::rows::threads::{Threads, for_each_piece};
use crate::spec::direction::Direction;
use crate::table::Table;

/// Coordinates of an axis: the distinct values, in ascending order, and which of them each token has.
#[derive(Debug)]
pub(crate) struct Coordinates {
    values: Vec<f64>,
    tokens: Vec<u32>,
}

impl Coordinates {
    /// Creates the coordinates of tokens, each an index of a list of values.
    pub(crate) fn new(values: Vec<f64>, tokens: Vec<u32>) -> Self {
        Self { values, tokens }
    }

    /// Finds the distinct values of a list, all of which are finite.
    pub(crate) fn of(list: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        // Adding zero makes a negative zero positive.
        let list = list.map(|value| value + 0.0);
        let ends = list.clone().fold(None, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        let Some((low, high)) = ends else {
            return Self::new(Vec::new(), Vec::new());
        };
        // A complete range takes less time than its distinct values, unless it is mostly gaps.
        let dense = low >= 0.0 && high - low < 2.0 * list.len() as f64;
        if dense && list.clone().all(is_position) {
            let values = (low as u64..=high as u64).map(|value| value as f64);
            return Self {
                values: values.collect(),
                tokens: list.map(|value| (value - low) as u32).collect(),
            };
        }
        let mut values: Vec<f64> = list.clone().collect();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        let index = |value: f64| values.partition_point(|v| v.total_cmp(&value) == Ordering::Less);
        let tokens = list.map(|value| index(value) as u32).collect();
        Self { values, tokens }
    }

    /// Returns the value of each token.
    pub(crate) fn to_positions(&self) -> Vec<f64> {
        let tokens = self.tokens.iter();
        tokens.map(|token| self.values[*token as usize]).collect()
    }

    /// Computes the rows of the distinct values.
    fn rows<T: Element>(&self, frequencies: &RotaryFrequencies) -> Result<CosSin<T>> {
        let values = &self.values;
        if !values.iter().all(|value| is_position(value.abs())) {
            return frequencies.tables_at_reals(values);
        }
        let consecutive = values.windows(2).all(|pair| pair[1] == pair[0] + 1.0);
        if let Some(first) = values.first().filter(|first| consecutive && **first >= 0.0) {
            let first = *first as u64;
            return frequencies.tables(first..first + values.len() as u64);
        }
        let sizes: Vec<u32> = values.iter().map(|value| value.abs() as u32).collect();
        let mut rows = frequencies.tables_at(&sizes)?;
        let sines = rows.sin.as_mut_slice().chunks_mut(frequencies.pairs());
        for (value, sines) in values.iter().zip(sines) {
            if *value < 0.0 {
                signed(Direction::Clockwise, sines);
            }
        }
        Ok(rows)
    }
}

/// Returns whether a value is an integer that fast rows have.
fn is_position(value: f64) -> bool {
    value >= 0.0 && value < POSITIONS as f64 && value.trunc() == value
}

/// Columns of the entries of an axis in the row of a token.
#[derive(Debug)]
struct Part {
    frequencies: RotaryFrequencies,
    /// `len` entries starting at `from` belong to the places starting at `to`.
    runs: Vec<Run>,
}

#[derive(Debug, PartialEq)]
struct Run {
    from: usize,
    to: usize,
    len: usize,
}

/// The rows of tokens, composed of the rows of axes.
#[derive(Debug)]
pub(crate) struct Assembly {
    leading: usize,
    width: usize,
    parts: Vec<Part>,
}

/// Number of tokens before and after those of each sequence that are not rotated.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Unrotated {
    pub(crate) before: usize,
    pub(crate) after: usize,
}

impl Unrotated {
    /// Returns the number of both.
    pub(crate) fn count(self) -> u64 {
        (self.before as u64).saturating_add(self.after as u64)
    }
}

impl Assembly {
    /// Creates rows of `leading` pairs that do not rotate, and one pair for each entry of `places`: an
    /// axis, and an index in its frequencies.
    pub(crate) fn new(
        frequencies: impl IntoIterator<Item = RotaryFrequencies>,
        leading: usize,
        places: &[(usize, usize)],
    ) -> Self {
        let part = |(axis, frequencies)| {
            let mut runs: Vec<Run> = Vec::new();
            for (to, (of, from)) in (leading..).zip(places) {
                if *of != axis {
                    continue;
                }
                match runs.last_mut() {
                    Some(run) if (run.from + run.len, run.to + run.len) == (*from, to) => {
                        run.len += 1;
                    }
                    _ => runs.push(Run {
                        from: *from,
                        to,
                        len: 1,
                    }),
                }
            }
            Part { frequencies, runs }
        };
        Self {
            leading,
            width: leading + places.len(),
            parts: frequencies.into_iter().enumerate().map(part).collect(),
        }
    }

    /// Computes the tables of sequences with equal numbers of tokens. All axes have coordinates of the
    /// tokens of all sequences.
    pub(crate) fn tables<T: Element>(
        &self,
        coordinates: &[Coordinates],
        sequences: usize,
        unrotated: Unrotated,
    ) -> Result<CosSin<T>> {
        let lines = Lines::new(self, coordinates, sequences, unrotated)?;
        let [cos, sin] = match Threads::Auto.piece_of_new(lines.total, lines.row_bytes(), 1) {
            None => {
                let mut first = 0;
                Table::build(lines.total, [self.width; 2], BLOCK, &mut |block| {
                    lines.write(first, Out(block));
                    first += BLOCK;
                })?
            }
            Some(_) => {
                let zeros = || Table::zeros(lines.total, self.width);
                let mut tables = [zeros()?, zeros()?];
                lines.write_all(Out(tables.each_mut().map(Table::as_mut_slice)));
                tables
            }
        };
        Ok(CosSin { cos, sin })
    }

    /// Writes the tables of one sequence, which `out` must hold exactly.
    pub(crate) fn fill<T: Element>(
        &self,
        coordinates: &[Coordinates],
        unrotated: Unrotated,
        out: Out<'_, T>,
    ) -> Result<()> {
        Lines::new(self, coordinates, 1, unrotated)?.write_all(out);
        Ok(())
    }
}

/// The rows of sequences with equal numbers of tokens, ready to be written.
struct Lines<'a, T> {
    assembly: &'a Assembly,
    /// The parts with the coordinates of all tokens, and the rows of the distinct coordinates.
    parts: Vec<(&'a Part, &'a Coordinates, CosSin<T>)>,
    /// Tokens of a sequence, and rows with those that are not rotated.
    time: usize,
    steps: usize,
    before: usize,
    /// Number of rows.
    total: u64,
}

impl<'a, T: Element> Lines<'a, T> {
    fn new(
        assembly: &'a Assembly,
        coordinates: &'a [Coordinates],
        sequences: usize,
        unrotated: Unrotated,
    ) -> Result<Self> {
        let tokens = coordinates.first().map_or(0, |list| list.tokens.len());
        let Unrotated { before, after } = unrotated;
        let time = tokens.checked_div(sequences).unwrap_or(0);
        let steps = before.saturating_add(time).saturating_add(after);
        let mut parts = Vec::with_capacity(assembly.parts.len());
        for (part, list) in assembly.parts.iter().zip(coordinates) {
            if !part.runs.is_empty() {
                parts.push((part, list, list.rows::<T>(&part.frequencies)?));
            }
        }
        Ok(Self {
            assembly,
            parts,
            time,
            steps,
            before,
            total: (steps as u64).saturating_mul(sequences as u64),
        })
    }

    /// Returns the bytes of a row of cosines and sines.
    fn row_bytes(&self) -> usize {
        2 * self.assembly.width * size_of::<T>()
    }

    fn write_all(&self, out: Out<'_, T>) {
        match Threads::Auto.piece(self.total, self.row_bytes(), 1) {
            None => self.write(0, out),
            Some(piece) => for_each_piece(out, piece * self.assembly.width, |index, out| {
                self.write(index * piece, out);
            }),
        }
    }

    /// Writes rows starting at number `first` until `out` is full.
    fn write(&self, first: usize, out: Out<'_, T>) {
        let Assembly { leading, width, .. } = *self.assembly;
        let (one, zero) = (T::from_f64(1.0), T::default());
        let [cos, sin] = out.0;
        for (row, (cos, sin)) in (first..).zip(cos.chunks_mut(width).zip(sin.chunks_mut(width))) {
            let (sequence, step) = (row / self.steps, row % self.steps);
            if step < self.before || step - self.before >= self.time {
                cos.fill(one);
                sin.fill(zero);
                continue;
            }
            let token = sequence * self.time + (step - self.before);
            cos[..leading].fill(one);
            sin[..leading].fill(zero);
            for (part, list, of_axis) in &self.parts {
                let n = part.frequencies.pairs();
                let start = list.tokens[token] as usize * n;
                let source = start..start + n;
                copy(&part.runs, &of_axis.cos.as_slice()[source.clone()], cos);
                copy(&part.runs, &of_axis.sin.as_slice()[source], sin);
            }
        }
    }
}

/// Copies the entries of an axis' row to their places.
fn copy<T: Copy>(runs: &[Run], from: &[T], to: &mut [T]) {
    for run in runs {
        if run.len == 1 {
            to[run.to] = from[run.from];
        } else {
            to[run.to..run.to + run.len].copy_from_slice(&from[run.from..run.from + run.len]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rotary, RotaryConfig};

    #[test]
    fn coordinates_are_distinct_and_in_order() {
        let of = |list: &[f64]| {
            let found = Coordinates::of(list.iter().copied());
            let back = found.tokens.iter().map(|t| found.values[*t as usize]);
            assert!(back.eq(list.iter().copied()), "{list:?}");
            found.values
        };
        assert!(of(&[]).is_empty());
        assert_eq!(of(&[7.0, 5.0, 7.0]), [5.0, 6.0, 7.0]); // a range, with a gap
        assert_eq!(of(&[70.0, 5.0, 70.0]), [5.0, 70.0]);
        assert_eq!(of(&[1.0, -1.0, 0.0, 1.0]), [-1.0, 0.0, 1.0]);
        assert_eq!(of(&[0.5, 0.0, -0.0, 0.5]), [0.0, 0.5]);
        assert!(of(&[0.0, -0.0])[0].is_sign_positive());
        assert_eq!(of(&[4_294_967_296.0; 2]), [4_294_967_296.0]);
    }

    /// The rows of ranges, of single integers, and of real numbers are the same where they meet.
    #[test]
    fn rows_do_not_depend_on_their_neighbors() -> Result<()> {
        let frequencies = Rotary::new(RotaryConfig::new(10))?.frequencies(0)?;
        let of = |values: Vec<f64>| Coordinates::new(values, Vec::new()).rows::<f32>(&frequencies);
        let reals = of(vec![-3.0, 0.0, 4.0, 5.0, 6.5])?;
        let integers = of(vec![-3.0, 0.0, 4.0, 5.0])?;
        let range = of(vec![4.0, 5.0])?;
        assert_eq!(reals.sin.row(0).map(|row| row[0]), Some(-0.14112));
        for (row, real) in (0..4).zip(0..4) {
            assert_eq!(integers.sin.row(row), reals.sin.row(real));
            assert_eq!(integers.cos.row(row), reals.cos.row(real));
        }
        for row in 0..2 {
            assert_eq!(range.sin.row(row), reals.sin.row(row + 2));
        }
        Ok(())
    }

    #[test]
    fn neighbors_are_copied_together() -> Result<()> {
        let frequencies = Rotary::new(RotaryConfig::new(6))?.frequencies(0)?;
        let places = [(0, 0), (0, 1), (1, 0), (0, 2), (1, 2), (1, 1)];
        let assembly = Assembly::new([frequencies.clone(), frequencies], 2, &places);
        let runs: Vec<Vec<[usize; 3]>> = assembly
            .parts
            .iter()
            .map(|part| {
                part.runs
                    .iter()
                    .map(|run| [run.from, run.to, run.len])
                    .collect()
            })
            .collect();
        assert_eq!(runs[0], [[0, 2, 2], [2, 5, 1]]);
        assert_eq!(runs[1], [[0, 4, 1], [2, 6, 1], [1, 7, 1]]);
        Ok(())
    }
}
