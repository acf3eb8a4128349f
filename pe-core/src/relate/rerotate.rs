//! Re-rotation of a vector to another position.
//!
//! A cached key that was rotated for position `p` becomes valid at position `q` after one more
//! rotation, by the difference of the two angles. The same holds for another set of frequencies:
//! from set A at `p` to set B at `q`, each pair rotates by `q x B_i - p x A_i` and is multiplied by
//! the ratio of the attention factors.

use crate::error::{Error, Result};
use crate::families::rotary::frequencies::{RotaryFrequencies, Source};
use crate::num::float::BigFloat;
use crate::num::real::Real;
use crate::rows::element::Element;
use crate::sincos;
use crate::spec::direction::Direction;
use crate::spec::pair_layout::PairLayout;
use crate::turns::frequency::Frequency;

/// Operator that maps a head rotated with one set of frequencies at one position to the same head
/// rotated with another set at another position.
///
/// ```
/// use pe_core::{PairLayout, Rotary, RotaryConfig};
///
/// let set = Rotary::new(RotaryConfig::new(8))?.frequencies(0)?;
/// let shift = set.shift(-100)?;
/// let mut key = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
/// shift.apply(PairLayout::HalfSplit, &mut key)?;
/// shift.inverse().apply(PairLayout::HalfSplit, &mut key)?;
/// assert!((key[0] - 1.0).abs() < 1e-6);
/// assert_eq!(shift.compose(&set.shift(30)?)?.steps(), Some(-70));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rerotation {
    from: (RotaryFrequencies, i64),
    to: (RotaryFrequencies, i64),
    /// (sine, cosine) of each pair's angle times the ratio of the factors, correctly rounded.
    rotations: Vec<(f64, f64)>,
}

impl PartialEq for Rerotation {
    fn eq(&self, other: &Self) -> bool {
        self.rotations == other.rotations
    }
}

impl RotaryFrequencies {
    /// Returns the operator that moves a vector rotated with these frequencies by `steps`
    /// positions, from any position.
    ///
    /// # Errors
    /// Returns an error if
    /// - `steps` exceeds 2^32 - 1 in magnitude,
    /// - the frequencies have the recipe `hf-f32`. Its rows at different positions are not
    ///   rotations of each other by one angle. Use [`RotaryFrequencies::rerotate`].
    pub fn shift(&self, steps: i64) -> Result<Rerotation> {
        if matches!(self.inner.source, Source::F32(_)) {
            let operation = "the shift operator";
            return Err(Error::ExactOnly { operation });
        }
        Rerotation::new((self.clone(), 0), (self.clone(), steps))
    }

    /// Returns the operator that maps a vector rotated with these frequencies at position `from` to
    /// the vector rotated with the set `other` at position `to`.
    ///
    /// With the recipe `hf-f32`, the angles are the f32 angles of the tables.
    ///
    /// # Errors
    /// Returns an error if the sets have different numbers of pairs.
    pub fn rerotate(&self, from: u32, other: &Self, to: u32) -> Result<Rerotation> {
        Rerotation::new(
            (self.clone(), i64::from(from)),
            (other.clone(), i64::from(to)),
        )
    }

    /// Computes sine and cosine of a pair's angle at a position of any sign, in 320-bit arithmetic.
    fn angle(&self, pair: usize, position: i64) -> (Real, Real) {
        let size = position.unsigned_abs();
        let values = match &self.inner.source {
            Source::Exact { radians } => {
                let frequency = Frequency::from_radians(radians[pair]);
                sincos::sin_cos_320(frequency.wide, size, 0)
            }
            Source::F32(inv_freq) => {
                let angle = inv_freq[pair] * size as f32;
                let frequency = Frequency::from_radians(BigFloat::from_f64(f64::from(angle)));
                sincos::sin_cos_320(frequency.wide, 1, 0)
            }
        };
        let of = |(negative, size): (bool, BigFloat)| {
            let size = Real::from(size);
            if negative { -size } else { size }
        };
        let (sine, cosine) = values.map_or(
            (Real::from(BigFloat::ZERO), Real::one()),
            |[sine, cosine]| (of(sine), of(cosine)),
        );
        let negative = (position < 0) != (self.direction == Direction::Clockwise);
        (if negative { -sine } else { sine }, cosine)
    }

    fn is_same_set(&self, other: &Self) -> bool {
        let same = match (&self.inner.source, &other.inner.source) {
            (Source::Exact { radians: a }, Source::Exact { radians: b }) => ***a == ***b,
            (Source::F32(a), Source::F32(b)) => a == b,
            _ => false,
        };
        same && (self.factor(), self.direction) == (other.factor(), other.direction)
    }
}

