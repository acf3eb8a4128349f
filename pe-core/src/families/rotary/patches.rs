//! Positions of image patches: rows and columns in the orders of vision models, and their windows.

use crate::error::{Error, Result};
use crate::limits::MAX_TOKENS;

/// Order of the patches of a grid. Its last two sides are rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum PatchOrder {
    /// Row after row.
    #[default]
    RowMajor,
    /// Squares of this many patches a side that become one token (`spatial_merge_size`), row after row
    /// (Qwen2-VL, Qwen3-VL, GLM-4V).
    MergeBlocks(u32),
    /// Windows of `window` x `window` such squares, row after row (the window attention of Qwen2.5-VL).
    Windows {
        /// Side of the squares (`spatial_merge_size`).
        merge: u32,
        /// Side of the windows in squares: `window_size / spatial_merge_size / patch_size`.
        window: u32,
    },
}

impl PatchOrder {
    /// Returns row and column of each patch of a frame. A grid without patches has no frames.
    pub(crate) fn patches(
        self,
        grid: PatchGrid,
    ) -> Result<impl Iterator<Item = (u32, u32)> + Clone> {
        let (merge, window) = match self {
            Self::RowMajor => (1, u32::MAX),
            Self::MergeBlocks(merge) => (merge, u32::MAX),
            Self::Windows { merge, window } => (merge, window),
        };
        let mut squares = grid.merged(merge)?;
        if window == 0 {
            return Err(Error::Length {
                name: "a window",
                len: 0,
                expected: 1,
            });
        }
        check_tokens(grid.tokens())?;
        if grid.tokens() == 0 {
            // Avoids iterating over four billion empty rows.
            squares.rows = 0;
        }
        let starts = |size: u32| (0..size).step_by(window as usize);
        let range = move |start: u32, size: u32| start..start.saturating_add(window).min(size);
        let windows = pairs(starts(squares.rows), starts(squares.columns));
        let squares = windows.flat_map(move |(top, left)| {
            pairs(range(top, squares.rows), range(left, squares.columns))
        });
        Ok(squares.flat_map(move |(row, column)| {
            let within = pairs(0..merge, 0..merge);
            within.map(move |(r, c)| (row * merge + r, column * merge + c))
        }))
    }
}

/// Returns all pairs of two ranges, the second one running faster.
fn pairs(
    outer: impl Iterator<Item = u32> + Clone,
    inner: impl Iterator<Item = u32> + Clone,
) -> impl Iterator<Item = (u32, u32)> + Clone {
    outer.flat_map(move |a| inner.clone().map(move |b| (a, b)))
}

/// Row and column of each patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchPositions {
    /// Row of each patch.
    pub rows: Vec<u32>,
    /// Column of each patch.
    pub columns: Vec<u32>,
}

/// Size of an image or a video in patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PatchGrid {
    /// Number of frames, after the patch embedding has merged frames; 1 for an image.
    pub frames: u32,
    /// Number of rows of patches.
    pub rows: u32,
    /// Number of columns of patches.
    pub columns: u32,
}

impl PatchGrid {
    /// Returns the grid after squares of `merge` x `merge` patches become one token.
    pub(super) fn merged(self, merge: u32) -> Result<Self> {
        let fits = |size: u32| merge > 0 && size.is_multiple_of(merge);
        if fits(self.rows) && fits(self.columns) {
            return Ok(Self {
                rows: self.rows / merge,
                columns: self.columns / merge,
                ..self
            });
        }
        let Self { rows, columns, .. } = self;
        Err(Error::Grid {
            rows,
            columns,
            merge,
        })
    }

    pub(super) fn tokens(self) -> u64 {
        u64::from(self.frames)
            .saturating_mul(u64::from(self.rows))
            .saturating_mul(u64::from(self.columns))
    }
}

pub(super) fn check_tokens(tokens: u64) -> Result<()> {
    if tokens > MAX_TOKENS {
        return Err(Error::TooManyTokens { tokens });
    }
    Ok(())
}

