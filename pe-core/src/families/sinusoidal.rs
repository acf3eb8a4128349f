//! The sinusoidal encoding of "Attention Is All You Need" and its variants.

mod blocks;
mod config;

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::limits::MAX_D_MODEL;
use crate::rows::columns::{Columns, Out};
use crate::rows::element::Element;
use crate::rows::plan::Plan;
use crate::rows::writer::{Rows, Source};
use crate::spec::layout::OddWidth;
use crate::table::Table;
use crate::turns::frequency;
use crate::turns::position::check_reals;

pub use blocks::Blocks;
pub use config::SinusoidalConfig;

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: SinusoidalConfig,
    pub(crate) rows: Rows,
}

/// A checked sinusoidal encoding with its frequencies, the builder of tables.
///
/// Cloning is cheap, and clones share the frequencies. Every entry of every table is the value of
/// its type nearest to the real number `sin` or `cos` of `position x frequency`, for the exact
/// value of the given base (an `f64`), with one rounding, in `f32`, `f16`, `bf16`, and `f64` alike.
/// The bits do not depend on the machine, on the instruction set, or on how a range is divided into
/// calls. (A [`Recipe`](crate::Recipe) other than `Exact` defines the entries instead.)
///
/// ```
/// use pe_core::Sinusoidal;
///
/// let encoding = Sinusoidal::paper(512)?;
/// let table = encoding.table::<f32>(0..50)?;
/// assert_eq!((table.rows(), table.width()), (50, 512));
/// assert_eq!(table.get(0, 0), Some(0.0)); // sin 0
/// assert_eq!(table.get(0, 1), Some(1.0)); // cos 0
/// assert_eq!(table.get(1, 0), Some(0.84147098)); // sin 1
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sinusoidal {
    pub(crate) inner: Arc<Inner>,
}

impl PartialEq for Sinusoidal {
    fn eq(&self, other: &Self) -> bool {
        self.inner.config == other.inner.config
    }
}

impl Sinusoidal {
    /// Checks the specification and computes its frequencies.
    ///
    /// # Errors
    /// Returns an error if
    /// - `d_model` is zero, above [`MAX_D_MODEL`], or odd without a chosen treatment,
    /// - the base is not positive and finite,
    /// - the frequency shift leaves no positive denominator,
    /// - a frequency exceeds 2^32 radians per position,
    /// - the recipe does not define the spacing.
    pub fn new(config: SinusoidalConfig) -> Result<Self> {
        Self::scaled(config, 1.0, 1.0)
    }

