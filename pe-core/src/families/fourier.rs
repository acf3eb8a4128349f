//! Fourier features of coordinates.

mod config;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::limits::MAX_TABLE_BYTES;
use crate::num::float::BigFloat;
use crate::num::real::Real;
use crate::rows::columns::Out;
use crate::rows::element::Element;
use crate::rows::threads::{Threads, for_each_piece};
use crate::sincos::summed::{Number, Term, sin_cos_summed};
use crate::table::Table;

pub use config::{
    AngleUnit, FourierBands, FourierConfig, FourierCoordinates, FourierLayout, FourierPreset,
};

/// Largest magnitude of a coordinate.
const MOST: f64 = (1u64 << 53) as f64;
/// Largest magnitude of a frequency.
const FASTEST: f64 = (1u64 << 32) as f64;

/// Checked Fourier features with their frequencies, the builder of rows.
///
/// Cloning is cheap, and clones share the frequencies. Coordinates and matrices are the exact values of
/// their numbers. Products and sums are exact, angles are reduced exactly, and every entry is the value
/// of its type nearest to the true value. Sines of multiples of half a turn are 0.
///
/// ```
/// use pe_core::{FourierFeatures, FourierPreset};
///
/// let nerf = FourierFeatures::new(FourierPreset::Nerf.config(3, 4))?;
/// let rows = nerf.table_at_reals::<f32>(&[0.5, -0.25, 1.0])?;
/// assert_eq!((rows.rows(), rows.width()), (1, 27));
/// let first = rows.row(0).unwrap();
/// assert_eq!(first[..6], [0.5, -0.25, 1.0, 1.0, -0.70710677, 0.0]); // x, sin(pi x)
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct FourierFeatures {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: FourierConfig,
    /// Frequencies of each phase, one for each coordinate that it uses, in turns per unit.
    frequencies: Vec<Number>,
    /// The same in radians, rounded.
    rates: Vec<f64>,
    /// Whether phases are rational numbers of turns that the frequencies only approximate.
    rational: bool,
}

impl PartialEq for FourierFeatures {
    fn eq(&self, other: &Self) -> bool {
        let same = self.inner.config == other.inner.config;
        same && self.inner.rates == other.inner.rates
    }
}

impl FourierFeatures {
    /// Checks the specification and computes its frequencies.
    ///
    /// # Errors
    /// Returns an error if
    /// - the axes, the bands, or the width are zero or above [`MAX_D_MODEL`](crate::MAX_D_MODEL),
    /// - the bands are a matrix, which [`with_matrix`](Self::with_matrix) needs,
    /// - a frequency exceeds 2^32, or its base is not positive and finite,
    /// - the resolutions are not as many as the axes.
    pub fn new(config: FourierConfig) -> Result<Self> {
        config.check()?;
        let frequencies = match &config.bands {
            FourierBands::Matrix { columns } => {
                return Err(Error::Length {
                    name: "the matrix of the Fourier features",
                    len: 0,
                    expected: config.axes as u64 * *columns as u64,
                });
            }
            FourierBands::Octaves { bands } => {
                let octave = |band: usize| Real::from((1u64 << band) as f64);
                (0..*bands).map(octave).collect()
            }
            FourierBands::Geometric { bands, base } => geometric(*bands, *base, 1.0)?,
            FourierBands::InverseGeometric { bands, base } => geometric(*bands, *base, -1.0)?,
            FourierBands::Linear { bands, resolutions } => {
                let axis = |resolution: &u32| linear(*bands, *resolution);
                resolutions.iter().flat_map(axis).collect()
            }
        };
        // All coordinates have the frequencies of one, unless each phase has its own.
        let again = config.phases() / frequencies.len();
        let all = (0..again).flat_map(|_| frequencies.iter().copied());
        let rational = matches!(config.bands, FourierBands::Linear { .. });
        Ok(Self::of(config.clone(), all.collect(), rational))
    }

