//! Specification of Fourier features, and the conventions of other libraries.

use crate::error::{Error, Result};
use crate::limits::MAX_D_MODEL;
use crate::spec::impl_names;

/// Specification of Fourier features: plain data, checked by
/// [`FourierFeatures`](crate::FourierFeatures).
///
/// A point has `axes` coordinates. Its features are the sines and cosines of phases, each a coordinate
/// times a frequency, or a sum of such products ([`FourierBands::Matrix`]).
///
/// ```
/// use pe_core::{FourierConfig, FourierPreset};
///
/// let nerf = FourierPreset::Nerf.config(3, 10);
/// assert_eq!(nerf.width(), 3 + 3 * 2 * 10);
/// let bare = FourierConfig { with_input: false, ..nerf };
/// assert_eq!(bare.width(), 60);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct FourierConfig {
    /// Number of coordinates of a point.
    pub axes: usize,
    /// Frequencies.
    pub bands: FourierBands,
    /// Angle of a phase of 1: a turn, half a turn, or a radian.
    pub unit: AngleUnit,
    /// Transformation of the coordinates before they are multiplied.
    pub coordinates: FourierCoordinates,
    /// Order of the features.
    pub layout: FourierLayout,
    /// Whether the coordinates themselves come before their features.
    pub with_input: bool,
}

/// Frequencies of Fourier features.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum FourierBands {
    /// `2^k` for `k = 0 .. bands`, for each coordinate.
    Octaves {
        /// Number of frequencies.
        bands: usize,
    },
    /// `base^(k / bands)` for `k = 0 .. bands`, for each coordinate.
    Geometric {
        /// Number of frequencies.
        bands: usize,
        /// The base, a positive finite number.
        base: f64,
    },
    /// `base^(-k / bands)` for `k = 0 .. bands`, for each coordinate.
    InverseGeometric {
        /// Number of frequencies.
        bands: usize,
        /// The base, a positive finite number.
        base: f64,
    },
    /// Equally spaced from 1 to half the resolution of each coordinate's axis, both included.
    Linear {
        /// Number of frequencies.
        bands: usize,
        /// Resolution of each axis, such as the number of pixels.
        resolutions: Vec<u32>,
    },
    /// Columns of a matrix `[axes, columns]` that is given or trained: phase `j` is the sum of
    /// `x_a * matrix[a, j]`.
    Matrix {
        /// Number of phases.
        columns: usize,
    },
}

/// Angle of a phase of 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum AngleUnit {
    /// `2 pi`.
    Turns,
    /// `pi`.
    HalfTurns,
    /// 1.
    Radians,
}

/// Transformation of coordinates before they are multiplied by frequencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum FourierCoordinates {
    /// `x`.
    #[default]
    Identity,
    /// `2 x - 1`, from 0 .. 1 to -1 .. 1.
    Centered,
    /// `ln(x)` of positive coordinates.
    Log,
}

/// Order of Fourier features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum FourierLayout {
    /// All sines, then all cosines. Phases of one coordinate follow each other.
    #[default]
    Concatenated,
    /// All cosines, then all sines. Phases of one coordinate follow each other.
    ConcatenatedCosFirst,
    /// For each frequency the sines of all coordinates, then their cosines.
    ByBand,
    /// All sines, then all cosines. Phases of one frequency follow each other.
    ConcatenatedByBand,
    /// For each coordinate the sine and cosine of each frequency, `y` before `x`: the first two coordinates
    /// change places.
    InterleavedYx,
}

