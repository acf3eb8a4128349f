//! Tables of cosines and sines.

use std::ops::Range;

use pulp::Arch;

use crate::error::{Error, Result};
use crate::families::rotary::frequencies::{Inner, RotaryFrequencies, RotatedPairs, Source};
use crate::rows::element::Element;
use crate::rows::f32_recipe;
use crate::rows::recurrence::{self, BLOCK, Recurrence};
use crate::rows::single;
use crate::sincos::backend::Backend;
use crate::sincos::scaled;
use crate::sincos::{self, Rungs};
use crate::table::Table;
use crate::turns::frequency::Frequency;
use crate::turns::position::{Position, check_range};

/// Cosines and sines of the same positions, `[positions, pairs]` each, multiplied by the attention
/// factor.
#[derive(Debug, Clone, PartialEq)]
pub struct CosSin<T> {
    /// The cosines.
    pub cos: Table<T>,
    /// The sines.
    pub sin: Table<T>,
}

impl RotaryFrequencies {
    /// Computes cosines and sines of the positions `start .. end`, one row each.
    ///
    /// Entries are `attention_factor x cos(position x inv_freq)`, rounded once to the nearest value
    /// of `T` (or the values of the recipe `hf-f32`). The bits depend neither on the machine nor on
    /// how a range is divided into calls.
    ///
    /// ```
    /// use pe_core::{Rotary, RotaryConfig};
    ///
    /// let tables = Rotary::new(RotaryConfig::new(8))?.frequencies(0)?.tables::<f32>(0..10)?;
    /// assert_eq!((tables.cos.rows(), tables.cos.width()), (10, 4));
    /// assert_eq!(tables.sin.row(0), Some(&[0.0; 4][..]));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the range descends or ends above 2^32,
    /// - a table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES),
    /// - memory is exhausted.
    pub fn tables<T: Element>(&self, positions: Range<u64>) -> Result<CosSin<T>> {
        check_range(&positions)?;
        let mut tables = self.zeros(positions.end - positions.start)?;
        let CosSin { cos, sin } = &mut tables;
        self.fill(positions.start, cos.as_mut_slice(), sin.as_mut_slice())?;
        Ok(tables)
    }

    /// Computes cosines and sines of any positions in any order, one row each.
    ///
    /// ```
    /// use pe_core::{Rotary, RotaryConfig};
    ///
    /// let frequencies = Rotary::new(RotaryConfig::new(8))?.frequencies(0)?;
    /// let packed = frequencies.tables_at::<f32>(&[0, 1, 2, 0, 1])?;
    /// assert_eq!(packed.cos.row(1), packed.cos.row(4));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or if
    /// memory is exhausted.
    pub fn tables_at<T: Element>(&self, positions: &[u32]) -> Result<CosSin<T>> {
        let mut tables = self.zeros(positions.len() as u64)?;
        let CosSin { cos, sin } = &mut tables;
        let pairs = self.pairs().max(1);
        let mut row = RowWriter::new(&self.inner, Backend::best(), Rungs::Ladder);
        for ((position, cos), sin) in positions
            .iter()
            .zip(cos.as_mut_slice().chunks_exact_mut(pairs))
            .zip(sin.as_mut_slice().chunks_exact_mut(pairs))
        {
            row.write(*position, cos, sin);
        }
        Ok(tables)
    }

    fn zeros<T: Element>(&self, rows: u64) -> Result<CosSin<T>> {
        Ok(CosSin {
            cos: Table::zeros(rows, self.pairs())?,
            sin: Table::zeros(rows, self.pairs())?,
        })
    }

    /// Writes the rows of consecutive positions from `start` into `cos` and `sin` until they are
    /// full.
    ///
    /// ```
    /// use pe_core::{Rotary, RotaryConfig};
    ///
    /// let frequencies = Rotary::new(RotaryConfig::new(8))?.frequencies(0)?;
    /// let (mut cos, mut sin) = ([0f32; 2 * 4], [0f32; 2 * 4]);
    /// frequencies.fill(5, &mut cos, &mut sin)?;
    /// assert_eq!(cos, frequencies.tables::<f32>(5..7)?.cos.as_slice());
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the lengths differ or are not a multiple of the number of pairs, or if
    /// the rows extend past 2^32.
    pub fn fill<T: Element>(&self, start: u64, cos: &mut [T], sin: &mut [T]) -> Result<()> {
        self.fill_with(Backend::best(), Rungs::Ladder, start, cos, sin)
    }

