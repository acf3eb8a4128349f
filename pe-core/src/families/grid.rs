//! Sinusoidal encodings of grids of any number of sides.

use std::ops::Range;

mod coordinates;

use crate::error::{Error, Result};
use crate::families::sinusoidal::{Sinusoidal, SinusoidalConfig};
use crate::limits::{MAX_D_MODEL, MAX_GRID_SIDE, MAX_TOKENS};
use crate::rows::element::Element;
use crate::spec::layout::SinusoidLayout;
use crate::table::Table;

pub use coordinates::{AxisCoordinates, masked_coordinates};

/// Order of the columns of several axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum GridLayout {
    /// All columns of an axis, then those of the next one.
    #[default]
    AxisByAxis,
    /// The sines of all axes, then their cosines: timm. The axes must have the layout
    /// [`Concatenated`](SinusoidLayout::Concatenated) and even widths.
    SinesFirst,
}

/// Columns that follow one coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct GridAxis {
    /// Side of the grid that the columns follow: 0 is the first one, which changes slowest from row to row.
    pub side: usize,
    /// Encoding of the coordinate. Its width is the number of columns.
    pub sinusoidal: SinusoidalConfig,
    /// Coordinates along the side.
    #[cfg_attr(feature = "serde", serde(default))]
    pub coordinates: AxisCoordinates,
}

/// Specification of the encoding of a grid: plain data, checked by [`Grid::new`].
///
/// The row of a cell consists of the sinusoidal encodings of its coordinates, in the order of
/// [`axes`](Self::axes), up to the width `d_model`. [`GridPreset`](crate::GridPreset) lists the conventions of other
/// libraries.
///
/// ```
/// use pe_core::{Grid, GridConfig};
///
/// // Height and width, half of the columns each.
/// let grid = Grid::new(GridConfig::new(64, 2))?;
/// let table = grid.table::<f32>(&[14, 14])?;
/// assert_eq!((table.rows(), table.width()), (196, 64));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct GridConfig {
    /// Width of a row. Columns of the axes beyond it are left out.
    pub d_model: usize,
    /// Number of sides of the grid, 1 to 4.
    pub num_sides: usize,
    /// Columns by coordinate.
    pub axes: Vec<GridAxis>,
    /// Order of the columns.
    #[cfg_attr(feature = "serde", serde(default))]
    pub layout: GridLayout,
    /// Rows of zeros before the grid, such as that of a class token.
    #[cfg_attr(feature = "serde", serde(default))]
    pub prefix_rows: usize,
}

impl GridConfig {
    /// Creates the encoding of a grid in which each side has an equal share of the columns: sines, then
    /// cosines, the first side first.
    pub fn new(d_model: usize, num_sides: usize) -> Self {
        let axis = |side| GridAxis {
            side,
            sinusoidal: SinusoidalConfig {
                layout: SinusoidLayout::Concatenated,
                ..SinusoidalConfig::new(d_model.checked_div(num_sides).unwrap_or(0))
            },
            coordinates: AxisCoordinates::Index,
        };
        Self {
            d_model,
            num_sides,
            axes: (0..num_sides.min(MAX_SIDES)).map(axis).collect(),
            layout: GridLayout::AxisByAxis,
            prefix_rows: 0,
        }
    }
}

/// Most sides of a grid.
const MAX_SIDES: usize = 4;

/// A checked encoding of grids, the builder of tables.
///
/// Every entry is the value of its type nearest to the sine or cosine of `coordinate x frequency`. A
/// coordinate is an `f64`, which [`AxisCoordinates`] defines. The rows of each axis are computed once
/// for each coordinate and copied to the cells.
///
/// ```
/// use pe_core::{Grid, GridPreset, Sinusoidal};
///
/// let grid = Grid::new(GridPreset::VitMae.config(64))?;
/// let table = grid.table::<f32>(&[2, 3])?;
/// assert!(table.row(0).unwrap().iter().all(|entry| *entry == 0.0)); // the class row
/// // The last patch is in row 1 and column 2. The width comes first.
/// let halves = Sinusoidal::new(grid.config().axes[0].sinusoidal)?.table::<f32>(0..3)?;
/// let (column, row) = (halves.row(2).unwrap(), halves.row(1).unwrap());
/// assert_eq!(table.row(6).unwrap(), [column, row].concat());
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Grid {
    config: GridConfig,
    axes: Vec<Sinusoidal>,
    segments: Vec<Segment>,
}

