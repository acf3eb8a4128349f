//! One set of frequencies with its attention factor.

use std::sync::{Arc, LazyLock};

use crate::error::{Error, Result};
use crate::num::float::BigFloat;
use crate::round::{to_f32, to_f64};
use crate::rows::columns::Columns;
use crate::rows::single::{Frequencies, Limbs};
use crate::rows::writer::Rows;
use crate::sincos::factor::Factor;
use crate::spec::direction::Direction;
use crate::turns::frequency::Frequency;
use crate::turns::scaling::{Quick, Set};

/// Frequencies of a rotary embedding and its attention factor, the builder of tables.
///
/// Cloning is cheap. [`Rotary::frequencies`](crate::Rotary::frequencies) returns it.
///
/// ```
/// use pe_core::{RopeScaling, Rotary, RotaryConfig};
///
/// let rotary = Rotary::new(RotaryConfig {
///     scaling: RopeScaling::Custom { inv_freq: vec![1.0, 0.25], attention_factor: 2.0 },
///     ..RotaryConfig::new(4)
/// })?;
/// let tables = rotary.frequencies(0)?.tables::<f64>(0..5)?;
/// assert_eq!(tables.cos.row(0), Some(&[2.0, 2.0][..]));
/// assert_eq!(tables.sin.get(4, 1), tables.sin.get(1, 0)); // 2 sin 1
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RotaryFrequencies {
    pub(crate) inner: Arc<Inner>,
    pub(crate) direction: Direction,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) source: Source,
    pub(crate) rows: Rows,
    /// Specification and sequence length, which determine the frequencies of dynamic scaling.
    origin: Option<(Arc<Quick>, usize)>,
}

/// Numbers in full width, computed when they are first needed.
pub(crate) type Radians = LazyLock<Vec<BigFloat>, Box<dyn FnOnce() -> Vec<BigFloat> + Send + Sync>>;

#[derive(Debug)]
pub(crate) enum Source {
    Exact { radians: Arc<Radians> },
    F32(Vec<f32>),
}

/// Sets are equal if their frequencies, attention factors, and directions are equal. Their tables are equal then.
impl PartialEq for RotaryFrequencies {
    fn eq(&self, other: &Self) -> bool {
        self.direction == other.direction
            && (Arc::ptr_eq(&self.inner, &other.inner)
                || self.of_one_length(other).unwrap_or_else(|| {
                    self.factor() == other.factor()
                        && match (&self.inner.source, &other.inner.source) {
                            (Source::Exact { radians }, Source::Exact { radians: others }) => {
                                ***radians == ***others
                            }
                            (Source::F32(inv_freq), Source::F32(others)) => inv_freq == others,
                            _ => false,
                        }
                }))
    }
}

impl RotaryFrequencies {
    pub(crate) fn new(set: Set, factor: Factor) -> Result<Self> {
        let (source, rows) = match set {
            Set::Exact(radians) => {
                let frequencies = radians
                    .iter()
                    .map(|f| Frequency::from_radians(*f))
                    .collect();
                exact(radians, frequencies)?
            }
            Set::Turns(turns) => {
                let radians = turns.iter().map(|f| f.mul(BigFloat::two_pi())).collect();
                exact(
                    radians,
                    turns.into_iter().map(Frequency::from_turns).collect(),
                )?
            }
            Set::F32(inv_freq) => {
                const LIMIT: f32 = (1u64 << 32) as f32;
                if let Some(pair) = inv_freq.iter().position(|f| !(0.0..=LIMIT).contains(f)) {
                    let value = f64::from(inv_freq[pair]);
                    return Err(Error::InvFreq { value, pair });
                }
                let columns = Columns::apart(inv_freq.len(), inv_freq.len());
                let rows = Rows::recipe(inv_freq.clone(), 1.0, columns);
                (Source::F32(inv_freq), rows)
            }
        };
        let rows = Rows { factor, ..rows };
        Ok(Self {
            inner: Arc::new(Inner {
                source,
                rows,
                origin: None,
            }),
            direction: Direction::default(),
        })
    }

