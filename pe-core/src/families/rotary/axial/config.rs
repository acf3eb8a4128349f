//! Specification of a rotary embedding over several axes.

use crate::families::rotary::patches::PatchOrder;
use crate::spec::direction::Direction;
use crate::spec::pair_layout::PairLayout;
use crate::spec::recipe::RotaryRecipe;
use crate::turns::scaling::RopeScaling;

/// Specification of a rotary embedding over several axes, such as time, rows, and columns: plain data,
/// checked by [`AxialRotary::new`](crate::AxialRotary::new).
///
/// ```
/// use pe_core::{AxialRotary, AxialRotaryConfig, PairLayout, RotaryAxis};
///
/// // FLUX: 16 columns of a head follow the first coordinate, 56 the second, 56 the third.
/// let config = AxialRotaryConfig {
///     layout: PairLayout::Interleaved,
///     ..AxialRotaryConfig::new([16, 56, 56].map(|width| RotaryAxis::new(width, 10_000.0)))
/// };
/// assert_eq!((config.head_dim, AxialRotary::new(config)?.pairs()), (128, 64));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct AxialRotaryConfig {
    /// Axes, in the order of a token's coordinates.
    pub axes: Vec<RotaryAxis>,
    /// Number of columns of a head. Columns after the rotated ones pass unchanged.
    pub head_dim: usize,
    /// Number that `head_dim` must be a multiple of: the proportions of a preset. Defaults to 1.
    #[cfg_attr(feature = "serde", serde(default = "one"))]
    pub multiple_of: usize,
    /// Number of pairs before the first rotated one that pass unchanged (LTX-Video).
    #[cfg_attr(feature = "serde", serde(default))]
    pub leading_pairs: usize,
    /// Places of the axes' pairs within a head.
    #[cfg_attr(feature = "serde", serde(default))]
    pub pairing: AxisPairing,
    /// Columns that form a pair.
    #[cfg_attr(feature = "serde", serde(default))]
    pub layout: PairLayout,
    /// Unit of the frequencies.
    #[cfg_attr(feature = "serde", serde(default))]
    pub unit: FrequencyUnit,
    /// Change of the frequencies that are powers of a base. Its attention factor multiplies every
    /// cosine and sine.
    #[cfg_attr(feature = "serde", serde(default))]
    pub scaling: RopeScaling,
    /// Direction of the rotation.
    #[cfg_attr(feature = "serde", serde(default))]
    pub direction: Direction,
    /// Exact values, or the roundings of transformers (powers of a base in radians alone).
    #[cfg_attr(feature = "serde", serde(default))]
    pub recipe: RotaryRecipe,
    /// Which size of a grid each axis follows.
    #[cfg_attr(feature = "serde", serde(default))]
    pub indexing: GridIndexing,
    /// Order of a grid's tokens.
    #[cfg_attr(feature = "serde", serde(default))]
    pub order: PatchOrder,
    /// Number of tokens before those of a grid that are not rotated: class and register tokens.
    #[cfg_attr(feature = "serde", serde(default))]
    pub prefix_tokens: usize,
    /// Number of tokens after those of a grid that are not rotated (Llama 4).
    #[cfg_attr(feature = "serde", serde(default))]
    pub suffix_tokens: usize,
}

impl AxialRotaryConfig {
    /// Creates the specification of heads that consist of the given axes, one after the other, with
    /// half-split pairs, exact, and without tokens that are not rotated.
    pub fn new(axes: impl Into<Vec<RotaryAxis>>) -> Self {
        let axes = axes.into();
        let widths = axes.iter().map(|axis| axis.width);
        Self {
            head_dim: widths.fold(0, usize::saturating_add),
            axes,
            multiple_of: 1,
            leading_pairs: 0,
            pairing: AxisPairing::WholeHead,
            layout: PairLayout::HalfSplit,
            unit: FrequencyUnit::Radian,
            scaling: RopeScaling::Default,
            direction: Direction::Counterclockwise,
            recipe: RotaryRecipe::Exact,
            indexing: GridIndexing::Ij,
            order: PatchOrder::RowMajor,
            prefix_tokens: 0,
            suffix_tokens: 0,
        }
    }
}

#[cfg(feature = "serde")]
const fn one() -> usize {
    1
}

/// Axis of a rotary embedding: its part of a head, its frequencies, and its coordinates in a grid.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct RotaryAxis {
    /// Number of columns that follow the axis, two for each pair.
    pub width: usize,
    /// Frequencies of its pairs.
    pub frequencies: AxisFrequencies,
    /// Coordinates of the axis in a grid.
    #[cfg_attr(feature = "serde", serde(default))]
    pub coordinates: GridCoordinates,
}

impl RotaryAxis {
    /// Creates an axis with the frequencies `base^(-2i / width)` and the coordinates 0, 1, 2 ...
    pub const fn new(width: usize, base: f64) -> Self {
        Self::with(width, AxisFrequencies::Own { base })
    }

    /// Creates an axis with the given frequencies and the coordinates 0, 1, 2 ...
    pub const fn with(width: usize, frequencies: AxisFrequencies) -> Self {
        Self {
            width,
            frequencies,
            coordinates: GridCoordinates::Affine {
                start: 0.0,
                step: 1.0,
            },
        }
    }

    /// Sets the coordinates of the axis in a grid.
    #[must_use]
    pub const fn at(mut self, coordinates: GridCoordinates) -> Self {
        self.coordinates = coordinates;
        self
    }
}

