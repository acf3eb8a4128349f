//! Sizes that a grid is resized to, and the rows that contribute to them.

use std::collections::BTreeMap;

use pe_core::{AxisTaps, Error, PatchGrid, RowTaps};

use crate::layers::grid::config::LearnedGridConfig;

/// Sizes that a call requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// One grid of these sides, with the rows before and after it.
    Whole(Vec<usize>),
    /// The grids of several images, one after the other.
    Packed(Vec<PatchGrid>),
    /// The grids of several images, each padded with copies of its first row to this length.
    Padded(Vec<PatchGrid>, usize),
}

impl Request {
    /// Computes the rows of the table that contribute to the result, and their weights.
    pub(crate) fn taps(&self, config: &LearnedGridConfig) -> Result<RowTaps, Error> {
        let mut taps = RowTaps::new(config.rows());
        let mut axes = Axes {
            config,
            known: BTreeMap::new(),
        };
        let end = config.rows_before + config.cells();
        match self {
            Self::Whole(size) => {
                taps.push_rows(0..config.rows_before)?;
                axes.push(size, &mut taps)?;
                taps.push_rows(end..end + config.rows_after)?;
            }
            Self::Packed(grids) => {
                for grid in grids {
                    axes.push_frames(*grid, &mut taps)?;
                }
            }
            Self::Padded(grids, len) => {
                for grid in grids {
                    let first = taps.rows();
                    axes.push_frames(*grid, &mut taps)?;
                    let used = taps.rows() - first;
                    if used < *len && used > 0 {
                        taps.push_copies(first, len - used)?;
                    }
                }
            }
        }
        Ok(taps)
    }
}

/// The axes that a request has needed until now.
struct Axes<'a> {
    config: &'a LearnedGridConfig,
    known: BTreeMap<(usize, usize), AxisTaps>,
}

impl Axes<'_> {
    fn push(&mut self, size: &[usize], taps: &mut RowTaps) -> Result<(), Error> {
        let sides = &self.config.sides;
        if size.len() != sides.len() {
            return Err(Error::GridSides {
                name: "the size",
                sides: size.len(),
                expected: sides.len(),
            });
        }
        let pairs: Vec<_> = sides.iter().copied().zip(size.iter().copied()).collect();
        for (from, to) in &pairs {
            if !self.known.contains_key(&(*from, *to)) {
                let axis = self.config.resize.taps(*from, *to)?;
                self.known.insert((*from, *to), axis);
            }
        }
        let axes: Vec<&AxisTaps> = pairs.iter().filter_map(|key| self.known.get(key)).collect();
        taps.push_grid(&axes, self.config.rows_before, self.config.order)
    }

    fn push_frames(&mut self, grid: PatchGrid, taps: &mut RowTaps) -> Result<(), Error> {
        let size = [grid.rows as usize, grid.columns as usize];
        for _ in 0..grid.frames {
            self.push(&size, taps)?;
        }
        Ok(())
    }
}