    /// Does the same as [`RotaryFrequencies::fill`] on a given instruction set and with given
    /// rungs. The tests compare them all.
    #[doc(hidden)]
    pub fn fill_with<T: Element>(
        &self,
        backend: Backend,
        rungs: Rungs,
        start: u64,
        cos: &mut [T],
        sin: &mut [T],
    ) -> Result<()> {
        let pairs = self.pairs();
        let rows = cos.len().checked_div(pairs).unwrap_or(0);
        for (what, actual) in [
            ("the slice of cosines", cos.len()),
            ("the slice of sines", sin.len()),
        ] {
            let expected = rows as u64 * pairs as u64;
            if actual as u64 != expected {
                return Err(Error::Length {
                    what,
                    actual,
                    expected,
                });
            }
        }
        check_range(&(start..start.saturating_add(rows as u64)))?;
        if rows == 0 {
            return Ok(());
        }
        if let Source::Exact { rotated, .. } = &self.inner.source
            && !rotated.frequencies.is_empty()
        {
            let many =
                |few: usize| rungs == Rungs::Recurrence || rungs == Rungs::Ladder && rows >= few;
            let factor = self.inner.attention_factor;
            let from = (backend.arch(), start as u32);
            if recurrence::accepts_factor::<T>(factor) && many(recurrence::few_rows::<T>()) {
                let recurrence = (rotated, from, factor);
                fill_by_recurrence::<T, T>(recurrence, cos, sin, pairs, |_, [s, c], [sin, cos]| {
                    sin[..s.len()].copy_from_slice(s);
                    cos[..c.len()].copy_from_slice(c);
                    fill_unrotated(factor, s.len(), cos, sin);
                });
                return Ok(());
            }
            if factor != 1.0 && T::SINGLE && many(recurrence::few_rows::<f64>()) {
                let frequencies = &rotated.frequencies;
                let recurrence = (rotated, from, 1.0);
                fill_by_recurrence::<T, f64>(
                    recurrence,
                    cos,
                    sin,
                    pairs,
                    |at, [s, c], [sin, cos]| {
                        scaled::scale_row(frequencies, at, factor, s, c, sin, cos);
                        fill_unrotated(factor, s.len(), cos, sin);
                    },
                );
                return Ok(());
            }
        }
        let mut row = RowWriter::new(&self.inner, backend, rungs);
        let rows = cos.chunks_exact_mut(pairs).zip(sin.chunks_exact_mut(pairs));
        for (position, (cos, sin)) in (start..).zip(rows) {
            row.write(position as u32, cos, sin);
        }
        Ok(())
    }
}

/// Fills rows of `pairs` cosines and sines each, on lanes of type `L`. `finish` builds one row from
/// its position and from the sines and cosines of the rotated pairs, times `factor`. The arrays
/// hold sines first.
fn fill_by_recurrence<T: Element, L: Element>(
    (rotated, (arch, start), factor): (&RotatedPairs, (Arch, u32), f64),
    cos: &mut [T],
    sin: &mut [T],
    pairs: usize,
    finish: impl Fn(u32, [&[L]; 2], [&mut [T]; 2]),
) {
    let RotatedPairs {
        frequencies,
        columns,
        ..
    } = rotated;
    let mut recurrence = Recurrence::<L>::scaled(arch, frequencies, columns, start, factor);
    let rows = (cos.len() / pairs).min(BLOCK);
    let mut block = vec![L::default(); rows * columns.width];
    let mut position = start;
    for (cos, sin) in cos
        .chunks_mut(BLOCK * pairs)
        .zip(sin.chunks_mut(BLOCK * pairs))
    {
        let block = &mut block[..cos.len() / pairs * columns.width];
        recurrence.write(block);
        let outs = cos.chunks_exact_mut(pairs).zip(sin.chunks_exact_mut(pairs));
        for (row, (cos, sin)) in block.chunks_exact(columns.width).zip(outs) {
            let (sines, cosines) = row.split_at(frequencies.len());
            finish(position, [sines, cosines], [sin, cos]);
            position = position.wrapping_add(1);
        }
    }
}

