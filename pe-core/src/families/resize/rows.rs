//! Resizing of grids: the product of the axes, row by row.

use crate::error::{Error, Result};
use crate::families::resize::AxisTaps;
use crate::families::rotary::{PatchGrid, PatchOrder};
use crate::limits::MAX_TAPS;

/// Rows of a table that contribute to each row of a result, with their weights: one weighted sum of rows
/// for each row.
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
/// assert_eq!(taps.of(5), (&[1, 2, 3, 4][..], &[0.25; 4][..])); // the middle of the nine
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RowTaps {
    source_rows: usize,
    starts: Vec<u32>,
    sources: Vec<u32>,
    weights: Vec<f64>,
}

impl RowTaps {
    /// Creates the empty result for a table of `source_rows` rows.
    pub fn new(source_rows: usize) -> Self {
        Self {
            source_rows,
            starts: vec![0],
            sources: Vec::new(),
            weights: Vec::new(),
        }
    }

    /// Returns the number of rows of the result.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of rows of the table.
    pub fn source_rows(&self) -> usize {
        self.source_rows
    }

    /// Returns the total number of weights.
    pub fn taps(&self) -> usize {
        self.sources.len()
    }

    /// Returns the rows of the table that contribute to a row of the result, and their weights.
    ///
    /// # Panics
    /// Panics if the result does not have the row.
    #[inline]
    pub fn of(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        (&self.sources[range.clone()], &self.weights[range])
    }

    /// Appends rows of the table unchanged, such as the row of a class token.
    ///
    /// # Errors
    /// Returns an error if the table does not have the rows, or if the result would have more than
    /// 2^28.
    pub fn push_rows(&mut self, rows: std::ops::Range<usize>) -> Result<()> {
        if rows.end > self.source_rows || rows.start > rows.end {
            return Err(Error::Range {
                start: rows.start as u64,
                end: rows.end as u64,
            });
        }
        self.reserve(rows.len() as u64, rows.len() as u64)?;
        for row in rows {
            self.sources.push(row as u32);
            self.weights.push(1.0);
            self.starts.push(self.sources.len() as u32);
        }
        Ok(())
    }

    /// Appends a resized grid. The given one is row-major in the table, starting with row `first`.
    ///
    /// A weight is the product of the weights of the axes, each of which is rounded to `f64` once. For
    /// `n` axes its error is at most `n - 1/2` ulp.
    ///
    /// # Errors
    /// Returns an error if
    /// - there are no axes, or fewer than two with an order of squares,
    /// - the table does not have the rows of the grid,
    /// - the last two axes cannot be divided into squares,
    /// - the result would have more than 2^28 rows or weights.
    pub fn push_grid(&mut self, axes: &[&AxisTaps], first: usize, order: PatchOrder) -> Result<()> {
        let needed = if order == PatchOrder::RowMajor { 1 } else { 2 };
        if axes.len() < needed {
            return Err(Error::GridSides {
                name: "the grid",
                sides: axes.len(),
                expected: needed,
            });
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
        self.reserve(product(&AxisTaps::to), product(&AxisTaps::total))?;
        let (outer, plane) = axes.split_at(axes.len().saturating_sub(2));
        let side = |axis: Option<&&AxisTaps>| axis.map_or(1, |axis| axis.to() as u32);
        let grid = PatchGrid {
            frames: 1,
            rows: side(plane.iter().rev().nth(1)),
            columns: side(plane.last()),
        };
        let patches = order.patches(grid)?;
        let mut at = vec![0; axes.len()];
        for frame in 0..outer.iter().map(|axis| axis.to()).product() {
            let mut rest = frame;
            for (at, axis) in at.iter_mut().zip(outer).rev() {
                *at = rest % axis.to();
                rest /= axis.to();
            }
            for (row, column) in patches.clone() {
                let inner = [row as usize, column as usize];
                at[outer.len()..].copy_from_slice(&inner[2 - plane.len()..]);
                self.push_products(axes, &at, 0, 1.0, first);
                self.starts.push(self.sources.len() as u32);
            }
        }
        Ok(())
    }

    /// Appends the products of the weights along the axes.
    fn push_products(
        &mut self,
        axes: &[&AxisTaps],
        at: &[usize],
        row: usize,
        weight: f64,
        first: usize,
    ) {
        let ([axis, axes @ ..], [i, at @ ..]) = (axes, at) else {
            self.sources.push((first + row) as u32);
            self.weights.push(weight);
            return;
        };
        let (sources, factors) = axis.of(*i);
        for (source, factor) in sources.iter().zip(factors) {
            let row = row * axis.from() + *source as usize;
            self.push_products(axes, at, row, weight * factor, first);
        }
    }

    /// Appends copies of a row of the result, such as those that pad an image.
    ///
    /// # Errors
    /// Returns an error if the result does not have the row, or if it would have more than 2^28 rows or
    /// weights.
    pub fn push_copies(&mut self, row: usize, count: usize) -> Result<()> {
        if row >= self.rows() {
            let (start, end) = (row as u64, (row as u64).saturating_add(1));
            return Err(Error::Range { start, end });
        }
        let range = self.starts[row] as usize..self.starts[row + 1] as usize;
        let taps = (range.len() as u64).saturating_mul(count as u64);
        self.reserve(count as u64, taps)?;
        for _ in 0..count {
            self.sources.extend_from_within(range.clone());
            self.weights.extend_from_within(range.clone());
            self.starts.push(self.sources.len() as u32);
        }
        Ok(())
    }

    /// Returns the transposed sums: for each row of the table the rows of the result that it
    /// contributes to, ascending. Their weighted sum is the gradient of the table.
    pub fn transposed(&self) -> Self {
        let mut starts = vec![0u32; self.source_rows + 1];
        for source in &self.sources {
            starts[*source as usize + 1] += 1;
        }
        for row in 0..self.source_rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut sources = vec![0; self.sources.len()];
        let mut weights = vec![0.0; self.sources.len()];
        for row in 0..self.rows() {
            let (from, factors) = self.of(row);
            for (source, weight) in from.iter().zip(factors) {
                let place = &mut next[*source as usize];
                sources[*place as usize] = row as u32;
                weights[*place as usize] = *weight;
                *place += 1;
            }
        }
        Self {
            source_rows: self.rows(),
            starts,
            sources,
            weights,
        }
    }

    /// Checks the limits, and reserves memory for more rows and weights.
    fn reserve(&mut self, rows: u64, taps: u64) -> Result<()> {
        let counts = [
            ("rows", self.rows() as u64, rows),
            ("contributing rows", self.taps() as u64, taps),
        ];
        for (name, now, more) in counts {
            let taps = now.saturating_add(more);
            if taps > MAX_TAPS {
                return Err(Error::TooManyTaps { name, taps });
            }
        }
        let reserved = self.starts.try_reserve(rows as usize).is_ok()
            && self.sources.try_reserve(taps as usize).is_ok()
            && self.weights.try_reserve(taps as usize).is_ok();
        let bytes = 4 * rows + 12 * taps;
        if reserved {
            Ok(())
        } else {
            Err(Error::OutOfMemory { bytes })
        }
    }
}
