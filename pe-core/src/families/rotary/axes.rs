//! Split of a language model's pairs between time, height, and width, and tables of any such split.
//!
//! A token of an image or a video has a time, a row, and a column, and each pair follows one of them.
//! Tables have one row per token, with every pair at its own coordinate. Code that applies ordinary
//! tables applies these unchanged.

use crate::error::{Error, Result};
use crate::families::rotary::axial::assembly::{Assembly, Coordinates, Unrotated};
use crate::families::rotary::frequencies::{RotaryFrequencies, Source};
use crate::families::rotary::tables::CosSin;
use crate::limits::MAX_D_MODEL;
use crate::rows::element::Element;
use crate::turns::scaling::Set;

/// Order of time, height, and width among the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MropeArrangement {
    /// One section after the other: Qwen2-VL, Qwen2.5-VL.
    Chunked,
    /// Alternating pairs, with time in every place that the others leave: Qwen3-VL.
    Interleaved,
    /// Height and width alternate in the first pairs, the last ones follow time: ERNIE 4.5 VL. The two
    /// sections must be equal.
    SpatialFirst,
}

/// Split of a language model's pairs between time, height, and width.
///
/// ```
/// use pe_core::{Mrope, MropeArrangement, Rotary, RotaryConfig};
///
/// let mrope = Mrope { sections: [16, 24, 24], arrangement: MropeArrangement::Chunked };
/// let frequencies = Rotary::new(RotaryConfig::new(128))?.frequencies(0)?;
/// // Two tokens: text at position 0, then a patch at time 1, row 2, column 3.
/// let tables = frequencies.tables_by_axis::<f32>(&mrope.axes(64)?, &[&[0, 1], &[0, 2], &[0, 3]])?;
/// let row = |p: u32| frequencies.tables_at::<f32>(&[p]);
/// assert_eq!(tables.cos.get(1, 20), row(2)?.cos.get(0, 20)); // pair 20 follows the rows
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Mrope {
    /// Numbers of pairs for time, height, and width: `mrope_section`.
    pub sections: [usize; 3],
    /// Order of the sections.
    pub arrangement: MropeArrangement,
}

impl Mrope {
    /// Checks that the sections cover the pairs exactly. Interleaved sections of height and width
    /// must also fit into their places.
    ///
    /// # Errors
    /// Returns an error if they do not, or if `pairs` exceeds half of [`MAX_D_MODEL`].
    pub fn check(&self, pairs: usize) -> Result<()> {
        if pairs > MAX_D_MODEL / 2 {
            let rotary_dim = pairs.saturating_mul(2);
            return Err(Error::RotaryDim { rotary_dim });
        }
        let [time, height, width] = self.sections;
        let sections = self.sections;
        let sum = time.checked_add(height).and_then(|s| s.checked_add(width));
        if sum != Some(pairs) {
            return Err(Error::MropeSections { sections, pairs });
        }
        let fits =
            |section: usize, first: usize| section <= pairs.saturating_sub(first).div_ceil(3);
        match self.arrangement {
            MropeArrangement::Interleaved if !(fits(height, 1) && fits(width, 2)) => {
                Err(Error::MropeInterleaving { sections, pairs })
            }
            MropeArrangement::SpatialFirst if height != width => {
                Err(Error::MropeAlternation { height, width })
            }
            _ => Ok(()),
        }
    }

