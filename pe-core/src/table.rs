//! A table of encodings: rows of equal width in one allocation.

use crate::error::{Error, Result};
use crate::round::Element;

/// The most bytes that a table made by this crate may have: 16 GiB. Larger
/// tables can be made piece by piece into the caller's own memory.
pub const MAX_TABLE_BYTES: u64 = 1 << 34;

/// The size from which usual allocators take memory straight from the system.
const FRESH_PAGES: usize = 32 << 20;

/// Rows of encodings, row-major: entry `(row, column)` is at `row x width + column`.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<T> {
    data: Vec<T>,
    rows: usize,
    width: usize,
}

impl<T: Element> Table<T> {
    /// A table with room for its entries and none yet, or an error if it is too large.
    fn reserved(rows: u64, width: usize) -> Result<Self> {
        let too_large = Error::TooLarge {
            rows,
            width,
            name: T::NAME,
        };
        let bytes = rows
            .checked_mul(width as u64)
            .and_then(|entries| entries.checked_mul(std::mem::size_of::<T>() as u64))
            .filter(|bytes| *bytes <= MAX_TABLE_BYTES && *bytes <= isize::MAX as u64)
            .ok_or(too_large)?;
        let rows = rows as usize;
        let mut data = Vec::new();
        data.try_reserve_exact(rows * width)
            .map_err(|_| Error::OutOfMemory { bytes })?;
        Ok(Self { data, rows, width })
    }

    /// A table of zeros, or an error if it is too large.
    pub(crate) fn zeros(rows: u64, width: usize) -> Result<Self> {
        let mut table = Self::reserved(rows, width)?;
        let entries = table.rows * width;
        if entries * std::mem::size_of::<T>() >= FRESH_PAGES {
            // As in `build`.
            table.data = Vec::new();
            table.data = T::zeros(entries);
        } else {
            table.data.resize(entries, T::default());
        }
        Ok(table)
    }

    /// A table written by `write`, which fills the next rows of the slice that it is
    /// handed: `block` of them, or fewer for the last.
    ///
    /// Memory should be written once, with the entries. Above [`FRESH_PAGES`] zeros come
    /// from the system and cost nothing until they are overwritten. Below, the allocator
    /// hands out memory that it has, and would have to clear it; there the rows are made
    /// in a small buffer and appended (5000 x 512 in f32: 1.15 against 1.31 ms).
    pub(crate) fn build(
        rows: u64,
        width: usize,
        block: usize,
        mut write: impl FnMut(&mut [T]),
    ) -> Result<Self> {
        let mut table = Self::reserved(rows, width)?;
        let entries = table.rows * width;
        if entries * std::mem::size_of::<T>() >= FRESH_PAGES {
            // The memory is there, as was just seen; this asks for it cleared.
            table.data = Vec::new();
            table.data = T::zeros(entries);
            table.data.chunks_mut(block * width).for_each(write);
            return Ok(table);
        }
        let mut buffer = vec![T::default(); block.min(table.rows) * width];
        let mut missing = table.rows;
        while missing > 0 {
            let next = &mut buffer[..block.min(missing) * width];
            write(next);
            table.data.extend_from_slice(next);
            missing -= block.min(missing);
        }
        Ok(table)
    }

    /// A table of the entries given, row after row.
    ///
    /// # Errors
    /// If `width` is 0 or the length is not a multiple of it.
    pub fn from_vec(data: Vec<T>, width: usize) -> Result<Self> {
        if width == 0 || !data.len().is_multiple_of(width) {
            return Err(Error::Length {
                what: "the list of entries",
                actual: data.len(),
                expected: data.len().checked_div(width).map_or(0, |rows| rows * width) as u64,
            });
        }
        Ok(Self {
            rows: data.len() / width,
            width,
            data,
        })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns, `d_model`.
    pub fn width(&self) -> usize {
        self.width
    }

    /// One row, if it exists.
    pub fn row(&self, row: usize) -> Option<&[T]> {
        self.iter_rows().nth(row)
    }

    /// One entry, if it exists.
    pub fn get(&self, row: usize, column: usize) -> Option<T> {
        self.row(row)?.get(column).copied()
    }

    /// The rows in order.
    pub fn iter_rows(&self) -> std::slice::ChunksExact<'_, T> {
        // A table without columns has no entries to cut.
        self.data.chunks_exact(self.width.max(1))
    }

    /// All entries, row after row.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// All entries, to be changed.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The entries without a copy.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}
