//! Resizing of grids: the product of the axes, row by row.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::families::resize::AxisTaps;
use crate::families::rotary::{PatchGrid, PatchOrder};
use crate::limits::MAX_TAPS;

/// Rows of a table that contribute to each row of a result, with their weights: one weighted sum of rows
/// for each row, computed in two stages.
///
/// A *plane* is a weighted sum of blocks of neighboring rows of the table: along all axes of a grid but the
/// last one. A row of the result is a weighted sum of rows of a plane, along the last axis. A bicubic grid of
/// two axes needs 8 products for each entry and not 16.
///
/// ```
/// use pe_core::{PatchOrder, ResizeConfig, ResizeKernel, RowTaps};
///
/// // A class row, and a grid of 2 x 2 resized to 3 x 3.
/// let axis = ResizeConfig::new(ResizeKernel::Bilinear).taps(2, 3)?;
/// let mut taps = RowTaps::new(5);
/// taps.push_rows(0..1)?;
/// taps.push_grid(&[&axis, &axis], 1, PatchOrder::RowMajor)?;
/// assert_eq!(taps.rows(), 10);
/// let middle: Vec<_> = taps.of(5).collect(); // of the nine
/// assert_eq!(middle, [1, 2, 3, 4].map(|row| (row, 0.25)));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RowTaps {
    source_rows: usize,
    /// Number of rows of each plane, and the first rows of its blocks with their weights.
    planes: Vec<u32>,
    blocks: Weights,
    /// Rows of a plane for each position along a last axis.
    columns: Weights,
    /// Plane and position of each row of the result.
    rows: Vec<[u32; 2]>,
    taps: u64,
}

/// Lists of rows with their weights.
#[derive(Debug, Clone, PartialEq)]
struct Weights {
    /// List `i` has the weights from `starts[i]` to `starts[i + 1]`.
    starts: Vec<u32>,
    sources: Vec<u32>,
    weights: Vec<f64>,
}

impl Weights {
    fn new() -> Self {
        Self {
            starts: vec![0],
            sources: Vec::new(),
            weights: Vec::new(),
        }
    }

    fn push(&mut self, taps: impl Iterator<Item = (u32, f64)>) {
        for (source, weight) in taps {
            self.sources.push(source);
            self.weights.push(weight);
        }
        self.starts.push(self.sources.len() as u32);
    }

    /// Returns the number of lists.
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    fn of(&self, list: usize) -> (&[u32], &[f64]) {
        let range = self.starts[list] as usize..self.starts[list + 1] as usize;
        (&self.sources[range.clone()], &self.weights[range])
    }
}

/// Weighted sums of rows of a table, one for each row of a result: a stage of [`RowTaps`], or its gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct RowSums {
    source_rows: usize,
    lists: Weights,
}

impl RowSums {
    /// Returns the number of rows of the result.
    pub fn rows(&self) -> usize {
        self.lists.len()
    }

    /// Returns the number of rows of the table.
    pub fn source_rows(&self) -> usize {
        self.source_rows
    }

    /// Returns the total number of weights.
    pub fn taps(&self) -> usize {
        self.lists.sources.len()
    }

    /// Returns the rows of the table that contribute to a row of the result, and their weights.
    ///
    /// # Panics
    /// Panics if the result does not have the row.
    #[inline]
    pub fn of(&self, row: usize) -> (&[u32], &[f64]) {
        self.lists.of(row)
    }
}

impl RowTaps {
    /// Returns the empty result for a table of `source_rows` rows.
    pub fn new(source_rows: usize) -> Self {
        Self {
            source_rows,
            planes: Vec::new(),
            blocks: Weights::new(),
            columns: Weights::new(),
            rows: Vec::new(),
            taps: 0,
        }
    }

    /// Returns the number of rows of the result.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of rows of the table.
    pub fn source_rows(&self) -> usize {
        self.source_rows
    }

    /// Returns the total number of rows that contribute to the rows of the result.
    pub fn taps(&self) -> usize {
        self.taps as usize
    }

    /// Returns the rows of the table that contribute to a row of the result, and their weights: the products
    /// of those of both stages.
    ///
    /// # Panics
    /// Panics if the result does not have the row.
    pub fn of(&self, row: usize) -> impl Iterator<Item = (u32, f64)> {
        let (plane, (columns, factors)) = self.row(row);
        let (_, (blocks, weights)) = self.plane(plane);
        let blocks = blocks.iter().zip(weights);
        blocks.flat_map(move |(block, weight)| {
            let columns = columns.iter().zip(factors);
            columns.map(move |(column, factor)| (block + column, weight * factor))
        })
    }