    /// Returns the coordinate of each pair: 0 time, 1 height, 2 width.
    ///
    /// ```
    /// use pe_core::{Mrope, MropeArrangement};
    ///
    /// let mrope = Mrope { sections: [1, 1, 2], arrangement: MropeArrangement::Chunked };
    /// assert_eq!(mrope.axes(4)?, [0, 1, 2, 2]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Mrope::check`].
    pub fn axes(&self, pairs: usize) -> Result<Vec<u8>> {
        self.check(pairs)?;
        let [time, height, width] = self.sections;
        let axis = |pair: usize| match self.arrangement {
            MropeArrangement::Chunked if pair < time => 0,
            MropeArrangement::Chunked if pair < time + height => 1,
            MropeArrangement::Chunked => 2,
            MropeArrangement::SpatialFirst if pair >= height + width => 0,
            MropeArrangement::SpatialFirst => 1 + (pair % 2) as u8,
            MropeArrangement::Interleaved => match pair % 3 {
                1 if pair / 3 < height => 1,
                2 if pair / 3 < width => 2,
                _ => 0,
            },
        };
        Ok((0..pairs).map(axis).collect())
    }
}

impl RotaryFrequencies {
    /// Computes cosines and sines of tokens with several coordinates. Pair `i` of token `t` is at
    /// position `positions[axes[i]][t]`.
    ///
    /// ```
    /// use pe_core::{Rotary, RotaryConfig};
    ///
    /// let frequencies = Rotary::new(RotaryConfig::new(4))?.frequencies(0)?;
    /// let tables = frequencies.tables_by_axis::<f32>(&[0, 1], &[&[7], &[3]])?;
    /// let at = |position| frequencies.tables_at::<f32>(&[position]).map(|tables| tables.cos.into_vec());
    /// assert_eq!(tables.cos.as_slice(), [at(7)?[0], at(3)?[1]]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - `axes` does not have one entry per pair,
    /// - an axis has no positions,
    /// - the lists of positions differ in length.
    ///
    /// Also returns the errors of [`RotaryFrequencies::tables`].
    pub fn tables_by_axis<T: Element>(
        &self,
        axes: &[u8],
        positions: &[&[u32]],
    ) -> Result<CosSin<T>> {
        let pairs = self.pairs();
        let length = |name, len, expected: usize| Error::Length {
            name,
            len,
            expected: expected as u64,
        };
        if axes.len() != pairs {
            return Err(length("axes", axes.len(), pairs));
        }
        let tokens = positions.first().map_or(0, |list| list.len());
        if let Some(odd) = positions.iter().find(|list| list.len() != tokens) {
            return Err(length("a list of positions", odd.len(), tokens));
        }
        if let Some(axis) = axes
            .iter()
            .find(|axis| usize::from(**axis) >= positions.len())
        {
            let (axis, lists) = (*axis, positions.len());
            return Err(Error::Axis { axis, lists });
        }
        let mut places = vec![0; positions.len()];
        let places: Vec<(usize, usize)> = axes
            .iter()
            .map(|axis| {
                let next = &mut places[usize::from(*axis)];
                *next += 1;
                (usize::from(*axis), *next - 1)
            })
            .collect();
        let of_axis = |axis: usize| {
            let pairs = (0..pairs).filter(|pair| usize::from(axes[*pair]) == axis);
            self.picked(&pairs.collect::<Vec<_>>())
        };
        let frequencies: Vec<Self> = (0..positions.len()).map(of_axis).collect::<Result<_>>()?;
        let coordinates = |list: &&[u32]| Coordinates::of(list.iter().map(|p| f64::from(*p)));
        let coordinates: Vec<Coordinates> = positions.iter().map(coordinates).collect();
        Assembly::new(frequencies, 0, &places).tables(&coordinates, 1, Unrotated::default())
    }

    /// Returns the set of the given pairs, in their order, with the same attention factor and direction.
    pub(super) fn picked(&self, pairs: &[usize]) -> Result<Self> {
        self.with(match &self.inner.source {
            Source::Exact { radians } => Set::Exact(pairs.iter().map(|p| radians[*p]).collect()),
            Source::F32(inv_freq) => Set::F32(pairs.iter().map(|p| inv_freq[*p]).collect()),
        })
    }

    /// Returns another set with the same attention factor and direction.
    pub(super) fn with(&self, set: Set) -> Result<Self> {
        Ok(Self::new(set, *self.factor())?.rotating(self.direction))
    }
}
