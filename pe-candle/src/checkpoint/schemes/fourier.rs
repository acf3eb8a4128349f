//! Fourier features of the cells of a grid in files: one tensor, `pe`, of shape `[rows, width]`.

use std::ops::Range;

use candle_core::{Result, Tensor, bail};
use pe_core::{Element, FourierConfig, FourierFeatures, MAX_GRID_SIDE, POSITIONS};
use serde::{Deserialize, Serialize};

use crate::checkpoint::file::read::DEFAULT_TENSOR;
use crate::checkpoint::scheme::{Rows, Scheme, Sealed, fill_rows};
use crate::checkpoint::schemes::fields::ConfigFields;
use crate::checkpoint::spec::Spec;

/// Specification of the Fourier features of a grid's cells. Its positions are the cells, the last side
/// changing fastest.
///
/// ```
/// use candle_core::DType;
/// use pe_candle::FourierPreset;
/// use pe_candle::checkpoint::{CellPoints, FourierSpec, FourierTableConfig};
///
/// let perceiver = FourierTableConfig {
///     features: FourierPreset::Perceiver.config(2, 64),
///     size: vec![224, 224],
///     points: CellPoints::Ends,
/// };
/// let spec = FourierSpec::new(perceiver, 0, 224 * 224, DType::F32)?;
/// assert_eq!(FourierSpec::from_json(&spec.to_json()?)?, spec);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub type FourierSpec = Spec<FourierTable>;

/// Coordinates of the cells `i = 0 .. n` along a side.
///
/// They are computed in `f64`, with one rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CellPoints {
    /// `(2i - (n - 1)) / (n - 1)`: from -1 to 1, both included (Perceiver). A single cell is at 0.
    Ends,
    /// `(2i + 1) / 2n`: the centers of the cells in 0 .. 1 (Segment Anything).
    Centers,
}

impl CellPoints {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Ends, Self::Centers];

    /// Returns the name, as in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ends => "ends",
            Self::Centers => "centers",
        }
    }

    /// Returns the coordinate of a cell of a side.
    fn at(self, cell: u64, side: u64) -> f64 {
        // Both are below 2^17.
        let (i, n) = (cell as f64, side as f64);
        match self {
            Self::Ends if side == 1 => 0.0,
            Self::Ends => (2.0 * i - (n - 1.0)) / (n - 1.0),
            Self::Centers => (2.0 * i + 1.0) / (2.0 * n),
        }
    }
}

/// Fourier features of the cells of a grid of one size. The frequencies are computed: features with a
/// matrix of values have no specification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FourierTableConfig {
    /// The features of a point.
    pub features: FourierConfig,
    /// Number of cells along each side, one for each coordinate.
    pub size: Vec<usize>,
    /// Coordinates of the cells.
    pub points: CellPoints,
}

/// Checked Fourier features of the cells of a grid, the builder of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct FourierTable {
    config: FourierTableConfig,
    features: FourierFeatures,
    cells: u64,
}

/// Most sides of a grid.
const MOST_SIDES: usize = 4;

/// Most frequencies of a coordinate.
const MOST_BANDS: usize = 4096;

impl FourierTable {
    /// Checks the features and the size.
    ///
    /// # Errors
    /// Returns an error if
    /// - the sides are not as many as the coordinates of a point, or more than 4,
    /// - the bands are more than 4,096,
    /// - a side is 0 or above [`MAX_GRID_SIDE`], or the cells are more than 2^32.
    ///
    /// Also returns the errors of [`FourierFeatures::new`](pe_core::FourierFeatures::new).
    pub fn new(config: FourierTableConfig) -> Result<Self> {
        let (sides, axes) = (config.size.len(), config.features.axes);
        if sides != axes {
            bail!("the size has {sides} sides, a point has {axes} coordinates");
        }
        let bands = config.features.bands();
        if sides > MOST_SIDES || bands > MOST_BANDS {
            bail!(
                "{sides} sides and {bands} bands exceed the limits of {MOST_SIDES} and {MOST_BANDS}"
            );
        }
        let mut cells = 1u64;
        for side in &config.size {
            if !(1..=MAX_GRID_SIDE).contains(side) {
                bail!("a side of the size is {side}, outside 1..={MAX_GRID_SIDE}");
            }
            cells = cells.saturating_mul(*side as u64);
        }
        if cells > POSITIONS {
            bail!("{cells} cells exceed the limit of {POSITIONS}");
        }
        let features = FourierFeatures::new(config.features.clone())?;
        Ok(Self {
            config,
            features,
            cells,
        })
    }

    /// Returns the number of cells.
    pub fn rows(&self) -> u64 {
        self.cells
    }

    /// Returns the coordinates of consecutive cells, cell after cell.
    fn points(&self, cells: Range<u64>) -> Vec<f64> {
        let FourierTableConfig { size, points, .. } = &self.config;
        let mut all = Vec::new();
        for cell in cells {
            let (mut rest, first) = (cell, all.len());
            for side in size.iter().rev().map(|side| *side as u64) {
                let at = rest.checked_rem(side).unwrap_or(0);
                all.push(points.at(at, side));
                rest = rest.checked_div(side).unwrap_or(0);
            }
            if let Some(point) = all.get_mut(first..) {
                point.reverse();
            }
        }
        all
    }
}

impl Sealed for FourierTable {}

impl Scheme for FourierTable {
    const NAME: &'static str = "fourier";
    const TABLES: &'static [&'static str] = &[DEFAULT_TENSOR];
    const WIDTH: &'static str = "width";
    type Config = FourierTableConfig;
    type Fields = ConfigFields<FourierTableConfig>;
    type Tensors = Tensor;

    fn build(config: FourierTableConfig, _end: u64) -> Result<Self> {
        Self::new(config)
    }

    fn config(&self) -> &FourierTableConfig {
        &self.config
    }

    fn width(config: &FourierTableConfig) -> usize {
        config.features.width()
    }

    fn check(&self, rows: &Rows) -> Result<()> {
        rows.check_end(self.cells)
    }

    fn writer<T: Element>(
        &self,
        positions: Range<u64>,
    ) -> pe_core::Result<impl FnMut(&mut [Vec<T>]) -> pe_core::Result<()>> {
        let width = self.features.width();
        Ok(fill_rows(width, positions, |cells, table| {
            self.features.fill_at_reals(&self.points(cells), table)
        }))
    }
}
