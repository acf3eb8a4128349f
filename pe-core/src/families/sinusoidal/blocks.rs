//! Tables written block after block.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::families::sinusoidal::Sinusoidal;
use crate::rows::element::Element;
use crate::rows::recurrence::BLOCK;
use crate::rows::writer::Writer;
use crate::sincos::Rungs;
use crate::sincos::backend::Backend;
use crate::turns::position::check_range;

/// Writer of consecutive rows into caller-supplied memory. [`Sinusoidal::blocks`] returns it.
pub struct Blocks<'a, T: Element> {
    writer: Writer<'a, T>,
    width: usize,
    /// Position of the next row, and the end.
    left: Range<u64>,
}

impl Sinusoidal {
    /// Returns a writer of the rows of a range of positions, for tables that are never in memory as
    /// a whole. The blocks may have any numbers of rows; the fastest are multiples of 32.
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
        let rows = positions.end - positions.start;
        Ok(Blocks {
            writer: (self.inner.rows).writer(Backend::best(), Rungs::Ladder, positions.start, rows),
            width: self.d_model(),
            left: positions,
        })
    }
}

impl<T: Element> Blocks<'_, T> {
    /// Writes the next rows into `out` until it is full.
    ///
    /// # Errors
    /// Returns an error if `out` does not hold complete rows, or holds more rows than are left.
    pub fn write(&mut self, out: &mut [T]) -> Result<()> {
        let rows = (out.len() / self.width) as u64;
        let expected = rows.min(self.left.end - self.left.start) * self.width as u64;
        if out.len() as u64 != expected {
            return Err(Error::Length {
                what: "the output slice",
                actual: out.len(),
                expected,
            });
        }
        self.left.start += rows;
        for block in out.chunks_mut(BLOCK * self.width) {
            self.writer.write(block);
        }
        Ok(())
    }
}
