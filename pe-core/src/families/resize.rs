//! Resizing of learned grids: the rows that contribute to a row of the resized grid, and their weights.

mod axis;
mod rows;

use crate::error::{Error, Result};
use crate::limits::MAX_TERM;
use crate::spec::impl_names;

pub use axis::AxisTaps;
pub use rows::{RowSums, RowTaps};

/// Function that weights the neighbors of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ResizeKernel {
    /// torch's `bicubic`: R. Keys' cubic convolution (1981) with a = -0.75. Neighbors outside the grid
    /// repeat its edge. With antialiasing it is [`BicubicKeys`](Self::BicubicKeys), in torch too.
    Bicubic,
    /// The cubic convolution with Keys' own a = -0.5: PIL, JAX. Neighbors outside the grid
    /// are left out, and the other weights are divided by their sum.
    BicubicKeys,
    /// Linear interpolation along each axis.
    Bilinear,
    /// torch's `nearest`: the position `floor(i * from / to)`.
    Nearest,
    /// torch's `nearest-exact`, PIL's and JAX's nearest: the position `floor((i + 1/2) * from / to)`.
    NearestExact,
}

impl ResizeKernel {
    /// All kernels.
    pub const ALL: [Self; 5] = [
        Self::Bicubic,
        Self::BicubicKeys,
        Self::Bilinear,
        Self::Nearest,
        Self::NearestExact,
    ];

    /// Returns the name of the kernel, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bicubic => "bicubic",
            Self::BicubicKeys => "bicubic-keys",
            Self::Bilinear => "bilinear",
            Self::Nearest => "nearest",
            Self::NearestExact => "nearest-exact",
        }
    }
}

impl_names!(ResizeKernel, "kernel");

/// Distance between the positions of the resized grid, in positions of the given one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum ResizeBy {
    /// The ratio of the sizes, `from / to`: torch's `size`.
    #[default]
    Size,
    /// `1 / factor` for torch's `scale_factor`, a fraction. The size must be `floor(from * factor)`.
    Factor {
        /// Numerator of the factor, 1 to 2^24.
        numerator: u32,
        /// Denominator of the factor, 1 to 2^24.
        denominator: u32,
    },
    /// `1 / factor` for the factor `(to + offset) / from`, where the offset is a fraction below 1.
    /// DINO and the older checkpoints of DINOv2 pass 1/10 in order that no rounding loses a row.
    Offset {
        /// Numerator of the offset.
        numerator: u32,
        /// Denominator of the offset.
        denominator: u32,
    },
}

impl ResizeBy {
    /// Returns the scale factor with the simplest fraction that is within two ulp of `factor`: 11/10 for
    /// `1.1`, and also for a factor that was computed with a rounding or two.
    ///
    /// ```
    /// use pe_core::ResizeBy;
    ///
    /// let by = ResizeBy::factor(22.1 / 37.0)?;
    /// assert_eq!(by, ResizeBy::Factor { numerator: 221, denominator: 370 });
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the factor is not positive and finite, or if no such fraction has terms of
    /// at most 2^24.
    pub fn factor(factor: f64) -> Result<Self> {
        let name = "scale factor";
        if !(factor.is_finite() && factor > 0.0) {
            return Err(Error::NotPositive {
                name,
                value: factor,
            });
        }
        // Convergents of the continued fraction. Their denominators grow at least as fast as Fibonacci numbers.
        let (mut before, mut now, mut rest) = ([0u64, 1], [1u64, 0], factor);
        for _ in 0..40 {
            let whole = rest.floor();
            if whole > MAX_TERM as f64 {
                break;
            }
            let next = |k: usize| (whole as u64) * now[k] + before[k];
            (before, now) = (now, [next(0), next(1)]);
            let [numerator, denominator] = now;
            if numerator > MAX_TERM || denominator > MAX_TERM {
                break;
            }
            let distance = (numerator as f64 / denominator as f64 - factor).abs();
            if distance <= factor * 2.0 * f64::EPSILON {
                return Ok(Self::Factor {
                    numerator: numerator as u32,
                    denominator: denominator as u32,
                });
            }
            rest = 1.0 / (rest - whole);
        }
        Err(Error::ScaleFactor { value: factor })
    }
}

/// Specification of the resizing of a grid: plain data, checked by [`AxisTaps::new`].
///
/// Position `i` of the resized grid is at the coordinate
///
/// ```text
/// (i + 1/2) s - 1/2     s = from / to, or one over the scale factor
/// i (from - 1)/(to - 1)     with align_corners
/// ```
///
/// of the given one. Each kernel is applied to one axis after the other, and a weight of a grid is the
/// product of the weights of its axes.
///
/// The defaults are torch's `bicubic`. [`ResizePreset`](crate::ResizePreset) lists what models do.
///
/// ```
/// use pe_core::{ResizeConfig, ResizeKernel};
///
/// let siglip2 = ResizeConfig { antialias: true, ..ResizeConfig::new(ResizeKernel::Bilinear) };
/// let taps = siglip2.taps(4, 2)?;
/// let [first, _] = [0, 1].map(|i| taps.weights_of::<f64>(i).collect::<Vec<_>>());
/// assert_eq!(first, [(0, 3.0 / 7.0), (1, 3.0 / 7.0), (2, 1.0 / 7.0)]);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct ResizeConfig {
    /// Function that weights the neighbors.
    pub kernel: ResizeKernel,
    /// Whether the kernel is widened by the scale where the grid shrinks, so that every position
    /// contributes, as torch's `antialias` and always in PIL. Neighbors outside the grid are left out.
    #[cfg_attr(feature = "serde", serde(default))]
    pub antialias: bool,
    /// Whether the first and last positions keep their places, as torch's `align_corners`. With
    /// `antialias` the scale is that of aligned corners, but the coordinates are those of centers, as
    /// in torch.
    #[cfg_attr(feature = "serde", serde(default))]
    pub align_corners: bool,
    /// Distance between positions. Aligned corners do not depend on it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub by: ResizeBy,
}

impl ResizeConfig {
    /// Creates the configuration of a kernel, without antialiasing or aligned corners, by size.
    pub const fn new(kernel: ResizeKernel) -> Self {
        Self {
            kernel,
            antialias: false,
            align_corners: false,
            by: ResizeBy::Size,
        }
    }

    /// Computes the weights of one axis. This is [`AxisTaps::new`].
    ///
    /// # Errors
    /// Returns the errors of [`AxisTaps::new`].
    pub fn taps(self, from: usize, to: usize) -> Result<AxisTaps> {
        AxisTaps::new(self, from, to)
    }

    /// Returns the size that torch computes for a scale factor, `floor(from * factor)`, or `None` for
    /// [`ResizeBy::Size`] and [`ResizeBy::Offset`], which depend on a size.
    pub fn resized_side(self, from: usize) -> Option<usize> {
        match self.by {
            ResizeBy::Factor {
                numerator,
                denominator,
            } => {
                let product = (from as u64).checked_mul(u64::from(numerator))?;
                usize::try_from(product.checked_div(u64::from(denominator))?).ok()
            }
            ResizeBy::Size | ResizeBy::Offset { .. } => None,
        }
    }
}
