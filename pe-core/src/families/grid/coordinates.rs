//! Coordinates of the cells of a grid.

use crate::error::{Error, Result};

/// Coordinates of the positions `i = 0 .. n` along a side.
///
/// They are computed in `f64`, with one rounding for each operation of the formula.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum AxisCoordinates {
    /// `i`.
    #[default]
    Index,
    /// `i / (n / base_size) / interpolation_scale`, or `i / interpolation_scale` without a base size:
    /// diffusers.
    Scaled {
        /// Side that the model was trained with, onto which other sides are mapped.
        base_size: Option<f64>,
        /// Divisor of all coordinates.
        interpolation_scale: f64,
    },
    /// `i + 1`: DETR without normalization.
    Count,
    /// `(i + 1) / (n + 1e-6) * scale`: DETR, with the scale 2 pi.
    Normalized {
        /// The largest coordinate.
        scale: f64,
    },
}

impl AxisCoordinates {
    /// Returns the coordinates of a side of `n` positions.
    pub fn of(self, n: usize) -> Vec<f64> {
        (0..n).map(|i| self.at(i as f64, n as f64)).collect()
    }

    fn at(self, i: f64, n: f64) -> f64 {
        match self {
            Self::Index => i,
            Self::Scaled {
                base_size,
                interpolation_scale,
            } => base_size.map_or(i, |base| i / (n / base)) / interpolation_scale,
            Self::Count => i + 1.0,
            Self::Normalized { scale } => (i + 1.0) / (n + EPSILON) * scale,
        }
    }

    /// Checks the parameters.
    pub(super) fn check(self) -> Result<()> {
        let positive = |name, value: f64| {
            if value.is_finite() && value > 0.0 {
                Ok(())
            } else {
                Err(Error::NotPositive { name, value })
            }
        };
        match self {
            Self::Index | Self::Count => Ok(()),
            Self::Scaled {
                base_size,
                interpolation_scale,
            } => {
                positive("base_size", base_size.unwrap_or(1.0))?;
                positive("interpolation_scale", interpolation_scale)
            }
            Self::Normalized { scale } => positive("scale", scale),
        }
    }
}

/// Addend of DETR's largest count, against divisions by zero.
const EPSILON: f64 = 1e-6;

/// Computes the coordinates of the cells of an image with padding as DETR does: along each side, the
/// number of cells without padding up to a cell, divided by that of the last one with
/// [`Normalized`](AxisCoordinates::Normalized).
///
/// `mask` has `rows` x `columns` cells, `false` for padding. The result has a list for the
/// rows and one for the columns. Cells without any predecessor have the coordinate 0.
///
/// ```
/// use pe_core::{AxisCoordinates, masked_coordinates};
///
/// // The last column is padding.
/// let mask = [true, true, false, true, true, false];
/// let [y, x] = masked_coordinates(&mask, [2, 3], AxisCoordinates::Count)?;
/// assert_eq!(y, [1., 1., 0., 2., 2., 0.]);
/// assert_eq!(x, [1., 2., 2., 1., 2., 2.]);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the mask has another number of cells, or if the coordinates are not defined by
/// counts. Also returns an error if a parameter of the coordinates is not positive and finite.
pub fn masked_coordinates(
    mask: &[bool],
    [rows, columns]: [usize; 2],
    coordinates: AxisCoordinates,
) -> Result<[Vec<f64>; 2]> {
    coordinates.check()?;
    let cells = (rows as u64).saturating_mul(columns as u64);
    if mask.len() as u64 != cells {
        return Err(Error::Length {
            name: "the mask",
            len: mask.len(),
            expected: cells,
        });
    }
    let scaled: fn(f64, f64, f64) -> f64 = match coordinates {
        AxisCoordinates::Count => |count, _, _| count,
        AxisCoordinates::Normalized { .. } => |count, last, scale| count / (last + EPSILON) * scale,
        AxisCoordinates::Index | AxisCoordinates::Scaled { .. } => {
            return Err(Error::MaskedCoordinates);
        }
    };
    let scale = match coordinates {
        AxisCoordinates::Normalized { scale } => scale,
        _ => 1.0,
    };
    // Counts along a side: its length, the distance of its cells, and the first cells.
    let count = |len: usize, step: usize, starts: &mut dyn Iterator<Item = usize>| {
        let mut out = vec![0.0; mask.len()];
        for start in starts {
            let mut count = 0.0;
            let places = || (0..len).map(|i| start + i * step);
            for place in places() {
                count += f64::from(u8::from(mask[place]));
                out[place] = count;
            }
            for place in places() {
                out[place] = scaled(out[place], count, scale);
            }
        }
        out
    };
    let y = count(rows, columns, &mut (0..columns));
    let x = count(columns, 1, &mut (0..rows).map(|row| row * columns));
    Ok([y, x])
}