impl Rerotation {
    fn new(from: (RotaryFrequencies, i64), to: (RotaryFrequencies, i64)) -> Result<Self> {
        let pairs = from.0.pairs();
        if to.0.pairs() != pairs {
            return Err(Error::Pairs {
                from: pairs,
                to: to.0.pairs(),
            });
        }
        for position in [from.1, to.1] {
            if u32::try_from(position.unsigned_abs()).is_err() {
                return Err(Error::Steps { steps: position });
            }
        }
        Ok(Self::between(from, to))
    }

    /// Computes the operator between sets with the same number of pairs, at positions below 2^32 in
    /// magnitude.
    fn between(from: (RotaryFrequencies, i64), to: (RotaryFrequencies, i64)) -> Self {
        let pairs = from.0.pairs();
        let scale = Real::from(to.0.factor().wide) / Real::from(from.0.factor().wide);
        let same = from.0.factor() == to.0.factor();
        // -0 + 0 is +0: the sine of a pair that does not rotate has no sign.
        let unsigned = |sine: Real| sine.to_f64() + 0.0;
        let rotations = (0..pairs)
            .map(|pair| {
                let (sine_p, cosine_p) = from.0.angle(pair, from.1);
                let (sine_q, cosine_q) = to.0.angle(pair, to.1);
                let sine = sine_q * cosine_p - cosine_q * sine_p;
                let cosine = cosine_q * cosine_p + sine_q * sine_p;
                if same {
                    (unsigned(sine), cosine.to_f64())
                } else {
                    (unsigned(sine * scale), (cosine * scale).to_f64())
                }
            })
            .collect();
        Self {
            from,
            to,
            rotations,
        }
    }

    /// Returns the number of positions, for an operator within one set.
    pub fn steps(&self) -> Option<i64> {
        let exact = matches!(self.from.0.inner.source, Source::Exact { .. });
        let same = exact && self.from.0.is_same_set(&self.to.0);
        same.then(|| self.to.1 - self.from.1)
    }

    /// Returns (sine, cosine) of the angle by which each pair rotates, multiplied by the ratio of
    /// the attention factors. A sine of zero is +0.
    pub fn rotations(&self) -> &[(f64, f64)] {
        &self.rotations
    }

    /// Moves one head in place. Columns beyond the rotary width are unchanged. The arithmetic is
    /// f64 with one rounding to `T`.
    ///
    /// # Errors
    /// Returns an error if the head is narrower than the rotary width.
    pub fn apply<T: Element>(&self, layout: PairLayout, head: &mut [T]) -> Result<()> {
        let pairs = self.rotations.len();
        if head.len() < 2 * pairs {
            return Err(Error::Length {
                name: "head",
                len: head.len(),
                expected: 2 * pairs as u64,
            });
        }
        for (pair, (sine, cosine)) in self.rotations.iter().enumerate() {
            let (a, b) = layout.columns(pair, pairs);
            let (x, y) = (head[a].to_f64(), head[b].to_f64());
            head[a] = T::from_f64(x * cosine - y * sine);
            head[b] = T::from_f64(x * sine + y * cosine);
        }
        Ok(())
    }

    /// Returns the inverse operator.
    pub fn inverse(&self) -> Self {
        Self::between(self.to.clone(), self.from.clone())
    }

    /// Returns this operator followed by `next`, with recomputed angles.
    ///
    /// # Errors
    /// Returns an error if
    /// - `next` does not start with the set (and the position) where this operator ends, except
    ///   that two operators within one set always compose,
    /// - the sum of the steps exceeds 2^32 - 1 in magnitude.
    pub fn compose(&self, next: &Self) -> Result<Self> {
        if !self.to.0.is_same_set(&next.from.0) {
            let pairs = self.rotations.len();
            return Err(Error::ComposedSets { pairs });
        }
        // An operator within one set can start anywhere.
        match (self.steps(), next.steps()) {
            (Some(first), Some(second)) => self.from.0.shift(first + second),
            (Some(first), None) => {
                Self::new((self.from.0.clone(), next.from.1 - first), next.to.clone())
            }
            (None, Some(second)) => {
                Self::new(self.from.clone(), (next.to.0.clone(), self.to.1 + second))
            }
            (None, None) if self.to.1 == next.from.1 => {
                Self::new(self.from.clone(), next.to.clone())
            }
            (None, None) => Err(Error::ComposedPositions {
                end: self.to.1,
                start: next.from.1,
            }),
        }
    }
}