/// Fourier features of other libraries.
///
/// | preset | angle | features |
/// |---|---|---|
/// | `sam` | 2 pi (2x - 1) G, a stored matrix | sines, cosines |
/// | `gaussian-projection` | 2 pi ln(x) w, stored weights | sines, cosines |
/// | `perceiver` | pi x f, f from 1 to resolution / 2 | coordinates, sines, cosines |
/// | `gligen` | x 100^(k/n) | by frequency: sines, cosines |
/// | `nerf` | pi x 2^k | coordinates; by frequency: sines, cosines |
/// | `nerf-pytorch` | x 2^k | coordinates; by frequency: sines, cosines |
/// | `timm` | pi x f, f from 1 to 112 | coordinates; sines, cosines, each by frequency |
/// | `detr-box` | 2 pi x 10000^(-k/n) | of y, x, and the others: sine, cosine by frequency |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FourierPreset {
    /// The prompt encoder of Segment Anything, for coordinates in 0 .. 1 (M. Tancik et al., "Fourier
    /// Features Let Networks Learn High Frequency Functions in Low Dimensional Domains", 2020). The
    /// matrix is `positional_embedding` in transformers, `positional_encoding_gaussian_matrix` in the
    /// original. transformers' f32 entries are within 4.4e-6 of the exact values.
    Sam,
    /// `GaussianFourierProjection` of diffusers and of score-based models, for noise levels. diffusers'
    /// f32 entries are within 1.1e-4 of the exact values for noise levels above 0.002 and weights of standard
    /// deviation 16.
    GaussianProjection,
    /// Perceiver, for coordinates in -1 .. 1 and 224 pixels per axis. transformers' f32 entries are
    /// within 4.6e-5 of the exact values.
    Perceiver,
    /// The boxes of GLIGEN. diffusers' f32 entries are within 3.5e-6 of the exact values.
    Gligen,
    /// NeRF (B. Mildenhall et al., 2020, equation 4). The same in f32 is within 1.1e-4 of the exact values
    /// with ten frequencies.
    Nerf,
    /// The widespread PyTorch port of NeRF, without pi. Its f32 entries are within 4.4e-6 of the exact
    /// values with ten frequencies.
    NerfPytorch,
    /// `FourierEmbed` of timm, for coordinates in -1 .. 1 and 224 pixels per axis. Its f32 entries are within
    /// 4.1e-5 of the exact values.
    Timm,
    /// Points `x, y` or boxes `x, y, w, h` within 0 .. 1 of Conditional DETR, DAB-DETR, LW-DETR, and Grounding
    /// DINO, with half as many frequencies as columns per coordinate. transformers' f32 entries are within
    /// 7.5e-7 of the exact values.
    DetrBox,
}

impl FourierPreset {
    /// All presets.
    pub const ALL: [Self; 8] = [
        Self::Sam,
        Self::GaussianProjection,
        Self::Perceiver,
        Self::Gligen,
        Self::Nerf,
        Self::NerfPytorch,
        Self::Timm,
        Self::DetrBox,
    ];

    /// Returns the name of the preset, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sam => "sam",
            Self::GaussianProjection => "gaussian-projection",
            Self::Perceiver => "perceiver",
            Self::Gligen => "gligen",
            Self::Nerf => "nerf",
            Self::NerfPytorch => "nerf-pytorch",
            Self::Timm => "timm",
            Self::DetrBox => "detr-box",
        }
    }

    /// Returns the specification of this convention for points of `axes` coordinates and a number of
    /// frequencies: the columns of the matrix of `sam` and `gaussian-projection`.
    pub fn config(self, axes: usize, bands: usize) -> FourierConfig {
        let by_band = |bands, unit, with_input| FourierConfig {
            axes,
            bands,
            unit,
            coordinates: FourierCoordinates::Identity,
            layout: FourierLayout::ByBand,
            with_input,
        };
        let matrix = |coordinates| FourierConfig {
            layout: FourierLayout::Concatenated,
            coordinates,
            ..by_band(
                FourierBands::Matrix { columns: bands },
                AngleUnit::Turns,
                false,
            )
        };
        match self {
            Self::Sam => matrix(FourierCoordinates::Centered),
            Self::GaussianProjection => matrix(FourierCoordinates::Log),
            Self::Perceiver | Self::Timm => {
                let resolutions = vec![224; axes.min(MAX_D_MODEL)];
                let bands = FourierBands::Linear { bands, resolutions };
                FourierConfig {
                    layout: match self {
                        Self::Timm => FourierLayout::ConcatenatedByBand,
                        _ => FourierLayout::Concatenated,
                    },
                    ..by_band(bands, AngleUnit::HalfTurns, true)
                }
            }
            Self::DetrBox => {
                let base = 10000.0;
                let bands = FourierBands::InverseGeometric { bands, base };
                FourierConfig {
                    layout: FourierLayout::InterleavedYx,
                    ..by_band(bands, AngleUnit::Turns, false)
                }
            }
            Self::Gligen => {
                let bands = FourierBands::Geometric { bands, base: 100.0 };
                by_band(bands, AngleUnit::Radians, false)
            }
            Self::Nerf => by_band(FourierBands::Octaves { bands }, AngleUnit::HalfTurns, true),
            Self::NerfPytorch => by_band(FourierBands::Octaves { bands }, AngleUnit::Radians, true),
        }
    }
}

