//! A table's rows in blocks that the cache holds.

use std::iter::StepBy;
use std::ops::Range;

/// Iterator over the blocks of a table, in order. Each has complete rows. All but the last have the same
/// number.
#[derive(Debug, Clone)]
pub(crate) struct RowBlocks {
    rows: StepBy<Range<usize>>,
    entries: Parts,
    bytes: Parts,
}

/// A block of a table, counted from the beginning of the table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// The number of its first row.
    pub(crate) row: usize,
    pub(crate) entries: Range<usize>,
    pub(crate) bytes: Range<usize>,
}

impl RowBlocks {
    /// Divides a table of `rows` x `width` entries of `entry_bytes` bytes.
    pub(crate) fn new(rows: usize, width: usize, entry_bytes: usize) -> Result<Self, String> {
        let whole = |rows: usize| {
            let entries = rows.checked_mul(width)?;
            Some((entries, entries.checked_mul(entry_bytes)?))
        };
        let blocks = || {
            let (_, row_bytes) = whole(1)?;
            let per_block = rows_per_block(row_bytes).min(rows.max(1));
            let ((entries, bytes), (part, part_bytes)) = (whole(rows)?, whole(per_block)?);
            Some(Self {
                rows: (0..rows).step_by(per_block),
                entries: Parts::new(entries, part),
                bytes: Parts::new(bytes, part_bytes),
            })
        };
        blocks().ok_or_else(|| {
            format!("{rows} rows of {width} entries of {entry_bytes} bytes are too large")
        })
    }

    /// Returns the number of entries of the table.
    pub(crate) fn entries(&self) -> usize {
        self.entries.left.end
    }

    /// Returns the number of entries of every block but the last, which may have fewer.
    pub(crate) fn entries_per_block(&self) -> usize {
        self.entries.part
    }
}

impl Iterator for RowBlocks {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        Some(Block {
            row: self.rows.next()?,
            entries: self.entries.next()?,
            bytes: self.bytes.next()?,
        })
    }
}

/// Parts of a range, all of the same length but the last.
#[derive(Debug, Clone)]
struct Parts {
    left: Range<usize>,
    part: usize,
}

impl Parts {
    fn new(length: usize, part: usize) -> Self {
        let left = 0..length;
        Self { left, part }
    }
}

impl Iterator for Parts {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let Range { start, end } = self.left;
        let cut = start.saturating_add(self.part).min(end);
        self.left = cut..end;
        (start < cut).then_some(start..cut)
    }
}

/// Returns the number of rows of a block: 1 MiB, which the L2 cache holds, but at least as many rows as
/// pe-core computes by recurrence instead of singly, up to 16 MiB.
fn rows_per_block(row_bytes: usize) -> usize {
    const FEW: usize = 256;
    let within = |bytes: usize| bytes.checked_div(row_bytes).unwrap_or(FEW);
    within(1 << 20).max(FEW.min(within(1 << 24))).max(1)
}

/// Returns row and column of an entry, counted from the beginning of a table of rows of `width`.
pub(crate) fn row_and_column(entry: usize, width: usize) -> (usize, usize) {
    // Rows without columns have no entries.
    let place = entry.checked_div(width).zip(entry.checked_rem(width));
    place.unwrap_or((0, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares rows, entries, and bytes of each block with those of a loop.
    #[test]
    fn blocks_are_those_of_a_plain_loop() {
        for (rows, width, entry_bytes) in [
            (0, 4, 4),
            (1, 1, 1),
            (255, 1 << 20, 8),
            (600, 1 << 16, 4),
            (8192, 1024, 4),
            (300_000, 3, 2),
        ] {
            let row_bytes = width * entry_bytes;
            let per_block = ((1 << 20) / row_bytes)
                .max(256.min((1 << 24) / row_bytes))
                .max(1);
            let mut expected = Vec::new();
            let mut row = 0;
            while row < rows {
                let end = rows.min(row + per_block);
                expected.push(Block {
                    row,
                    entries: row * width..end * width,
                    bytes: row * row_bytes..end * row_bytes,
                });
                row = end;
            }
            let blocks = RowBlocks::new(rows, width, entry_bytes).unwrap();
            assert_eq!(blocks.entries(), rows * width);
            assert_eq!(
                blocks.entries_per_block(),
                per_block.min(rows.max(1)) * width
            );
            assert_eq!(blocks.collect::<Vec<_>>(), expected, "{rows} x {width}");
        }
        // Rows without columns have no blocks.
        assert_eq!(RowBlocks::new(5, 0, 4).unwrap().next(), None);
    }

    #[test]
    fn sizes_that_no_number_holds_are_refused() {
        for (rows, width, entry_bytes) in [
            (usize::MAX, 2, 1),
            (2, usize::MAX, 1),
            (1, usize::MAX / 2, 4),
            (usize::MAX / 8, 2, 8),
        ] {
            let error = RowBlocks::new(rows, width, entry_bytes).unwrap_err();
            assert!(error.contains("too large"), "{error}");
        }
    }

    #[test]
    fn entries_have_a_row_and_a_column() {
        assert_eq!(row_and_column(0, 3), (0, 0));
        assert_eq!(row_and_column(7, 3), (2, 1));
        assert_eq!(row_and_column(7, 0), (0, 7));
    }
}
