//! Sinusoidal encodings of a grid in files: one tensor, `pe`, of shape `[rows, d_model]`, with a row for
//! each cell after the rows of zeros.

use std::ops::Range;

use candle_core::{Result, Tensor, bail};
use pe_core::{Element, Grid, GridConfig};
use serde::{Deserialize, Serialize};

use crate::checkpoint::file::read::DEFAULT_TENSOR;
use crate::checkpoint::scheme::{Rows, Scheme, Sealed, fill_rows};
use crate::checkpoint::schemes::fields::ConfigFields;
use crate::checkpoint::spec::Spec;

/// Specification of the encoding of a grid. Its positions are the rows of the table, those of zeros included.
///
/// ```
/// use candle_core::DType;
/// use pe_candle::GridPreset;
/// use pe_candle::checkpoint::{GridSpec, GridTable, GridTableConfig};
///
/// let grid = GridTable::new(GridTableConfig {
///     grid: GridPreset::VitMae.config(768),
///     size: vec![14, 14],
/// })?;
/// let rows = grid.rows() as usize;
/// assert_eq!(rows, 197);
/// let spec = GridSpec::of(grid, 0, rows, DType::F32)?;
/// assert_eq!(GridSpec::from_json(&spec.to_json()?)?, spec);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub type GridSpec = Spec<GridTable>;

/// Encoding of a grid of one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GridTableConfig {
    /// The encoding.
    pub grid: GridConfig,
    /// Number of positions along each side.
    pub size: Vec<usize>,
}

/// A checked encoding of a grid of one size, the builder of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct GridTable {
    config: GridTableConfig,
    grid: Grid,
    rows: u64,
}

/// Most axes of a specification. A grid has at most four sides.
const MOST_AXES: usize = 64;

impl GridTable {
    /// Checks the encoding and the size.
    ///
    /// # Errors
    /// Returns an error if the encoding has more than 64 axes, or if their columns are more than twice its
    /// width. Also returns the errors of [`Grid::new`](pe_core::Grid::new) and
    /// [`Grid::rows`](pe_core::Grid::rows).
    pub fn new(config: GridTableConfig) -> Result<Self> {
        let axes = config.grid.axes.len();
        if axes > MOST_AXES {
            bail!("{axes} axes are more than {MOST_AXES}");
        }
        let widths = config.grid.axes.iter().map(|axis| axis.sinusoidal.d_model);
        let (columns, d_model) = (widths.fold(0, usize::saturating_add), config.grid.d_model);
        if columns / 2 > d_model.saturating_add(axes) {
            bail!("the axes have {columns} columns, more than twice d_model {d_model}");
        }
        let grid = Grid::new(config.grid.clone())?;
        let rows = grid.rows(&config.size)?;
        Ok(Self { config, grid, rows })
    }

    /// Returns the number of rows, those of zeros included.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

impl Sealed for GridTable {}

impl Scheme for GridTable {
    const NAME: &'static str = "grid";
    const TABLES: &'static [&'static str] = &[DEFAULT_TENSOR];
    const WIDTH: &'static str = "d_model";
    type Config = GridTableConfig;
    type Fields = ConfigFields<GridTableConfig>;
    type Tensors = Tensor;

    fn build(config: GridTableConfig, _end: u64) -> Result<Self> {
        Self::new(config)
    }

    fn config(&self) -> &GridTableConfig {
        &self.config
    }

    fn width(config: &GridTableConfig) -> usize {
        config.grid.d_model
    }

    fn check(&self, rows: &Rows) -> Result<()> {
        rows.check_end(self.rows)
    }

    fn writer<T: Element>(
        &self,
        positions: Range<u64>,
    ) -> pe_core::Result<impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()>> {
        Ok(fill_rows(self.grid.d_model(), positions, |rows, table| {
            self.grid.fill_rows(&self.config.size, rows, table)
        }))
    }
}