/// Fills the pairs after the last rotated one.
fn fill_unrotated<T: Element>(factor: f64, rotated: usize, cos: &mut [T], sin: &mut [T]) {
    cos[rotated..].fill(T::from_f64(factor));
    sin[rotated..].fill(T::default());
}

/// Writer of single rows.
struct RowWriter<'a, T> {
    set: &'a Inner,
    backend: Backend,
    rungs: Rungs,
    /// Sines and cosines of the rotated pairs.
    row: Vec<T>,
    radian: Frequency,
}

impl<'a, T: Element> RowWriter<'a, T> {
    fn new(set: &'a Inner, backend: Backend, rungs: Rungs) -> Self {
        let width = match &set.source {
            Source::Exact { rotated, .. } if set.attention_factor == 1.0 => rotated.columns.width,
            _ => 0,
        };
        Self {
            set,
            backend,
            rungs,
            row: vec![T::default(); width],
            radian: Frequency::one(),
        }
    }

    fn write(&mut self, position: u32, cos: &mut [T], sin: &mut [T]) {
        let factor = self.set.attention_factor;
        match &self.set.source {
            Source::Exact { rotated, .. } => {
                let RotatedPairs {
                    frequencies,
                    limbs,
                    columns,
                } = rotated;
                let pairs = frequencies.len();
                if factor == 1.0 && T::SINGLE && self.rungs == Rungs::Ladder {
                    let arch = self.backend.arch();
                    single::fill_row(arch, frequencies, limbs, columns, position, &mut self.row);
                    sin[..pairs].copy_from_slice(&self.row[..pairs]);
                    cos[..pairs].copy_from_slice(&self.row[pairs..]);
                } else {
                    for (pair, frequency) in frequencies.iter().enumerate() {
                        (sin[pair], cos[pair]) = if factor == 1.0 {
                            sincos::sin_cos(frequency, Position::Integer(position), self.rungs)
                        } else {
                            scaled::sin_cos(frequency, position, factor, self.rungs)
                        };
                    }
                }
                fill_unrotated(factor, pairs, cos, sin);
            }
            Source::F32(inv_freq) => {
                f32_recipe::fill_row(&self.radian, inv_freq, factor as f32, position, cos, sin);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::{RopeScaling, Rotary, RotaryConfig};

    /// Factors at the ends of the range that the recurrence accepts, and just beyond.
    #[test]
    fn factors_at_the_ends_of_the_range_round_once() -> Result<()> {
        fn check<T: Element>(frequencies: &RotaryFrequencies, start: u64) -> Result<()> {
            let patterns = |backend, rungs| -> Result<Vec<u64>> {
                let len = 300 * frequencies.pairs();
                let (mut cos, mut sin) = (vec![T::default(); len], vec![T::default(); len]);
                frequencies.fill_with(backend, rungs, start, &mut cos, &mut sin)?;
                Ok(cos
                    .iter()
                    .chain(&sin)
                    .map(|entry| entry.pattern())
                    .collect())
            };
            let wanted = patterns(Backend::best(), Rungs::Only320)?;
            for (name, backend) in Backend::available() {
                let found = patterns(backend, Rungs::Recurrence)?;
                assert!(found == wanted, "{} {name} from {start}", T::NAME);
            }
            Ok(())
        }
        let below = |x: f64| f64::from_bits(x.to_bits() - 1);
        for factor in [
            below(0.5),
            0.5,
            below(1.0),
            1.0 + f64::EPSILON,
            1.9,
            below(2.0),
            2.0,
        ] {
            let inv_freq = vec![1.0, 0.731, 0.0123, 1e-5, 3.3e-9, 0.0];
            let rotary = Rotary::new(RotaryConfig {
                scaling: RopeScaling::Custom {
                    inv_freq,
                    attention_factor: factor,
                },
                ..RotaryConfig::new(12)
            })?;
            let frequencies = rotary.frequencies(0)?;
            for start in [0, 77_777, (1 << 32) - 300] {
                check::<f32>(&frequencies, start)?;
                check::<f16>(&frequencies, start)?;
                check::<bf16>(&frequencies, start)?;
            }
        }
        Ok(())
    }
}