    /// Checks the specification of features with a matrix `[axes, columns]`, row after row.
    ///
    /// ```
    /// use pe_core::{FourierFeatures, FourierPreset};
    ///
    /// let matrix = [0.25, 1.0, 0.5, -2.0]; // [2, 2]
    /// let sam = FourierFeatures::with_matrix(FourierPreset::Sam.config(2, 2), &matrix)?;
    /// let rows = sam.table_at_reals::<f32>(&[1.0, 0.5])?; // 2x - 1 is (1, 0)
    /// assert_eq!(rows.as_slice(), [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the bands are not a matrix, or it has another number of elements,
    /// - an element is not finite or exceeds 2^32 in magnitude.
    ///
    /// Also returns the errors of [`new`](Self::new).
    pub fn with_matrix(config: FourierConfig, matrix: &[f64]) -> Result<Self> {
        config.check()?;
        let expected = match config.has_matrix() {
            true => config.axes as u64 * config.bands() as u64,
            false => 0,
        };
        if matrix.len() as u64 != expected {
            return Err(Error::Length {
                name: "the matrix of the Fourier features",
                len: matrix.len(),
                expected,
            });
        }
        let is_valid = |value: &f64| value.abs() <= FASTEST;
        if let Some(index) = matrix.iter().position(|value| !is_valid(value)) {
            return Err(Error::InvFreq {
                value: matrix[index],
                pair: index,
            });
        }
        let columns = config.bands();
        let of_phase = |phase: usize| (0..config.axes).map(move |axis| axis * columns + phase);
        let all = (0..columns)
            .flat_map(of_phase)
            .map(|at| Real::from(matrix[at]));
        let all = all.collect();
        Ok(Self::of(config, all, false))
    }

