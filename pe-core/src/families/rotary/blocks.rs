//! Tables of cosines and sines written block after block.

use std::ops::Range;

use crate::error::Result;
use crate::families::rotary::frequencies::RotaryFrequencies;
use crate::families::rotary::tables::signed;
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::rows::writer::Writer;
use crate::spec::direction::Direction;
use crate::turns::position::check_range;

/// Writer of consecutive rows of cosines and sines into caller-supplied memory.
/// [`RotaryFrequencies::blocks`] returns it.
pub struct CosSinBlocks<'a, T: Element>(Writer<'a, T>, Direction);

impl RotaryFrequencies {
    /// Returns a writer of the rows of a range of positions, for tables that are never in memory as
    /// a whole. The blocks may have any numbers of rows. The fastest are multiples of 32.
    ///
    /// ```
    /// use pe_core::{Rotary, RotaryConfig};
    ///
    /// let frequencies = Rotary::new(RotaryConfig::new(8))?.frequencies(0)?;
    /// let mut blocks = frequencies.blocks::<f32>(10..110)?;
    /// let (mut cos, mut sin) = (vec![0f32; 100 * 4], vec![0f32; 100 * 4]);
    /// for (cos, sin) in cos.chunks_mut(64 * 4).zip(sin.chunks_mut(64 * 4)) {
    ///     blocks.write(cos, sin)?;
    /// }
    /// assert_eq!(frequencies.tables::<f32>(10..110)?.sin.as_slice(), sin);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the range descends or ends above 2^32.
    pub fn blocks<T: Element>(&self, positions: Range<u64>) -> Result<CosSinBlocks<'_, T>> {
        check_range(&positions)?;
        let writer = T::writer(&self.inner.rows, positions);
        Ok(CosSinBlocks(writer, self.direction))
    }
}

impl<T: Element> CosSinBlocks<'_, T> {
    /// Writes the next rows into `cos` and `sin` until they are full.
    ///
    /// # Errors
    /// Returns an error if the lengths differ, if the slices do not hold complete rows, or if they
    /// hold more rows than are left.
    pub fn write(&mut self, cos: &mut [T], sin: &mut [T]) -> Result<()> {
        T::write_next(&mut self.0, Out([cos, sin]))?;
        signed(self.1, sin);
        Ok(())
    }
}
