//! Tables of cosines and sines.

use std::ops::Range;

use crate::error::Result;
use crate::families::rotary::frequencies::RotaryFrequencies;
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::rows::plan::Plan;
use crate::rows::writer::Rows;
use crate::spec::direction::Direction;
use crate::table::Table;
use crate::turns::position::check_reals;

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
    /// Entries are `attention_factor x cos(position x inv_freq)`, and of the sine with the sign of
    /// [`direction`](Self::direction), rounded once to the nearest value
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
        let [cos, mut sin] = T::tables(&self.inner.rows, Plan::default(), positions)?;
        signed(self.direction, sin.as_mut_slice());
        Ok(CosSin { cos, sin })
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
        self.rows_at(positions.len(), |rows, out| {
            T::fill_at(rows, positions, out)
        })
    }

    /// Computes cosines and sines of real positions, including negative and fractional ones. Each
    /// position is the exact value of its `f64`.
    ///
    /// ```
    /// use pe_core::{Rotary, RotaryConfig};
    ///
    /// let frequencies = Rotary::new(RotaryConfig::new(2))?.frequencies(0)?;
    /// let tables = frequencies.tables_at_reals::<f64>(&[-0.5, 3.0])?;
    /// assert_eq!(tables.sin.as_slice(), [-0.479425538604203, 0.1411200080598672]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a position is not finite or exceeds 2^53 in magnitude. Also returns the
    /// errors of [`RotaryFrequencies::tables_at`].
    pub fn tables_at_reals<T: Element>(&self, positions: &[f64]) -> Result<CosSin<T>> {
        check_reals(positions)?;
        self.rows_at(positions.len(), |rows, out| {
            T::fill_at_reals(rows, positions, out)
        })
    }

    fn rows_at<T: Element>(
        &self,
        rows: usize,
        fill: impl FnOnce(&Rows, Out<'_, T>) -> Result<()>,
    ) -> Result<CosSin<T>> {
        let zeros = || Table::zeros(rows as u64, self.pairs());
        let (mut cos, mut sin) = (zeros()?, zeros()?);
        let out = Out([cos.as_mut_slice(), sin.as_mut_slice()]);
        fill(&self.inner.rows, out)?;
        signed(self.direction, sin.as_mut_slice());
        Ok(CosSin { cos, sin })
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
        T::fill(&self.inner.rows, Plan::default(), start, Out([cos, sin]))?;
        signed(self.direction, sin);
        Ok(())
    }
}

/// Gives the sines of counterclockwise rotations the sign of a direction, exactly.
pub(crate) fn signed<T: Element>(direction: Direction, sines: &mut [T]) {
    if direction == Direction::Clockwise {
        for sine in sines {
            *sine = T::from_f64(-sine.to_f64());
        }
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::rows::plan::Method;
    use crate::sincos::Rungs;
    use crate::sincos::backend::Backend;
    use crate::{RopeScaling, Rotary, RotaryConfig};

    /// Factors at the ends of the range that the recurrence accepts, and just beyond.
    #[test]
    fn factors_at_the_ends_of_the_range_round_once() -> Result<()> {
        fn check<T: Element>(frequencies: &RotaryFrequencies, start: u64) -> Result<()> {
            let patterns = |plan| -> Result<Vec<u64>> {
                let len = 300 * frequencies.pairs();
                let (mut cos, mut sin) = (vec![T::default(); len], vec![T::default(); len]);
                let out = Out([&mut cos, &mut sin]);
                T::fill(&frequencies.inner.rows, plan, start, out)?;
                let entries = cos.iter().chain(&sin);
                Ok(entries.map(|entry| entry.pattern()).collect())
            };
            let plan = Plan {
                method: Method::Entries(Rungs::Only320),
                ..Plan::default()
            };
            let wanted = patterns(plan)?;
            for (name, backend) in Backend::available() {
                for method in [Method::Recurrence, Method::Auto] {
                    let plan = Plan {
                        backend,
                        method,
                        ..plan
                    };
                    assert!(patterns(plan)? == wanted, "{} {name} from {start}", T::NAME);
                }
            }
            Ok(())
        }
        let below = |x: f64| f64::from_bits(x.to_bits() - 1);
        for factor in [
            below(1.0 / 1024.0),
            1.0 / 1024.0,
            0.0317,
            below(0.5),
            below(1.0),
            1.0 + f64::EPSILON,
            1.9,
            2.0,
            30.7,
            below(1024.0),
            1024.0,
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
                check::<f64>(&frequencies, start)?;
                check::<f32>(&frequencies, start)?;
                check::<f16>(&frequencies, start)?;
                check::<bf16>(&frequencies, start)?;
            }
        }
        Ok(())
    }
}