    /// Does the same for positions times `scale` and entries times `factor`. Both must be positive
    /// and finite.
    pub(crate) fn scaled(config: SinusoidalConfig, scale: f64, factor: f64) -> Result<Self> {
        let d_model = config.d_model;
        if d_model == 0 || d_model > MAX_D_MODEL {
            return Err(Error::DModel { d_model });
        }
        let columns = Columns::new(d_model, config.layout, config.odd_width)?;
        let width = if config.odd_width == OddWidth::RoundUp {
            d_model.next_multiple_of(2)
        } else {
            d_model
        };
        // A padded width of 1 has no pair, but its base must still be valid.
        let pairs = columns.pairs.max(1);
        let mut exact = frequency::geometric(config.base, config.spacing, width, pairs)?;
        if scale != 1.0 {
            exact = frequency::scaled(&exact, config.base, scale)?;
        }
        let recipe = config
            .recipe
            .inv_freq(config.base, config.spacing, width, pairs)?;
        let rows = match recipe {
            None => Rows::exact(exact, columns),
            Some(inv_freq) => Rows::recipe(inv_freq, scale as f32, columns),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                config,
                rows: Rows {
                    padding_idx: config.padding_idx,
                    factor: factor.into(),
                    ..rows
                },
            }),
        })
    }

    /// Creates the paper's encoding: base 10000, interleaved columns.
    ///
    /// # Errors
    /// Returns the errors of [`Sinusoidal::new`].
    pub fn paper(d_model: usize) -> Result<Self> {
        Self::new(SinusoidalConfig::new(d_model))
    }

    /// Returns the specification.
    pub fn config(&self) -> &SinusoidalConfig {
        &self.inner.config
    }

    /// Returns the width of a row.
    pub fn d_model(&self) -> usize {
        self.inner.config.d_model
    }

    /// Returns the number of frequencies: sine/cosine pairs, including a truncated last one.
    pub fn pairs(&self) -> usize {
        self.inner.rows.columns.pairs
    }

    /// Returns the frequency of each pair in radians per position, `base^(-e_i)`, correctly rounded
    /// (for a recipe: its f32 values).
    ///
    /// ```
    /// use pe_core::{Preset, Sinusoidal};
    ///
    /// let rates = Sinusoidal::new(Preset::TfNotebook.config(512))?.inv_freq();
    /// assert_eq!(rates[255], 1e-4); // the end point is included
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    pub fn inv_freq(&self) -> Vec<f64> {
        let pairs = self.pairs();
        match &self.inner.rows.source {
            Source::Exact { frequencies, .. } => frequencies
                .iter()
                .map(|f| f.inv_freq())
                .take(pairs)
                .collect(),
            Source::Recipe {
                inv_freq, scale, ..
            } => inv_freq
                .iter()
                .map(|f| f64::from(*f) * f64::from(*scale))
                .take(pairs)
                .collect(),
        }
    }

    /// Returns the wavelength of each pair in positions, `2 pi base^(e_i)`, within 0.51 ulp (for a
    /// recipe, within two ulp of the value for its own f32 frequency). The paper's longest is
    /// `2 pi base^((d-2)/d)`, not `2 pi base`.
    ///
    /// ```
    /// let waves = pe_core::Sinusoidal::paper(512)?.wavelengths();
    /// assert_eq!(waves[0], std::f64::consts::TAU);
    /// assert!((waves[255] - 60611.477).abs() < 1e-3);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    pub fn wavelengths(&self) -> Vec<f64> {
        let pairs = self.pairs();
        match &self.inner.rows.source {
            Source::Exact { frequencies, .. } => frequencies
                .iter()
                .map(|f| f.wavelength())
                .take(pairs)
                .collect(),
            Source::Recipe {
                inv_freq, scale, ..
            } => inv_freq
                .iter()
                .map(|f| std::f64::consts::TAU / (f64::from(*f) * f64::from(*scale)))
                .take(pairs)
                .collect(),
        }
    }

    /// Computes the encodings of the positions `start .. end`, one row each. Every entry is the `T`
    /// nearest to the true value.
    ///
    /// ```
    /// use pe_core::Sinusoidal;
    ///
    /// let encoding = Sinusoidal::paper(4)?;
    /// let table = encoding.table::<f32>(0..2)?;
    /// assert_eq!(table.as_slice(), [0., 1., 0., 1., 0.84147098, 0.5403023, 0.009999833, 0.99995]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - the range descends or ends above 2^32,
    /// - the table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES),
    /// - memory is exhausted.
    pub fn table<T: Element>(&self, positions: Range<u64>) -> Result<Table<T>> {
        let [table, _] = T::tables(&self.inner.rows, Plan::default(), positions)?;
        Ok(table)
    }

    /// Computes the encodings of any positions in any order, one row each.
    ///
    /// ```
    /// use pe_core::Sinusoidal;
    ///
    /// let packed = Sinusoidal::paper(64)?.table_at::<f32>(&[0, 1, 2, 0, 1])?;
    /// assert_eq!(packed.row(1), packed.row(4));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or if
    /// memory is exhausted.
    pub fn table_at<T: Element>(&self, positions: &[u32]) -> Result<Table<T>> {
        let mut table = Table::zeros(positions.len() as u64, self.d_model())?;
        self.fill_at(positions, table.as_mut_slice())?;
        Ok(table)
    }

    /// Computes the encodings of real positions such as diffusion timesteps, including negative and
    /// fractional ones. Each position is the exact value of its `f64`.
    ///
    /// ```
    /// use pe_core::{Preset, Sinusoidal};
    ///
    /// let encoding = Sinusoidal::new(Preset::Diffusers.config(320))?;
    /// let table = encoding.table_at_reals::<f32>(&[999.0, 499.5])?;
    /// assert_eq!(table.rows(), 2);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - a position is not finite or exceeds 2^53 in magnitude,
    /// - the table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES),
    /// - memory is exhausted.
    pub fn table_at_reals<T: Element>(&self, positions: &[f64]) -> Result<Table<T>> {
        let mut table = Table::zeros(positions.len() as u64, self.d_model())?;
        self.fill_at_reals(positions, table.as_mut_slice())?;
        Ok(table)
    }

    /// Writes the rows of consecutive positions from `start` into `out` until it is full.
    ///
    /// ```
    /// use pe_core::Sinusoidal;
    ///
    /// let encoding = Sinusoidal::paper(64)?;
    /// let mut rows = vec![0f32; 3 * 64];
    /// encoding.fill(1_000_000, &mut rows)?;
    /// assert_eq!(rows, encoding.table::<f32>(1_000_000..1_000_003)?.into_vec());
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the length of `out` is not a multiple of the width, or if the rows
    /// extend past 2^32.
    pub fn fill<T: Element>(&self, start: u64, out: &mut [T]) -> Result<()> {
        T::fill(&self.inner.rows, Plan::default(), start, Out::one(out))
    }

    /// Writes the rows of the given positions into `out`. One row, as in incremental decoding,
    /// allocates nothing.
    ///
    /// ```
    /// let encoding = pe_core::Sinusoidal::paper(64)?;
    /// let mut row = [0f32; 64];
    /// encoding.fill_at(&[123_456], &mut row)?;
    /// assert_eq!(encoding.table::<f32>(123_456..123_457)?.as_slice(), row);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `out` does not hold exactly one row per position.
    pub fn fill_at<T: Element>(&self, positions: &[u32], out: &mut [T]) -> Result<()> {
        T::fill_at(&self.inner.rows, positions, Out::one(out))
    }

    /// Writes the rows of the given real positions into `out`.
    ///
    /// ```
    /// let encoding = pe_core::Sinusoidal::paper(2)?;
    /// let mut row = [0f64; 2];
    /// encoding.fill_at_reals(&[-0.5], &mut row)?;
    /// assert_eq!(row, [-0.479425538604203, 0.8775825618903728]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a position is not finite or exceeds 2^53 in magnitude, or if `out` does
    /// not hold exactly one row per position.
    pub fn fill_at_reals<T: Element>(&self, positions: &[f64], out: &mut [T]) -> Result<()> {
        let out = Out::one(out);
        self.inner.rows.check_rows(positions.len() as u64, &out)?;
        check_reals(positions)?;
        T::fill_at_reals(&self.inner.rows, positions, out)
    }
}
