//! Tables written block after block.

use std::ops::Range;

use crate::error::Result;
use crate::families::sinusoidal::Sinusoidal;
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::rows::writer::Writer;
use crate::turns::position::check_range;

/// Writer of consecutive rows into caller-supplied memory. [`Sinusoidal::blocks`] returns it.
pub struct Blocks<'a, T: Element>(Writer<'a, T>);

impl Sinusoidal {
    /// Returns a writer of the rows of a range of positions, for tables that are never in memory as
    /// a whole. The blocks may have any numbers of rows. Multiples of 32 are the fastest.
    ///
    /// ```
    /// let encoding = pe_core::Sinusoidal::paper(8)?;
    /// let mut blocks = encoding.blocks::<f32>(10..110)?;
    /// let mut out = vec![0f32; 100 * 8];
    /// for block in out.chunks_mut(64 * 8) {
    ///     blocks.write(block)?;
    /// }
    /// assert_eq!(encoding.table::<f32>(10..110)?.as_slice(), out);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the range descends or ends above 2^32.
    pub fn blocks<T: Element>(&self, positions: Range<u64>) -> Result<Blocks<'_, T>> {
        check_range(&positions)?;
        Ok(Blocks(T::writer(&self.inner.rows, positions)))
    }
}

impl<T: Element> Blocks<'_, T> {
    /// Writes the next rows into `out` until it is full.
    ///
    /// # Errors
    /// Returns an error if `out` does not hold complete rows, or holds more rows than are left.
    pub fn write(&mut self, out: &mut [T]) -> Result<()> {
        T::write_next(&mut self.0, Out::one(out))
    }
}