/// Frequencies of the pairs of an axis, in the unit of the specification per position.
///
/// `i` counts the `n` pairs of the axis, and `j` all rotated pairs of a head, which has `d` rotated
/// columns. `base` may include a factor of NTK-aware scaling ([`ntk_base`](crate::ntk_base)).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AxisFrequencies {
    /// `base^(-2i / width)`: a series of its own for each axis (FLUX, Wan, Qwen-VL's vision models).
    Own {
        /// Base of the frequencies.
        base: f64,
    },
    /// `base^(-2j / d)`: one series over the head, divided between the axes (M-RoPE).
    Shared {
        /// Base of the frequencies, the same for all axes.
        base: f64,
    },
    /// `base^(-2(A i + a) / d)` for axis `a` of `A`: one series over the head, of which each axis has
    /// every `A`th (Pixtral).
    Alternating {
        /// Base of the frequencies.
        base: f64,
    },
    /// `first (last / first)^(i / (n - 1))`: from one value to another, both included (LTX-Video).
    Geometric {
        /// Frequency of the first pair.
        first: f64,
        /// Frequency of the last pair.
        last: f64,
    },
    /// `first + (last - first) i / (n - 1)`: evenly spaced, both ends included (timm's linear bands).
    Linear {
        /// Frequency of the first pair.
        first: f64,
        /// Frequency of the last pair.
        last: f64,
    },
    /// Caller-supplied frequencies, one for each pair, used unchanged.
    Custom(Vec<f64>),
}

/// Unit of frequencies: the angle of frequency 1 at position 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum FrequencyUnit {
    /// One radian.
    #[default]
    Radian,
    /// `pi / 2` (LTX-Video).
    QuarterTurn,
    /// `pi` (timm's pixel frequencies).
    HalfTurn,
    /// `2 pi` (DINOv3).
    Turn,
}

/// Places of the axes' pairs within a head.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AxisPairing {
    /// The pairs of one axis after those of the other. The layout applies to the whole head.
    #[default]
    WholeHead,
    /// The columns of one axis after those of the other. The layout applies inside each axis' columns
    /// (Gemma 4's vision model). With interleaved pairs this equals `WholeHead`.
    PerAxis,
    /// The first pair of each axis, then the second of each, and so on (LTX-Video). An axis without
    /// further pairs is left out.
    Alternating,
    /// The axis of each pair (M-RoPE; [`Mrope::axes`](crate::Mrope::axes) returns it).
    Listed(Vec<u8>),
    /// The columns of one axis after those of the other, as with `PerAxis`. The frequencies of an axis
    /// are repeated as a whole, so that column `c` of the axis has frequency `c mod n`, while the pairs
    /// are interleaved. The two columns of a pair have different angles: this is not a rotation, and scores
    /// do not depend on distances alone. V-JEPA 2 was trained with it.
    Tiled,
    /// Axes divide the columns, not the pairs: column `c` of the head has frequency `c mod d/2`, and
    /// follows the axis of which it is a column. Where the two columns of a pair follow different axes,
    /// this is not a rotation. HunYuan-VL (`xdrope`) was trained with it.
    ByColumn,
}

/// Coordinates of an axis of `n` positions, as the nearest `f64` values of the formulas.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum GridCoordinates {
    /// `start + step i`.
    Affine {
        /// Coordinate of the first position.
        start: f64,
        /// Distance between neighbors.
        step: f64,
    },
    /// `i - ceil(n / 2)`: integers around 0 (Qwen-Image).
    Centered,
    /// `(i + offset) reference / n`: stretched to the size of the training grid (EVA-02).
    Scaled {
        /// Added to the index.
        offset: f64,
        /// Size of the training grid.
        reference: f64,
    },
    /// `(2i + 1) / n - 1`: centers of `n` patches of -1 .. 1 (DINOv3).
    PatchCenters,
    /// `2i / (n - 1) - 1`: from -1 to 1, both included (timm's pixel grids).
    Endpoints,
    /// `start + i (stop (n - 1) / n - start) / (n - 1)`: diffusers' `linspace` grids (CogVideoX).
    Linspace {
        /// Coordinate of the first position.
        start: f64,
        /// End of the grid, which is not one of its positions if `start` is 0.
        stop: f64,
    },
}

impl Default for GridCoordinates {
    fn default() -> Self {
        Self::Affine {
            start: 0.0,
            step: 1.0,
        }
    }
}

impl GridCoordinates {
    /// Returns coordinate `i` of `n`.
    pub(super) fn at(self, i: usize, n: usize) -> f64 {
        let (i, n) = (i as f64, n as f64);
        match self {
            Self::Affine { start, step } => step.mul_add(i, start),
            Self::Centered => i - (n / 2.0).ceil(),
            Self::Scaled { offset, reference } => (i + offset) * reference / n,
            Self::PatchCenters => (2.0 * i + 1.0 - n) / n,
            Self::Endpoints if n == 1.0 => -1.0,
            Self::Endpoints => (2.0 * i - (n - 1.0)) / (n - 1.0),
            Self::Linspace { start, .. } if n == 1.0 => start,
            Self::Linspace { start, stop } => {
                let (all, last) = (n * (n - 1.0), n - 1.0);
                (start * all + i * (stop * last - start * n)) / all
            }
        }
    }
}

/// Which size of a grid each axis follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum GridIndexing {
    /// The axes follow the sizes in their order: the last is that of the columns.
    #[default]
    Ij,
    /// The last two axes change places: the last but one is that of the columns (Llama 4's vision model,
    /// Gemma 4's vision model, the perception encoder in timm).
    Xy,
}
