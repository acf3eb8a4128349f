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
                        taps.push_copies(first..first + 1, len - used)?;
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
        let first = taps.rows();
        if grid.frames > 0 {
            self.push(&[grid.rows as usize, grid.columns as usize], taps)?;
            taps.push_copies(first..taps.rows(), grid.frames as usize - 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pe_core::{ResizeConfig, ResizeKernel};

    /// A video has the planes of one frame, so that too many frames are found before there is memory for them.
    #[test]
    fn frames_share_their_planes() {
        let config = LearnedGridConfig {
            resize: ResizeConfig::new(ResizeKernel::Bicubic),
            ..LearnedGridConfig::new([4, 4], 2)
        };
        let taps = |frames| {
            let (rows, columns) = (5, 6);
            let video = PatchGrid {
                frames,
                rows,
                columns,
            };
            Request::Packed(vec![video]).taps(&config)
        };
        let planes = |frames| taps(frames).map(|taps| (taps.rows(), taps.stages()[0].rows()));
        let (rows, of_one) = planes(1).unwrap();
        assert_eq!(rows, 30);
        assert_eq!(planes(7), Ok((210, of_one)));
        assert_eq!(planes(0), Ok((0, 0)));
        let many = taps(u32::MAX).unwrap_err().to_string();
        assert_eq!(
            many,
            "128849018850 rows exceed the limit of 268435456 in one call"
        );
    }
}