/// Computes row and column of every patch of images and videos, in the order of Qwen2-VL's vision
/// model: squares of `merge` x `merge` patches one after the other, repeated for each frame.
/// `merge` 1 gives Pixtral's order, row after row.
///
/// ```
/// use pe_core::{PatchGrid, vision_position_ids};
///
/// let patches = vision_position_ids(&[PatchGrid { frames: 1, rows: 2, columns: 4 }], 2)?;
/// assert_eq!(patches.rows, [0, 0, 1, 1, 0, 0, 1, 1]);
/// assert_eq!(patches.columns, [0, 1, 0, 1, 2, 3, 2, 3]);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if a grid cannot be divided into such squares, or if the grids have more
/// than 2^28 patches in total.
pub fn vision_position_ids(grids: &[PatchGrid], merge: u32) -> Result<PatchPositions> {
    PatchPositions::new(grids, PatchOrder::MergeBlocks(merge))
}

impl PatchPositions {
    /// Computes row and column of every patch of images and videos in an order, repeated for each
    /// frame.
    ///
    /// ```
    /// use pe_core::{PatchGrid, PatchOrder, PatchPositions};
    ///
    /// let grid = PatchGrid { frames: 1, rows: 1, columns: 3 };
    /// let windows = PatchOrder::Windows { merge: 1, window: 2 };
    /// let two = [grid, PatchGrid { rows: 3, columns: 2, ..grid }];
    /// let patches = PatchPositions::new(&two, windows)?;
    /// assert_eq!(patches.rows, [0, 0, 0, 0, 0, 1, 1, 2, 2]);
    /// assert_eq!(patches.columns, [0, 1, 2, 0, 1, 0, 1, 0, 1]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a grid cannot be divided into the squares of the order, if its windows are
    /// empty, or if the grids have more than 2^28 patches in total.
    pub fn new(grids: &[PatchGrid], order: PatchOrder) -> Result<Self> {
        let mut out = Self::default();
        let mut total: u64 = 0;
        for grid in grids {
            total = total.saturating_add(grid.tokens());
            check_tokens(total)?;
            let frame: Vec<_> = order.patches(*grid)?.collect();
            if frame.is_empty() {
                // Avoids iterating over four billion empty frames.
                continue;
            }
            for _ in 0..grid.frames {
                out.rows.extend(frame.iter().map(|(row, _)| row));
                out.columns.extend(frame.iter().map(|(_, column)| column));
            }
        }
        Ok(out)
    }
}

/// Windows of a vision model's attention: the order of its merged tokens, and where the windows end.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VisionWindows {
    /// Merged token at each place (`window_index`).
    pub index: Vec<u32>,
    /// Ends of the windows in patches, after a zero (`cu_window_seqlens`).
    pub cu_seqlens: Vec<u32>,
}

/// Computes the windows of Qwen2.5-VL's vision model (`get_vision_window_index`): each frame is divided
/// into windows of `window` x `window` merged tokens. The windows at the right and the bottom may be smaller. Patches in
/// this order have the positions of [`PatchOrder::Windows`].
///
/// ```
/// use pe_core::{PatchGrid, vision_windows};
///
/// // 2 x 6 merged tokens in windows of 4 x 4.
/// let windows = vision_windows(&[PatchGrid { frames: 1, rows: 4, columns: 12 }], 2, 4)?;
/// assert_eq!(windows.index, [0, 1, 2, 3, 6, 7, 8, 9, 4, 5, 10, 11]);
/// assert_eq!(windows.cu_seqlens, [0, 32, 48]);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`PatchPositions::new`].
pub fn vision_windows(grids: &[PatchGrid], merge: u32, window: u32) -> Result<VisionWindows> {
    let mut out = VisionWindows {
        index: Vec::new(),
        cu_seqlens: vec![0],
    };
    let order = PatchOrder::Windows { merge: 1, window };
    let (mut total, mut end) = (0u64, 0);
    for grid in grids {
        let merged = grid.merged(merge)?;
        total = total.saturating_add(grid.tokens());
        check_tokens(total)?;
        let frame: Vec<_> = order.patches(merged)?.collect();
        if frame.is_empty() {
            continue;
        }
        for _ in 0..merged.frames {
            let first = out.index.len() as u32;
            let of = |(row, column): &(u32, u32)| first + row * merged.columns + column;
            out.index.extend(frame.iter().map(of));
            let same = |a: &(u32, u32), b: &(u32, u32)| {
                (a.0 / window, a.1 / window) == (b.0 / window, b.1 / window)
            };
            for tokens in frame.chunk_by(same) {
                end += tokens.len() as u32 * merge * merge;
                out.cu_seqlens.push(end);
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_as_many_as_documented() {
        assert!(check_tokens(1 << 28).is_ok());
        let error = check_tokens((1 << 28) + 1).unwrap_err();
        assert!(error.to_string().contains("268435457"), "{error}");
    }
}