    /// Returns the frequencies of a length with dynamic scaling, of which `radians` computes the full width when it is
    /// needed. Returns `None` for a length beyond the range of `quick`.
    pub(crate) fn at_once(
        quick: &Arc<Quick>,
        length: usize,
        radians: impl FnOnce() -> Vec<BigFloat> + Send + Sync + 'static,
    ) -> Option<Self> {
        let phases = quick.phases(length)?;
        let columns = Columns::apart(phases.len(), phases.len());
        let radians = Arc::new(Radians::new(Box::new(radians)));
        let wide = Arc::clone(&radians);
        let frequencies =
            Box::new(move || wide.iter().map(|f| Frequency::from_radians(*f)).collect());
        let limbs = Limbs::of_phases(&phases);
        Some(Self {
            inner: Arc::new(Inner {
                source: Source::Exact { radians },
                rows: Rows::exact_later(Frequencies::new(frequencies), limbs, columns),
                origin: Some((Arc::clone(quick), length)),
            }),
            direction: Direction::default(),
        })
    }

    /// Returns the same frequencies, with the length that they belong to.
    pub(crate) fn of_length(mut self, quick: &Arc<Quick>, length: usize) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.origin = Some((Arc::clone(quick), length));
        }
        self
    }

    /// Returns whether two sets of one specification with dynamic scaling belong to one length. Each
    /// length has its own.
    fn of_one_length(&self, other: &Self) -> Option<bool> {
        let (quick, length) = self.inner.origin.as_ref()?;
        let (others, other) = other.inner.origin.as_ref()?;
        Arc::ptr_eq(quick, others).then_some(length == other)
    }

    /// Returns the same frequencies with another direction.
    pub(crate) fn rotating(self, direction: Direction) -> Self {
        Self { direction, ..self }
    }

    /// Returns the direction of the rotation, which is the sign of the sines.
    pub const fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the number of pairs, `rotary_dim / 2`.
    pub fn pairs(&self) -> usize {
        let Columns { width, .. } = self.inner.rows.columns;
        width
    }

    /// Returns the radians per position of each pair, correctly rounded. (The recipe `hf-f32` has
    /// f32 values.)
    pub fn inv_freq(&self) -> Vec<f64> {
        match &self.inner.source {
            Source::Exact { radians } => radians.iter().map(|f| to_f64(*f)).collect(),
            Source::F32(inv_freq) => inv_freq.iter().map(|f| f64::from(*f)).collect(),
        }
    }

    /// Returns the radians per position of each pair as the nearest f32 values.
    pub fn inv_freq_f32(&self) -> Vec<f32> {
        match &self.inner.source {
            Source::Exact { radians } => radians.iter().map(|f| to_f32(*f)).collect(),
            Source::F32(inv_freq) => inv_freq.clone(),
        }
    }

    /// Returns the attention factor, which multiplies every cosine and sine, correctly rounded. Entries of
    /// tables are rounded from the product with the real number, such as `0.1 ln(factor) + 1` of YaRN.
    pub fn attention_factor(&self) -> f64 {
        self.factor().value
    }

    pub(crate) fn factor(&self) -> &Factor {
        &self.inner.rows.factor
    }

    /// Returns the positions per turn of each pair, within 0.51 ulp (for the recipe `hf-f32`,
    /// within two ulp of the value for its own f32 frequency). A pair that does not rotate has an
    /// infinite wavelength.
    pub fn wavelengths(&self) -> Vec<f64> {
        match &self.inner.source {
            Source::Exact { radians } => radians
                .iter()
                .map(|f| match f.is_zero() {
                    true => f64::INFINITY,
                    false => Frequency::from_radians(*f).wavelength(),
                })
                .collect(),
            Source::F32(inv_freq) => inv_freq
                .iter()
                .map(|f| std::f64::consts::TAU / f64::from(*f))
                .collect(),
        }
    }
}

/// Checks exact frequencies, and returns the rows of those that rotate: the pairs before the last run
/// of zeros.
fn exact(radians: Vec<BigFloat>, mut frequencies: Vec<Frequency>) -> Result<(Source, Rows)> {
    if let Some(pair) = radians.iter().position(|f| f.exceeds_power_of_two(32)) {
        return Err(Error::InvFreq {
            value: to_f64(radians[pair]),
            pair,
        });
    }
    let rotated = radians.iter().rposition(|f| !f.is_zero());
    frequencies.truncate(rotated.map_or(0, |last| last + 1));
    let columns = Columns::apart(radians.len(), frequencies.len());
    let rows = Rows::exact(frequencies, columns);
    let radians = Arc::new(Radians::new(Box::new(move || radians)));
    Ok((Source::Exact { radians }, rows))
}