    /// Returns the plane of a row of the result, and the rows of the plane that contribute to it with their
    /// weights.
    ///
    /// # Panics
    /// Panics if the result does not have the row.
    #[inline]
    pub fn row(&self, row: usize) -> (usize, (&[u32], &[f64])) {
        let [plane, column] = self.rows[row];
        (plane as usize, self.columns.of(column as usize))
    }

    /// Returns the number of rows of a plane, and the first rows of the blocks of the table that contribute to
    /// it with their weights.
    ///
    /// # Panics
    /// Panics if there is no such plane.
    #[inline]
    pub fn plane(&self, plane: usize) -> (usize, (&[u32], &[f64])) {
        (self.planes[plane] as usize, self.blocks.of(plane))
    }

    /// Returns both stages: the rows of all planes, one plane after the other, as sums of rows of the table,
    /// and the rows of the result as sums of those.
    pub fn stages(&self) -> [RowSums; 2] {
        let (mut first, mut second) = (Weights::new(), Weights::new());
        let mut starts = Vec::with_capacity(self.planes.len());
        for plane in 0..self.planes.len() {
            starts.push(first.len() as u32);
            let (len, (blocks, weights)) = self.plane(plane);
            for row in 0..len as u32 {
                let blocks = blocks.iter().map(|block| block + row);
                first.push(blocks.zip(weights.iter().copied()));
            }
        }
        for row in 0..self.rows() {
            let (plane, (columns, weights)) = self.row(row);
            let columns = columns.iter().map(|column| starts[plane] + column);
            second.push(columns.zip(weights.iter().copied()));
        }
        let planes = first.len();
        let stage = |source_rows, lists| RowSums { source_rows, lists };
        [stage(self.source_rows, first), stage(planes, second)]
    }

    /// Appends rows of the table unchanged, such as the row of a class token.
    ///
    /// # Errors
    /// Returns an error if the table does not have the rows, or if the result would have more than
    /// 2^28.
    pub fn push_rows(&mut self, rows: Range<usize>) -> Result<()> {
        if rows.end > self.source_rows || rows.start > rows.end {
            return Err(Error::Range {
                start: rows.start as u64,
                end: rows.end as u64,
            });
        }
        let count = rows.len() as u64;
        self.reserve([count; 2], [count; 2])?;
        self.taps += count;
        let column = self.columns.len() as u32;
        self.columns.push([(0, 1.0)].into_iter());
        for row in rows {
            self.rows.push([self.planes.len() as u32, column]);
            self.push_plane(1, [(row as u32, 1.0)].into_iter());
        }
        Ok(())
    }

    /// Appends a resized grid. The given one is row-major in the table, starting with row `first`.
    ///
    /// The weight of a plane is the product of the weights of its axes, each of which is rounded to `f64`
    /// once. For `n` axes the error of the product is at most `n - 1/2` ulp.
    ///
    /// # Errors
    /// Returns an error if
    /// - `axes` is empty, or has fewer than two axes with an order of squares,
    /// - the table does not have the rows of the grid,
    /// - the last two axes cannot be divided into squares,
    /// - the result would have more than 2^28 rows or weights.
    pub fn push_grid(&mut self, axes: &[&AxisTaps], first: usize, order: PatchOrder) -> Result<()> {
        let needed = if order == PatchOrder::RowMajor { 1 } else { 2 };
        let [leading @ .., last] = axes else {
            return Err(too_few_sides(0, needed));
        };
        if axes.len() < needed {
            return Err(too_few_sides(axes.len(), needed));
        }
        let product = |of: &dyn Fn(&AxisTaps) -> usize| {
            let sides = axes.iter().map(|axis| of(axis) as u64);
            sides.fold(1u64, u64::saturating_mul)
        };
        let end = (first as u64).saturating_add(product(&AxisTaps::from));
        if end > self.source_rows as u64 {
            return Err(Error::Range {
                start: first as u64,
                end,
            });
        }
        let grid = PatchGrid {
            frames: 1,
            rows: leading.last().map_or(1, |axis| axis.to() as u32),
            columns: last.to() as u32,
        };
        let rows = product(&AxisTaps::to);
        let blocks = leading.iter().map(|axis| axis.total() as u64).product();
        let planes = rows / last.to() as u64;
        let taps = product(&AxisTaps::total);
        self.reserve([rows, taps], [planes, blocks])?;
        let patches = order.patches(grid)?;
        self.taps += taps;
        let frames = planes as usize / grid.rows as usize;
        let (plane, column) = (self.planes.len() as u32, self.columns.len() as u32);
        for i in 0..last.to() {
            let (sources, weights) = last.of(i);
            let taps = sources.iter().copied().zip(weights.iter().copied());
            self.columns.push(taps);
        }
        // Planes of the same frame follow each other: one, or one for each row of the grid.
        for index in 0..planes as usize {
            let (mut at, mut rest) = (vec![0; leading.len()], index);
            for (at, axis) in at.iter_mut().zip(leading).rev() {
                *at = rest % axis.to();
                rest /= axis.to();
            }
            let mut taps = Vec::new();
            products(leading, &at, 0, 1.0, &mut |row, weight| {
                taps.push(((first + row * last.from()) as u32, weight));
            });
            self.push_plane(last.from(), taps.into_iter());
        }
        for frame in (plane..).step_by(grid.rows as usize).take(frames) {
            let rows = patches.clone();
            self.rows
                .extend(rows.map(|(row, i)| [frame + row, column + i]));
        }
        Ok(())
    }