    /// Computes turns and radians of frequencies in the unit of the config.
    fn of(config: FourierConfig, frequencies: Vec<Real>, rational: bool) -> Self {
        let tau = Real::two_pi();
        let (turns, radians) = match config.unit {
            AngleUnit::Turns => (Real::one(), tau),
            AngleUnit::HalfTurns => (Real::from(0.5), tau * Real::from(0.5)),
            AngleUnit::Radians => (Real::from(BigFloat::inv_two_pi()), Real::one()),
        };
        let turns = |frequency: &Real| {
            let wide = *frequency * turns;
            let short = wide.to_f64();
            match Real::from(short) == wide {
                true => Number::Short(short),
                false => Number::Wide {
                    negative: wide.negative,
                    size: wide.size,
                },
            }
        };
        let inner = Inner {
            rates: frequencies
                .iter()
                .map(|f| (*f * radians).to_f64())
                .collect(),
            frequencies: frequencies.iter().map(turns).collect(),
            rational,
            config,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Returns the specification.
    pub fn config(&self) -> &FourierConfig {
        &self.inner.config
    }

    /// Returns the number of features of a point.
    pub fn width(&self) -> usize {
        self.inner.config.width()
    }

    /// Returns the frequencies in radians per unit of a coordinate (after
    /// [`FourierConfig::coordinates`]), correctly rounded: one for each phase, or with a matrix one
    /// for each phase and coordinate.
    pub fn rates(&self) -> &[f64] {
        &self.inner.rates
    }

    /// Computes the features of points, one row each. `points` holds the coordinates point after point.
    ///
    /// # Errors
    /// Returns an error if
    /// - the number of coordinates is not a multiple of the axes,
    /// - a coordinate is not finite, exceeds 2^53 in magnitude, or is not positive although its logarithm
    ///   is needed,
    /// - the table exceeds [`MAX_TABLE_BYTES`], or memory is exhausted.
    pub fn table_at_reals<T: Element>(&self, points: &[f64]) -> Result<Table<T>> {
        let (axes, width) = (self.inner.config.axes, self.width());
        if !points.len().is_multiple_of(axes) {
            return Err(Error::Length {
                name: "points",
                len: points.len(),
                expected: points.len().next_multiple_of(axes) as u64,
            });
        }
        let mut table = Table::zeros((points.len() / axes) as u64, width)?;
        self.fill_at_reals(points, table.as_mut_slice())?;
        Ok(table)
    }

    /// Writes the features of points into `out`.
    ///
    /// # Errors
    /// Returns an error if `out` does not hold exactly one row per point. Also returns the errors of
    /// [`table_at_reals`](Self::table_at_reals).
    pub fn fill_at_reals<T: Element>(&self, points: &[f64], out: &mut [T]) -> Result<()> {
        let config = &self.inner.config;
        let (axes, width) = (config.axes, self.width());
        let expected = points.len() as u64 / axes as u64 * width as u64;
        if out.len() as u64 != expected || !points.len().is_multiple_of(axes) {
            return Err(Error::Length {
                name: "out",
                len: out.len(),
                expected,
            });
        }
        let is_valid = |value: &f64| match config.coordinates {
            FourierCoordinates::Log => *value > 0.0 && *value <= MOST,
            _ => value.abs() <= MOST,
        };
        if let Some(index) = points.iter().position(|value| !is_valid(value)) {
            let value = points[index];
            return Err(Error::Coordinate { value, index });
        }
        let write = |first: usize, out: &mut [T]| {
            let rows = out.chunks_exact_mut(width);
            for (row, point) in rows.zip(points[first * axes..].chunks_exact(axes)) {
                self.inner.row(point, row);
            }
        };
        // A row costs as much as 16 times its bytes of a table by recurrence.
        let bytes = (width * size_of::<T>()).saturating_mul(16);
        let rows = out.len() / width;
        match Threads::Auto.piece(rows as u64, bytes.min(MAX_TABLE_BYTES as usize), 1) {
            None => write(0, out),
            Some(piece) => for_each_piece(Out::one(out), piece * width, |index, out| {
                let [out, _] = out.0;
                write(index * piece, out);
            }),
        }
        Ok(())
    }
}

impl Inner {
    /// Writes the features of one point.
    fn row<T: Element>(&self, point: &[f64], row: &mut [T]) {
        let config = &self.config;
        if config.with_input {
            for (out, value) in row.iter_mut().zip(point) {
                *out = T::from_f64(*value);
            }
        }
        let logarithms: Vec<Number> = match config.coordinates {
            FourierCoordinates::Log => point.iter().map(|value| ln(*value)).collect(),
            _ => Vec::new(),
        };
        for phase in 0..config.phases() {
            let (first_axis, terms) = match config.has_matrix() {
                true => (0, config.axes),
                false => (phase / config.bands(), 1),
            };
            let frequencies = match config.has_matrix() {
                true => &self.frequencies[phase * terms..][..terms],
                false => &self.frequencies[phase..=phase],
            };
            let pairs = frequencies.iter().copied().zip(first_axis..);
            let [sine, cosine] = match config.coordinates {
                FourierCoordinates::Identity => {
                    let term = |(f, axis): (_, usize)| (Number::Short(point[axis]), f);
                    self.sin_cos(pairs.map(term))
                }
                FourierCoordinates::Log => {
                    self.sin_cos(pairs.map(|(f, axis): (_, usize)| (logarithms[axis], f)))
                }
                // 2 x f - f: both products are exact. (A coordinate is at most 2^53.)
                FourierCoordinates::Centered => {
                    let terms = pairs.flat_map(|(f, axis): (_, usize)| {
                        [2.0 * point[axis], -1.0].map(|x| (Number::Short(x), f))
                    });
                    self.sin_cos(terms)
                }
            };
            let (sine_at, cosine_at) = config.columns(phase);
            (row[sine_at], row[cosine_at]) = (sine, cosine);
        }
    }

    fn sin_cos<T: Element>(&self, terms: impl Iterator<Item = Term> + Clone) -> [T; 2] {
        sin_cos_summed(terms, self.rational)
    }
}

/// Returns the natural logarithm of a positive number.
fn ln(value: f64) -> Number {
    let Real { negative, size } = Real::from(value).ln();
    match value == 1.0 {
        true => Number::Short(0.0),
        false => Number::Wide { negative, size },
    }
}

/// Returns `base^(sign k / bands)`.
fn geometric(bands: usize, base: f64, sign: f64) -> Result<Vec<Real>> {
    let step = Real::from(sign) * Real::from(base).ln() / Real::from(bands as u64);
    let power = |band: usize| {
        let power = (step * Real::from(band as u64)).exp();
        let fast = power.is_none_or(|power| power.size.exceeds_power_of_two(32));
        power
            .filter(|_| !fast)
            .ok_or(Error::Frequency { base, pair: band })
    };
    (0..bands).map(power).collect()
}

/// Returns `1 + k (resolution / 2 - 1) / (bands - 1)`.
fn linear(bands: usize, resolution: u32) -> Vec<Real> {
    let (one, last) = (Real::one(), Real::from(f64::from(resolution) / 2.0));
    let steps = Real::from(bands.saturating_sub(1).max(1) as u64);
    let band = |k: usize| one + Real::from(k as u64) * (last - one) / steps;
    (0..bands).map(band).collect()
}