/// Columns that are copied from the row of an axis.
#[derive(Debug, Clone, Copy)]
struct Segment {
    axis: usize,
    from: usize,
    to: usize,
    len: usize,
}

impl PartialEq for Grid {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

impl Grid {
    /// Checks the specification and computes the frequencies of all axes.
    ///
    /// # Errors
    /// Returns an error if
    /// - the grid has no side or more than 4, or an axis follows another one,
    /// - the columns of the axes are fewer than `d_model`, or an axis has none of them,
    /// - the layout asks for sines first and an axis has another layout or an odd width,
    /// - a parameter of the coordinates is not positive and finite.
    ///
    /// Also returns the errors of [`Sinusoidal::new`].
    pub fn new(config: GridConfig) -> Result<Self> {
        let (sides, d_model) = (config.num_sides, config.d_model);
        if d_model == 0 || d_model > MAX_D_MODEL {
            return Err(Error::DModel { d_model });
        }
        if sides == 0 || sides > MAX_SIDES {
            return Err(Error::GridSides {
                name: "the grid",
                sides,
                expected: sides.clamp(1, MAX_SIDES),
            });
        }
        let mut columns = 0usize;
        for axis in &config.axes {
            if axis.side >= sides {
                return Err(Error::Axis {
                    axis: u8::try_from(axis.side).unwrap_or(u8::MAX),
                    lists: sides,
                });
            }
            axis.coordinates.check()?;
            let width = axis.sinusoidal.d_model;
            let paired =
                width.is_multiple_of(2) && axis.sinusoidal.layout == SinusoidLayout::Concatenated;
            if config.layout == GridLayout::SinesFirst && !paired {
                return Err(Error::SinesFirst { width });
            }
            columns = columns.saturating_add(width);
        }
        if columns < d_model || config.axes.len() > MAX_D_MODEL {
            return Err(Error::GridColumns { columns, d_model });
        }
        let axes = config
            .axes
            .iter()
            .map(|axis| Sinusoidal::new(axis.sinusoidal));
        let axes = axes.collect::<Result<Vec<_>>>()?;
        let segments = segments(&config);
        Ok(Self {
            config,
            axes,
            segments,
        })
    }

    /// Returns the specification.
    pub fn config(&self) -> &GridConfig {
        &self.config
    }

    /// Returns the width of a row.
    pub fn d_model(&self) -> usize {
        self.config.d_model
    }

    /// Computes the encodings of a grid, one row for each cell with the last side changing fastest, after
    /// the rows of zeros.
    ///
    /// # Errors
    /// Returns an error if
    /// - the number of sides differs from the specification, or a side is 0 or above
    ///   [`MAX_GRID_SIDE`],
    /// - the table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or memory is exhausted.
    pub fn table<T: Element>(&self, sides: &[usize]) -> Result<Table<T>> {
        let mut table = Table::zeros(self.rows(sides)?, self.d_model())?;
        self.fill(sides, table.as_mut_slice())?;
        Ok(table)
    }

    /// Writes the encodings of a grid into `out`, as [`table`](Self::table) computes them.
    ///
    /// ```
    /// use pe_core::{Grid, GridConfig};
    ///
    /// let grid = Grid::new(GridConfig::new(8, 2))?;
    /// let mut rows = vec![0f64; 6 * 8];
    /// grid.fill(&[2, 3], &mut rows)?;
    /// assert_eq!(grid.table::<f64>(&[2, 3])?.as_slice(), rows);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `out` does not have the size of the table. Also returns the errors of
    /// [`table`](Self::table).
    pub fn fill<T: Element>(&self, sides: &[usize], out: &mut [T]) -> Result<()> {
        let rows = self.rows(sides)?;
        self.fill_rows(sides, 0..rows, out)
    }