    fn push_plane(&mut self, rows: usize, taps: impl Iterator<Item = (u32, f64)>) {
        self.planes.push(rows as u32);
        self.blocks.push(taps);
    }

    /// Appends rows of the result `count` times, such as the frames of a video after the first, or the row that pads an image. The planes
    /// are shared.
    ///
    /// # Errors
    /// Returns an error if the result does not have the rows, or if it would have more than 2^28 rows or
    /// weights.
    pub fn push_copies(&mut self, rows: Range<usize>, count: usize) -> Result<()> {
        if rows.end > self.rows() || rows.start > rows.end {
            let (start, end) = (rows.start as u64, rows.end as u64);
            return Err(Error::Range { start, end });
        }
        let taps: u64 = rows.clone().map(|row| self.of(row).count() as u64).sum();
        let taps = taps.saturating_mul(count as u64);
        let more = (rows.len() as u64).saturating_mul(count as u64);
        self.reserve([more, taps], [0; 2])?;
        self.taps += taps;
        for _ in 0..if rows.is_empty() { 0 } else { count } {
            self.rows.extend_from_within(rows.clone());
        }
        Ok(())
    }

    /// Returns the transposed sums: for each row of the table the rows of the result that it
    /// contributes to, ascending. Their weighted sum is the gradient of the table.
    pub fn transposed(&self) -> RowSums {
        let mut starts = vec![0u32; self.source_rows + 1];
        let all = || (0..self.rows()).flat_map(|row| self.of(row).map(move |tap| (row, tap)));
        for (_, (source, _)) in all() {
            starts[source as usize + 1] += 1;
        }
        for row in 0..self.source_rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sources = vec![0; self.taps()];
        let mut weights = vec![0.0; self.taps()];
        for (row, (source, weight)) in all() {
            let place = &mut next[source as usize];
            sources[*place as usize] = row as u32;
            weights[*place as usize] = weight;
            *place += 1;
        }
        RowSums {
            source_rows: self.rows(),
            lists: Weights {
                starts,
                sources,
                weights,
            },
        }
    }

    /// Checks the limits of rows and contributing rows, and reserves memory for more rows, planes, and blocks.
    fn reserve(&mut self, [rows, taps]: [u64; 2], [planes, blocks]: [u64; 2]) -> Result<()> {
        let counts = [
            ("rows", self.rows() as u64, rows),
            ("contributing rows", self.taps, taps),
        ];
        for (name, now, more) in counts {
            let taps = now.saturating_add(more);
            if taps > MAX_TAPS {
                return Err(Error::TooManyTaps { name, taps });
            }
        }
        let reserved = self.rows.try_reserve(rows as usize).is_ok()
            && self.planes.try_reserve(planes as usize).is_ok()
            && self.blocks.starts.try_reserve(planes as usize).is_ok()
            && self.blocks.sources.try_reserve(blocks as usize).is_ok()
            && self.blocks.weights.try_reserve(blocks as usize).is_ok();
        if !reserved {
            let bytes = 8 * (rows + planes) + 12 * blocks;
            return Err(Error::OutOfMemory { bytes });
        }
        Ok(())
    }
}

fn too_few_sides(sides: usize, expected: usize) -> Error {
    Error::GridSides {
        name: "the grid",
        sides,
        expected,
    }
}

/// Calls `push` with each row of a grid that contributes to the position `at`, and the product of its weights.
fn products(
    axes: &[&AxisTaps],
    at: &[usize],
    row: usize,
    weight: f64,
    push: &mut impl FnMut(usize, f64),
) {
    let ([axis, axes @ ..], [i, at @ ..]) = (axes, at) else {
        return push(row, weight);
    };
    let (sources, factors) = axis.of(*i);
    for (source, factor) in sources.iter().zip(factors) {
        let row = row * axis.from() + *source as usize;
        products(axes, at, row, weight * factor, push);
    }
}
