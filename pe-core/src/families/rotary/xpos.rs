//! xPos: rotary embeddings with scores that decay with the distance.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::families::rotary::frequencies::RotaryFrequencies;
use crate::families::rotary::tables::{CosSin, signed};
use crate::families::rotary::{Rotary, RotaryConfig};
use crate::num::float::BigFloat;
use crate::num::real::Real;
use crate::round::Float;
use crate::rows::element::Element;
use crate::rows::writer::Source;
use crate::sincos::factor::Factor;
use crate::sincos::{self, Rungs};
use crate::spec::recipe::RotaryRecipe;
use crate::table::Table;
use crate::turns::position::{Position, check_range};

/// Specification of xPos: plain data, checked by [`Xpos::new`].
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct XposConfig {
    /// Frequencies. They must be exact and the same for all sequence lengths.
    pub rotary: RotaryConfig,
    /// `gamma` of the scale, positive. 0.4 in the paper.
    pub gamma: f64,
    /// Positions after which a pair has decayed to its `zeta`, positive. 512 in the paper.
    pub scale_base: f64,
    /// Position with the scale 1.
    pub center: f64,
}

impl XposConfig {
    /// Creates the specification of the paper for a width, with its center at position 0.
    pub const fn new(rotary_dim: usize) -> Self {
        Self {
            rotary: RotaryConfig::new(rotary_dim),
            gamma: 0.4,
            scale_base: 512.0,
            center: 0.0,
        }
    }
}

/// A rotary embedding with scores that decay with the distance (Y. Sun et al.: "A Length-Extrapolatable
/// Transformer", 2022).
///
/// Pair `i` of a query is rotated as usual and multiplied by a power of its `zeta`, and pair `i` of a key
/// by the inverse:
///
/// ```text
/// zeta_i = (2 i / d + gamma) / (1 + gamma)                     d = rotary_dim
/// query at p:  zeta_i^((p - center) / scale_base)              cos and sin of p x inv_freq_i times that
/// key at p:    zeta_i^((center - p) / scale_base)
/// ```
///
/// A score contains `zeta_i^((p - q) / scale_base)` for a query at `p` and a key at `q`, whatever the
/// center. Every entry of the tables is the value of `T` nearest to the product.
///
/// The center is fixed. torchscale, x-transformers, and rotary-embedding-torch move it to the middle of
/// the current sequence. Keys that were cached at one length then carry another scale than queries of the
/// next length expect, and the scores of the cache are wrong by `zeta_i^(difference / scale_base)`. With a
/// fixed center a cache stays valid. The price is range: away from the center the scale of queries falls
/// below the range of the type, and that of keys grows beyond it, which is an error. In `f32` pair 0
/// reaches 36,000 positions on either side. A center in the middle of the longest sequence doubles the range.
///
/// ```
/// use pe_core::{Xpos, XposConfig};
///
/// let xpos = Xpos::new(XposConfig { center: 1024.0, ..XposConfig::new(64) })?;
/// let (q, k) = (xpos.query_tables::<f32>(0..2048)?, xpos.key_tables::<f32>(0..2048)?);
/// assert_eq!(q.cos.row(1024), k.cos.row(1024)); // the center
/// assert!(q.cos.get(0, 0) > k.cos.get(0, 0));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Xpos {
    config: XposConfig,
    frequencies: RotaryFrequencies,
    /// ln(zeta) / scale_base of each pair, below zero.
    decay: Vec<Real>,
}

/// The two sides of a score, as the sign of the exponent.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Query,
    Key,
}