    /// Writes some of the rows of a grid into `out`, counted from 0 with the rows of zeros. The rows of an
    /// axis are computed for the coordinates that occur.
    ///
    /// ```
    /// use pe_core::{Grid, GridConfig};
    ///
    /// let grid = Grid::new(GridConfig::new(8, 2))?;
    /// let mut rows = vec![0f64; 2 * 8];
    /// grid.fill_rows(&[2, 3], 2..4, &mut rows)?;
    /// assert_eq!(grid.table::<f64>(&[2, 3])?.as_slice()[2 * 8..4 * 8], rows);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the range descends or ends after the last row, or if `out` does not hold exactly
    /// those rows. Also returns the errors of [`table`](Self::table).
    pub fn fill_rows<T: Element>(
        &self,
        sides: &[usize],
        rows: Range<u64>,
        out: &mut [T],
    ) -> Result<()> {
        let (all, width) = (self.rows(sides)?, self.d_model());
        let Range { start, end } = rows;
        if start > end || end > all {
            return Err(Error::GridRows {
                start,
                end,
                rows: all,
            });
        }
        check_len(out, end - start, width)?;
        let prefix = self.config.prefix_rows as u64;
        let zeros = prefix.clamp(start, end) - start;
        let (zeros, cells) = out.split_at_mut(zeros as usize * width);
        zeros.fill(T::default());
        if cells.is_empty() {
            return Ok(());
        }
        // Cells are below 2^28.
        let (first, last) = (start.max(prefix) - prefix, end - 1 - prefix);
        let (first, last) = (first as usize, last as usize);
        let steps = || steps(sides);
        let occurring: Vec<Range<usize>> = steps()
            .map(|(step, side)| occurring(first / step, last / step, side))
            .collect();
        let tables = self.axes.iter().zip(&self.config.axes);
        let tables = tables.map(|(axis, config)| {
            let range = occurring[config.side].clone();
            match config.coordinates {
                AxisCoordinates::Index => axis.table::<T>(range.start as u64..range.end as u64),
                coordinates => axis.table_at_reals::<T>(&coordinates.of(sides[config.side])[range]),
            }
        });
        let tables = tables.collect::<Result<Vec<_>>>()?;
        let mut at: Vec<usize> = steps().map(|(step, side)| first / step % side).collect();
        for row in cells.chunks_exact_mut(width) {
            for segment in &self.segments {
                let side = self.config.axes[segment.axis].side;
                segment.copy(
                    tables[segment.axis].as_slice(),
                    self.axes[segment.axis].d_model(),
                    at[side] - occurring[side].start,
                    row,
                );
            }
            for (at, side) in at.iter_mut().zip(sides).rev() {
                *at += 1;
                if *at < *side {
                    break;
                }
                *at = 0;
            }
        }
        Ok(())
    }

    /// Computes the encodings of cells at any real coordinates, one row each, without rows of zeros.
    /// `coordinates` has a list for each side. Rows are computed once for each value in a list.
    ///
    /// DETR encodes boxes by the coordinates `2 pi x` and `2 pi y`, with `y` first.
    ///
    /// ```
    /// use pe_core::{Grid, GridPreset};
    ///
    /// let grid = Grid::new(GridPreset::Detr.config(8))?;
    /// let boxes = grid.table_at_reals::<f32>(&[&[0.25, 0.5], &[1.0, 1.5]])?; // y, then x
    /// assert_eq!(boxes.rows(), 2);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the number of lists is not the number of sides, or they differ in length,
    /// - a coordinate is not finite or exceeds 2^53 in magnitude,
    /// - the table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or memory is exhausted.
    pub fn table_at_reals<T: Element>(&self, coordinates: &[&[f64]]) -> Result<Table<T>> {
        let (sides, width) = (self.config.num_sides, self.d_model());
        if coordinates.len() != sides {
            return Err(Error::GridSides {
                name: "the list of coordinates",
                sides: coordinates.len(),
                expected: sides,
            });
        }
        let cells = coordinates.first().map_or(0, |list| list.len());
        if let Some(odd) = coordinates.iter().find(|list| list.len() != cells) {
            return Err(Error::Length {
                name: "a list of coordinates",
                len: odd.len(),
                expected: cells as u64,
            });
        }
        let mut table = Table::zeros(cells as u64, width)?;
        for (axis, sinusoidal) in self.axes.iter().enumerate() {
            let list = coordinates[self.config.axes[axis].side];
            let mut distinct: Vec<f64> = list.to_vec();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup_by_key(|value| value.to_bits());
            let rows = sinusoidal
                .table_at_reals::<T>(&distinct)
                .map_err(|error| match error {
                    // The index in the list, not that among the distinct values.
                    Error::Timestep { value, .. } => Error::Timestep {
                        value,
                        index: list
                            .iter()
                            .position(|v| v.to_bits() == value.to_bits())
                            .unwrap_or(0),
                    },
                    other => other,
                })?;
            let own = self.segments.iter().filter(|segment| segment.axis == axis);
            for (row, value) in table.as_mut_slice().chunks_exact_mut(width).zip(list) {
                let found = distinct.binary_search_by(|v| v.total_cmp(value));
                let cell = found.unwrap_or(0);
                for segment in own.clone() {
                    segment.copy(rows.as_slice(), sinusoidal.d_model(), cell, row);
                }
            }
        }
        Ok(table)
    }