impl_names!(FourierPreset, "Fourier preset");

impl FourierConfig {
    /// Returns the number of frequencies of each coordinate, or the columns of the matrix.
    pub fn bands(&self) -> usize {
        match &self.bands {
            FourierBands::Octaves { bands }
            | FourierBands::Geometric { bands, .. }
            | FourierBands::InverseGeometric { bands, .. }
            | FourierBands::Linear { bands, .. } => *bands,
            FourierBands::Matrix { columns } => *columns,
        }
    }

    /// Returns whether each phase is a sum over all coordinates.
    pub fn has_matrix(&self) -> bool {
        matches!(self.bands, FourierBands::Matrix { .. })
    }

    /// Returns the number of phases.
    pub fn phases(&self) -> usize {
        match self.has_matrix() {
            true => self.bands(),
            false => self.axes.saturating_mul(self.bands()),
        }
    }

    /// Returns the number of features of a point.
    pub fn width(&self) -> usize {
        let input = if self.with_input { self.axes } else { 0 };
        self.phases().saturating_mul(2).saturating_add(input)
    }

    /// Returns the columns of the sine and the cosine of a phase. Phases of one coordinate follow each
    /// other.
    ///
    /// ```
    /// let nerf = pe_core::FourierPreset::Nerf.config(3, 10);
    /// assert_eq!(nerf.columns(1), (9, 12)); // the second frequency of the first coordinate
    /// ```
    pub fn columns(&self, phase: usize) -> (usize, usize) {
        let first = if self.with_input { self.axes } else { 0 };
        let phases = self.phases();
        let (axes, bands) = match self.has_matrix() {
            true => (1, phases),
            false => (self.axes, self.bands()),
        };
        let (axis, band) = (phase / bands, phase % bands);
        match self.layout {
            FourierLayout::Concatenated => (first + phase, first + phases + phase),
            FourierLayout::ConcatenatedCosFirst => (first + phases + phase, first + phase),
            FourierLayout::ByBand => {
                let sine = first + 2 * axes * band + axis;
                (sine, sine + axes)
            }
            FourierLayout::ConcatenatedByBand => {
                let sine = first + axes * band + axis;
                (sine, sine + phases)
            }
            FourierLayout::InterleavedYx => {
                let place = match axis {
                    0 | 1 if axes > 1 => 1 - axis,
                    other => other,
                };
                let sine = first + 2 * (place * bands + band);
                (sine, sine + 1)
            }
        }
    }

    /// Checks the values.
    pub(crate) fn check(&self) -> Result<()> {
        for (name, width) in [
            ("axes", self.axes),
            ("bands", self.bands()),
            ("width", self.width()),
        ] {
            if width == 0 || width > MAX_D_MODEL {
                return Err(Error::Width { name, width });
            }
        }
        match &self.bands {
            FourierBands::Geometric { base, .. } | FourierBands::InverseGeometric { base, .. }
                if !(base.is_finite() && *base > 0.0) =>
            {
                Err(Error::NotPositive {
                    name: "base",
                    value: *base,
                })
            }
            FourierBands::Linear { resolutions, .. } if resolutions.len() != self.axes => {
                Err(Error::Length {
                    name: "resolutions",
                    len: resolutions.len(),
                    expected: self.axes as u64,
                })
            }
            FourierBands::Octaves { bands } if *bands > 32 => Err(Error::Width {
                name: "bands of octaves, at most 32:",
                width: *bands,
            }),
            _ => Ok(()),
        }
    }
}
