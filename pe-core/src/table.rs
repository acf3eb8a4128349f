//! A table of encodings: rows of equal width in one allocation.

use crate::error::{Error, Result};
use crate::limits::MAX_TABLE_BYTES;
use crate::round::Float;

/// The size from which usual allocators take memory straight from the system.
const FRESH_PAGES: usize = 32 << 20;

/// What stands where a table is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Pages that the system clears when they are touched.
    Untouched,
    /// Anything.
    Used,
}

impl Memory {
    /// Of zeros just asked for.
    pub(crate) fn of_zeros<T>(zeros: &[T]) -> Self {
        Self::of_new::<T>(zeros.len())
    }

    /// Of so many zeros, were they asked for.
    fn of_new<T>(zeros: usize) -> Self {
        if zeros.saturating_mul(size_of::<T>()) >= FRESH_PAGES {
            Self::Untouched
        } else {
            Self::Used
        }
    }
}

/// Rows of encodings, row-major: entry `(row, column)` is at `row x width + column`.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<T> {
    data: Vec<T>,
    rows: usize,
    width: usize,
}

/// What makes tables.
impl<T: Float> Table<T> {
    /// A table with room for its entries and none yet, or an error if it is too large.
    fn reserved(rows: u64, width: usize) -> Result<Self> {
        let too_large = Error::TooLarge {
            rows,
            width,
            name: T::TYPE,
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
        // The memory is there, as was just seen; this asks for it cleared.
        table.data = Vec::new();
        table.data = T::zeros(table.rows * width);
        Ok(table)
    }

    /// A table written by `write`, which fills the next rows of the slice that it is
    /// handed: `block` of them, or fewer for the last.
    ///
    /// Above [`FRESH_PAGES`] zeros come from the system and cost nothing until they are
    /// overwritten. Below, the allocator hands out memory that it has; it is cleared block by block,
    /// which is as fast as memory allows and brings each block into the cache for its entries
    /// (5000 x 512 in f32: 0.91 ms, against 0.98 with rows made in a buffer and appended).
    pub(crate) fn build(
        rows: u64,
        width: usize,
        block: usize,
        mut write: impl FnMut(&mut [T]),
    ) -> Result<Self> {
        let mut table = Self::reserved(rows, width)?;
        let entries = table.rows * width;
        match Memory::of_new::<T>(entries) {
            Memory::Untouched => {
                table = Self::zeros(rows, width)?;
                table.data.chunks_mut(block * width).for_each(write);
            }
            Memory::Used => {
                while table.data.len() < entries {
                    let start = table.data.len();
                    let end = entries.min(start + block * width);
                    table.data.resize(end, T::default());
                    write(&mut table.data[start..]);
                }
            }
        }
        Ok(table)
    }

    /// All entries, to be changed.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }
}

impl<T: Copy> Table<T> {
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

    /// The entries without a copy.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table whose writer numbers the rows, and how many rows it was handed at a time.
    fn numbered(rows: u64, width: usize, block: usize) -> (Table<f64>, Vec<usize>) {
        let (mut sizes, mut next) = (Vec::new(), 0.0);
        let table = Table::build(rows, width, block, |out: &mut [f64]| {
            assert_eq!(out.len() % width, 0, "rows are handed out whole");
            sizes.push(out.len() / width);
            for row in out.chunks_exact_mut(width) {
                row[0] = next;
                next += 1.0;
            }
        });
        (table.unwrap(), sizes)
    }

    /// The second table is above 32 MiB.
    #[test]
    fn tables_of_either_memory_are_written_block_by_block() {
        for (rows, width, memory) in [(70, 3, Memory::Used), (4_100, 1_024, Memory::Untouched)] {
            assert_eq!(Memory::of_new::<f64>(rows * width), memory);
            let (table, sizes) = numbered(rows as u64, width, 32);
            let mut expected = vec![32; rows / 32];
            expected.push(rows % 32);
            assert_eq!(sizes, expected);
            assert_eq!((table.rows(), table.width()), (rows, width));
            for (number, row) in table.iter_rows().enumerate() {
                assert_eq!((row[0], row[1]), (number as f64, 0.0));
            }
        }
    }

    /// Of zeros above the allocators' threshold nobody has touched the pages yet: clearing them
    /// would cost what they save.
    #[test]
    fn only_large_memory_comes_untouched() {
        assert_eq!(Memory::of_zeros(&[0.0; 100]), Memory::Used);
        let zeros = |size: usize| Memory::of_zeros(&vec![0u8; size]);
        assert_eq!(zeros((32 << 20) - 1), Memory::Used);
        assert_eq!(zeros(32 << 20), Memory::Untouched);
        // Counted in bytes.
        assert_eq!(Memory::of_new::<f64>((4 << 20) - 1), Memory::Used);
        assert_eq!(Memory::of_new::<f64>(4 << 20), Memory::Untouched);
    }

    /// One allocation: entries appended to a vector without room would have been moved, and
    /// its capacity doubled.
    #[test]
    fn room_for_all_rows_is_asked_for_at_once() {
        let entries = numbered(66, 66, 32).0.into_vec();
        assert!(entries.capacity() < entries.len() + entries.len() / 4);
    }
}