    /// Returns the number of rows of a grid, with the rows of zeros.
    ///
    /// # Errors
    /// Returns an error if
    /// - the number of sides differs from the specification, or a side is 0 or above
    ///   [`MAX_GRID_SIDE`],
    /// - the rows are more than 2^28.
    pub fn rows(&self, sides: &[usize]) -> Result<u64> {
        if sides.len() != self.config.num_sides {
            return Err(Error::GridSides {
                name: "the size",
                sides: sides.len(),
                expected: self.config.num_sides,
            });
        }
        let mut rows = 1u64;
        for side in sides {
            if !(1..=MAX_GRID_SIDE).contains(side) {
                return Err(Error::GridSide {
                    name: "a side of the size",
                    side: *side,
                });
            }
            rows = rows.saturating_mul(*side as u64);
        }
        let tokens = rows.saturating_add(self.config.prefix_rows as u64);
        if tokens > MAX_TOKENS {
            return Err(Error::TooManyTokens { tokens });
        }
        Ok(tokens)
    }
}

impl Segment {
    /// Copies the columns from a row of an axis' table.
    #[inline]
    fn copy<T: Copy>(&self, table: &[T], width: usize, cell: usize, row: &mut [T]) {
        let start = cell * width + self.from;
        row[self.to..self.to + self.len].copy_from_slice(&table[start..start + self.len]);
    }
}

/// Returns for each side the number of cells from one of its positions to the next, and its length.
fn steps(sides: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let step = |index: usize| sides[index + 1..].iter().product();
    (0..sides.len()).map(move |index| (step(index), sides[index]))
}

/// Returns the positions along a side that cells reach, given the first and the last one without the wrap
/// at the end of the side.
fn occurring(first: usize, last: usize, side: usize) -> Range<usize> {
    let start = first % side;
    match last - first {
        more if start + more < side => start..start + more + 1,
        _ => 0..side,
    }
}

/// Returns the columns of all axes, up to the width of a row.
fn segments(config: &GridConfig) -> Vec<Segment> {
    let parts: &[usize] = match config.layout {
        GridLayout::AxisByAxis => &[0],
        GridLayout::SinesFirst => &[0, 1],
    };
    let (mut segments, mut to) = (Vec::new(), 0);
    for part in parts {
        for (axis, GridAxis { sinusoidal, .. }) in config.axes.iter().enumerate() {
            let len = sinusoidal.d_model / parts.len();
            let kept = len.min(config.d_model - to);
            if kept > 0 {
                segments.push(Segment {
                    axis,
                    from: part * len,
                    to,
                    len: kept,
                });
            }
            to += kept;
        }
    }
    segments
}

fn check_len<T>(out: &[T], rows: u64, width: usize) -> Result<()> {
    let expected = rows.saturating_mul(width as u64);
    if out.len() as u64 == expected {
        return Ok(());
    }
    Err(Error::Length {
        name: "out",
        len: out.len(),
        expected,
    })
}