impl Xpos {
    /// Checks the specification and computes its frequencies and decays.
    ///
    /// # Errors
    /// Returns an error if
    /// - the rotary embedding is invalid (see [`Rotary::new`]), not exact, or depends on the length,
    /// - `gamma` or `scale_base` is not positive and finite, or the center is not finite.
    pub fn new(config: XposConfig) -> Result<Self> {
        let operation = "xPos";
        if config.rotary.recipe != RotaryRecipe::Exact {
            return Err(Error::ExactOnly { operation });
        }
        let rotary = Rotary::new(config.rotary.clone())?;
        if rotary.depends_on_seq_len() {
            let scaling = config.rotary.scaling.name();
            return Err(Error::LengthDependent { operation, scaling });
        }
        for (name, value) in [("gamma", config.gamma), ("scale_base", config.scale_base)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::NotPositive { name, value });
            }
        }
        if !config.center.is_finite() {
            return Err(Error::NotFinite {
                name: "center",
                value: config.center,
            });
        }
        let of = |count: usize| Real::from(count as u64);
        let (gamma, dim) = (Real::from(config.gamma), of(rotary.rotary_dim()));
        let base = Real::from(config.scale_base);
        // (2 i + gamma d) / (d + gamma d), with one logarithm of the common denominator.
        let whole = (dim + gamma * dim).ln();
        let decay = (0..rotary.pairs())
            .map(|pair| ((of(2 * pair) + gamma * dim).ln() - whole) / base)
            .collect();
        Ok(Self {
            frequencies: rotary.frequencies(0)?,
            config,
            decay,
        })
    }

    /// Returns the specification.
    pub fn config(&self) -> &XposConfig {
        &self.config
    }

    /// Returns the frequencies.
    pub fn frequencies(&self) -> &RotaryFrequencies {
        &self.frequencies
    }

    /// Computes cosines and sines times the scales of queries, of the positions `start .. end`, one row
    /// each.
    ///
    /// # Errors
    /// Returns an error if
    /// - the range descends or ends above 2^32,
    /// - a scale exceeds the range of `T`,
    /// - a table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or memory is exhausted.
    pub fn query_tables<T: Element>(&self, positions: Range<u64>) -> Result<CosSin<T>> {
        self.range(positions, Side::Query)
    }

    /// Computes cosines and sines times the scales of keys, like [`query_tables`](Self::query_tables).
    ///
    /// # Errors
    /// Returns the errors of [`query_tables`](Self::query_tables).
    pub fn key_tables<T: Element>(&self, positions: Range<u64>) -> Result<CosSin<T>> {
        self.range(positions, Side::Key)
    }

    /// Computes cosines and sines times the scales of queries, of any positions in any order, one row
    /// each.
    ///
    /// # Errors
    /// Returns an error if a scale exceeds the range of `T`, if a table exceeds
    /// [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or if memory is exhausted.
    pub fn query_tables_at<T: Element>(&self, positions: &[u32]) -> Result<CosSin<T>> {
        self.rows(
            positions.len() as u64,
            positions.iter().copied(),
            Side::Query,
        )
    }

    /// Computes cosines and sines times the scales of keys, like
    /// [`query_tables_at`](Self::query_tables_at).
    ///
    /// # Errors
    /// Returns the errors of [`query_tables_at`](Self::query_tables_at).
    pub fn key_tables_at<T: Element>(&self, positions: &[u32]) -> Result<CosSin<T>> {
        self.rows(positions.len() as u64, positions.iter().copied(), Side::Key)
    }

    fn range<T: Element>(&self, positions: Range<u64>, side: Side) -> Result<CosSin<T>> {
        check_range(&positions)?;
        let count = positions.end - positions.start;
        self.rows(count, positions.map(|position| position as u32), side)
    }

    /// Computes the rows of `count` positions.
    fn rows<T: Element>(
        &self,
        count: u64,
        positions: impl Iterator<Item = u32> + Clone,
        side: Side,
    ) -> Result<CosSin<T>> {
        // The scale is monotone, so the first and the last position have the largest scales.
        let ends = positions.clone().min().zip(positions.clone().max());
        for position in ends.into_iter().flat_map(|(first, last)| [first, last]) {
            self.check::<T>(position, side)?;
        }
        let pairs = self.frequencies.pairs();
        let (mut cos, mut sin) = (Table::zeros(count, pairs)?, Table::zeros(count, pairs)?);
        // The scales of the position before, and their ratios from one position to the next.
        let mut scales = vec![BigFloat::ONE; pairs];
        let ratios: Vec<_> = self.decay.iter().map(|decay| power(*decay, side)).collect();
        let mut before = None;
        let rows = cos.as_mut_slice().chunks_exact_mut(pairs);
        for ((position, cos), sin) in positions
            .zip(rows)
            .zip(sin.as_mut_slice().chunks_exact_mut(pairs))
        {
            let follows = before.is_some_and(|before| position == before + 1);
            before = Some(position);
            for (pair, ((cos, sin), scale)) in cos.iter_mut().zip(sin).zip(&mut scales).enumerate()
            {
                *scale = match (follows, ratios[pair]) {
                    (true, Some(ratio)) => scale.mul(ratio),
                    _ => self.scale(pair, position, side).unwrap_or(BigFloat::ZERO),
                };
                [*sin, *cos] = self.entry(pair, position, *scale);
            }
        }
        signed(self.frequencies.direction(), sin.as_mut_slice());
        Ok(CosSin { cos, sin })
    }

    /// Returns the scale of a pair at a position, or `None` for an exponent of 2^20 or more.
    fn scale(&self, pair: usize, position: u32, side: Side) -> Option<BigFloat> {
        let distance = Real::from(u64::from(position)) - Real::from(self.config.center);
        power(self.decay[pair] * distance, side)
    }

    /// Computes [sine, cosine] of a pair times a scale.
    fn entry<T: Element>(&self, pair: usize, position: u32, scale: BigFloat) -> [T; 2] {
        let rows = &self.frequencies.inner.rows;
        let factor = Factor::from(scale.mul(rows.factor.wide));
        match &rows.source {
            Source::Exact { frequencies, .. } if pair < frequencies.len() => {
                let position = Position::Integer(position);
                sincos::sin_cos(&frequencies[pair], position, &factor, Rungs::Ladder)
            }
            // Pairs that do not rotate.
            _ => [T::default(), factor.rounded()],
        }
    }

    /// Checks that the largest scale at a position, that of pair 0, is within the range of `T`.
    fn check<T: Element>(&self, position: u32, side: Side) -> Result<()> {
        let factor = self.frequencies.inner.rows.factor.wide;
        let scale = self.scale(0, position, side).map(|scale| scale.mul(factor));
        // Scales below the range are rounded like any number, those without an exponent are not.
        if scale.is_some_and(|scale| scale.exponent < largest_power::<T>()) {
            return Ok(());
        }
        Err(Error::XposScale {
            position,
            center: self.config.center,
            name: T::NAME,
        })
    }
}

/// Returns the power of two above the largest finite value of `T`.
fn largest_power<T: Float>() -> i32 {
    2 - T::MIN_EXPONENT
}

/// Returns e to an exponent, or to its negative for keys.
fn power(exponent: Real, side: Side) -> Option<BigFloat> {
    let signed = match side {
        Side::Query => exponent,
        Side::Key => -exponent,
    };
    signed.exp().map(|power| power.size)
}
