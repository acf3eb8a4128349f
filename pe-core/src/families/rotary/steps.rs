//! Rows for steps of decoding, each with the frequencies of its own sequence length.

use std::ops::Range;

use crate::error::Result;
use crate::families::rotary::Rotary;
use crate::families::rotary::tables::{CosSin, signed};
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::table::Table;
use crate::turns::frequency::Frequency;
use crate::turns::position::check_range;
use crate::turns::scaling;

impl Rotary {
    /// Computes cosines and sines of the positions `start .. end`, one row each, where the row of position `p` has the
    /// frequencies of a sequence that ends with it: [`frequencies(p + 1)`](Self::frequencies).
    ///
    /// These are the rows that incremental decoding needs, one for each step. With dynamic NTK every step has frequencies of
    /// its own, and several rows at once take less time than one by one. With scalings that do not depend on the length,
    /// [`RotaryFrequencies::tables`](crate::RotaryFrequencies::tables) computes the same rows faster.
    ///
    /// ```
    /// use pe_core::{RopeScaling, Rotary, RotaryConfig};
    ///
    /// let rotary = Rotary::new(RotaryConfig {
    ///     scaling: RopeScaling::Dynamic { factor: 2.0 },
    ///     max_position_embeddings: Some(64),
    ///     ..RotaryConfig::new(8)
    /// })?;
    /// let steps = rotary.step_tables::<f32>(100..103)?;
    /// let last = rotary.frequencies(103)?.tables::<f32>(102..103)?;
    /// assert_eq!(steps.cos.row(2), last.cos.row(0));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the range descends or ends above 2^32,
    /// - a table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or memory is exhausted,
    /// - a frequency of a length-dependent scaling leaves the supported range.
    pub fn step_tables<T: Element>(&self, positions: Range<u64>) -> Result<CosSin<T>> {
        check_range(&positions)?;
        let (rows, pairs) = (positions.end - positions.start, self.pairs());
        let (mut cos, mut sin) = (Table::zeros(rows, pairs)?, Table::zeros(rows, pairs)?);
        let direction = self.config().direction;
        let quick = self.inner.quick.as_ref().filter(|_| T::SINGLE);
        let mut steps = quick.map(|quick| quick.steps());
        let mut angles = vec![0; pairs];
        let cosines = cos.as_mut_slice().chunks_mut(pairs);
        for (position, (cos, sin)) in
            positions.zip(cosines.zip(sin.as_mut_slice().chunks_mut(pairs)))
        {
            let seq_len = (position as usize).saturating_add(1);
            let Some(phases) = steps.as_mut().and_then(|steps| steps.phases(seq_len)) else {
                self.frequencies(seq_len)?.fill(position, cos, sin)?;
                continue;
            };
            for (angle, phase) in angles.iter_mut().zip(phases) {
                *angle = (phase.0.wrapping_mul(u128::from(position)) >> 64) as u64;
            }
            let wide = || self.wide(seq_len);
            T::fill_angles(&angles, &wide, position as u32, Out([cos, sin]));
            signed(direction, sin);
        }
        Ok(CosSin { cos, sin })
    }

    /// Returns the frequencies of a length with dynamic scaling in full width.
    fn wide(&self, seq_len: usize) -> Vec<Frequency> {
        let context = self.config().context(seq_len, self.inner.ln_base);
        let radians = scaling::radians(&self.config().scaling, &context);
        radians.into_iter().map(Frequency::from_radians).collect()
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::rows::element::Compiled;
    use crate::{Direction, LongRopeScaling, RopeScaling, RotaryConfig, RotaryRecipe};

    fn check<T: Element>(rotary: &Rotary, positions: Range<u64>) -> Result<()> {
        let steps = rotary.step_tables::<T>(positions.clone())?;
        assert_eq!(steps.cos.rows() as u64, positions.end - positions.start);
        for (row, position) in positions.enumerate() {
            let frequencies = rotary.frequencies(position as usize + 1)?;
            let alone = frequencies.tables::<T>(position..position + 1)?;
            let about = format!("{} {} {position}", T::NAME, rotary.config().scaling.name());
            assert_eq!(steps.cos.row(row), alone.cos.row(0), "{about}");
            assert_eq!(steps.sin.row(row), alone.sin.row(0), "{about}");
        }
        Ok(())
    }

    #[test]
    fn rows_of_steps_are_those_of_their_lengths() -> Result<()> {
        let config = |scaling, rotary_dim| RotaryConfig {
            scaling,
            max_position_embeddings: Some(64),
            ..RotaryConfig::new(rotary_dim)
        };
        let dynamic = |factor, width| config(RopeScaling::Dynamic { factor }, width);
        let longrope = LongRopeScaling::new(vec![1.0; 4], vec![3.0; 4], 64);
        for config in [
            dynamic(2.0, 128),
            dynamic(1.1, 64),
            dynamic(4.0, 4),
            // More pairs than are written at once, in the other direction.
            RotaryConfig {
                direction: Direction::Clockwise,
                ..dynamic(3.5, 150)
            },
            RotaryConfig {
                recipe: RotaryRecipe::HfF32,
                ..dynamic(2.0, 16)
            },
            config(RopeScaling::LongRope(longrope), 8),
            config(RopeScaling::Default, 8),
        ] {
            let rotary = Rotary::new(config)?;
            check::<f32>(&rotary, 50..130)?;
            check::<f32>(&rotary, 131_000..131_060)?;
            check::<bf16>(&rotary, 4000..4040)?;
            check::<f16>(&rotary, 4000..4040)?;
            check::<f64>(&rotary, 60..70)?;
            check::<f32>(&rotary, (1 << 32) - 3..1 << 32)?;
            check::<f32>(&rotary, 7..7)?;
        }
        Ok(())
    }

    /// Entries that fail the rounding test are computed from frequencies in full width.
    #[test]
    fn hard_entries_of_steps_are_exact() -> Result<()> {
        let rotary = Rotary::new(RotaryConfig {
            scaling: RopeScaling::Dynamic { factor: 2.0 },
            max_position_embeddings: Some(64),
            ..RotaryConfig::new(8)
        })?;
        let position = 99;
        let alone = rotary
            .frequencies(100)?
            .tables::<f32>(position..position + 1)?;
        // The first phase makes the first pair a quarter turn, where the cosine is too small for the test.
        let angles = [1 << 62, 0, 0, 0];
        let (mut cos, mut sin) = ([0f32; 4], [0f32; 4]);
        let wide = || rotary.wide(100);
        f32::fill_angles(&angles, &wide, position as u32, Out([&mut cos, &mut sin]));
        assert_eq!(
            (&cos[..], &sin[..]),
            (alone.cos.as_slice(), alone.sin.as_slice())
        );
        Ok(())
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn ranges_of_steps_are_checked() -> Result<()> {
        let rotary = Rotary::new(RotaryConfig::new(8))?;
        for range in [9..3, 0..(1 << 32) + 1, 0..1 << 32] {
            let wanted = rotary
                .frequencies(0)?
                .tables::<f64>(range.clone())
                .unwrap_err();
            assert_eq!(rotary.step_tables::<f64>(range).unwrap_err(), wanted);
        }
        Ok(())
    }
}
