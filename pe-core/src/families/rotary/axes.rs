//! Positions with several coordinates. Each pair follows one of them.
//!
//! A token of an image or a video has a time, a row, and a column. [`Mrope`] splits the pairs of a
//! language model between the three, [`AxialRotary`] splits the pairs of a vision model between
//! rows and columns. Both build tables with one row per token and with every pair at its own
//! coordinate. Code that applies ordinary tables applies these unchanged.

use crate::error::{Error, Result};
use crate::families::rotary::frequencies::{RotaryFrequencies, Source};
use crate::families::rotary::tables::CosSin;
use crate::families::rotary::{Rotary, RotaryConfig};
use crate::limits::{MAX_D_MODEL, MAX_TOKENS};
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
        let mut out = self.tables_at::<T>(positions.first().copied().unwrap_or_default())?;
        for (axis, list) in positions.iter().enumerate().skip(1) {
            if !axes.iter().any(|a| usize::from(*a) == axis) {
                continue;
            }
            // Only tokens with different coordinates need another row.
            let differing: Vec<usize> = (0..tokens)
                .filter(|t| list[*t] != positions[0][*t])
                .collect();
            let at: Vec<u32> = differing.iter().map(|token| list[*token]).collect();
            let rows = self.tables_at::<T>(&at)?;
            for (row, token) in differing.into_iter().enumerate() {
                let from = row * pairs..(row + 1) * pairs;
                let to = token * pairs..(token + 1) * pairs;
                for (table, source) in [(&mut out.cos, &rows.cos), (&mut out.sin, &rows.sin)] {
                    let source = &source.as_slice()[from.clone()];
                    let table = &mut table.as_mut_slice()[to.clone()];
                    for ((entry, value), a) in table.iter_mut().zip(source).zip(axes) {
                        if usize::from(*a) == axis {
                            *entry = *value;
                        }
                    }
                }
            }
        }
        Ok(out)
    }

    /// Returns the set of the given pairs, in their order, with the same attention factor.
    fn picked(&self, pairs: &[usize]) -> Result<Self> {
        let set = match &self.inner.source {
            Source::Exact { radians } => Set::Exact(pairs.iter().map(|p| radians[*p]).collect()),
            Source::F32(inv_freq) => Set::F32(pairs.iter().map(|p| inv_freq[*p]).collect()),
        };
        Ok(Self::new(set, *self.factor())?.rotating(self.direction))
    }
}

/// Assignment of the frequencies of a head to rows and columns of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum AxialFrequencies {
    /// Rows and columns each have the frequencies of a head of half the width: the vision model of
    /// Qwen2-VL and its successors.
    Same,
    /// Rows have every other frequency of the whole head, starting with the fastest, and columns
    /// have the rest: Pixtral.
    Alternating,
}

/// Rotary embedding of image patches by row and column.
///
/// The first half of the pairs follows the row, the second half the column.
///
/// ```
/// use pe_core::{AxialFrequencies, AxialRotary, PatchGrid, vision_position_ids};
///
/// let rotary = AxialRotary::new(64, 10_000.0, AxialFrequencies::Alternating)?;
/// let patches = vision_position_ids(&[PatchGrid { frames: 1, rows: 2, columns: 3 }], 1)?;
/// let tables = rotary.tables::<f32>(&patches)?;
/// assert_eq!((tables.cos.rows(), tables.cos.width()), (6, 32));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AxialRotary {
    frequencies: RotaryFrequencies,
    axes: Vec<u8>,
}

impl AxialRotary {
    /// Creates the embedding for heads of `head_dim` columns.
    ///
    /// # Errors
    /// Returns an error if `head_dim` is not a positive multiple of 4. Also returns the errors of
    /// [`Rotary::new`].
    pub fn new(head_dim: usize, base: f64, frequencies: AxialFrequencies) -> Result<Self> {
        Self::from_config(
            RotaryConfig {
                base,
                ..RotaryConfig::new(head_dim)
            },
            frequencies,
        )
    }

    /// Creates the embedding from a complete specification, with the width of a head in
    /// `rotary_dim`. It allows other recipes than the exact one.
    ///
    /// # Errors
    /// Returns the errors of [`AxialRotary::new`].
    pub fn from_config(config: RotaryConfig, frequencies: AxialFrequencies) -> Result<Self> {
        let head_dim = config.rotary_dim;
        if head_dim == 0 || !head_dim.is_multiple_of(4) {
            return Err(Error::AxialWidth { head_dim });
        }
        // Checks the width before any list of its size is allocated.
        let rotary = Rotary::new(RotaryConfig {
            rotary_dim: match frequencies {
                AxialFrequencies::Same => head_dim / 2,
                AxialFrequencies::Alternating => head_dim,
            },
            ..config
        })?;
        let quarter = head_dim / 4;
        let order: Vec<usize> = match frequencies {
            AxialFrequencies::Same => (0..quarter).chain(0..quarter).collect(),
            AxialFrequencies::Alternating => {
                let every_other = |first: usize| (0..quarter).map(move |i| 2 * i + first);
                every_other(0).chain(every_other(1)).collect()
            }
        };
        Ok(Self {
            frequencies: rotary.frequencies(0)?.picked(&order)?,
            axes: (0..2 * quarter)
                .map(|pair| u8::from(pair >= quarter))
                .collect(),
        })
    }

    /// Returns the frequencies of all pairs, the rows first.
    pub fn frequencies(&self) -> &RotaryFrequencies {
        &self.frequencies
    }

    /// Computes cosines and sines of patches, one row of `head_dim / 2` pairs per patch.
    ///
    /// # Errors
    /// Returns an error if the lists of rows and columns differ in length, or if memory is
    /// exhausted.
    pub fn tables<T: Element>(&self, patches: &PatchPositions) -> Result<CosSin<T>> {
        let lists = [&patches.rows[..], &patches.columns[..]];
        self.frequencies.tables_by_axis(&self.axes, &lists)
    }
}

/// Row and column of each patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchPositions {
    /// Row of each patch.
    pub rows: Vec<u32>,
    /// Column of each patch.
    pub columns: Vec<u32>,
}

/// Size of an image or a video in patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PatchGrid {
    /// Number of frames, after the patch embedding has merged frames; 1 for an image.
    pub frames: u32,
    /// Number of rows of patches.
    pub rows: u32,
    /// Number of columns of patches.
    pub columns: u32,
}

impl PatchGrid {
    /// Returns the grid after squares of `merge` x `merge` patches become one token.
    pub(super) fn merged(self, merge: u32) -> Result<Self> {
        let fits = |size: u32| merge > 0 && size.is_multiple_of(merge);
        if fits(self.rows) && fits(self.columns) {
            return Ok(Self {
                rows: self.rows / merge,
                columns: self.columns / merge,
                ..self
            });
        }
        let Self { rows, columns, .. } = self;
        Err(Error::Grid {
            rows,
            columns,
            merge,
        })
    }

    pub(super) fn tokens(self) -> u64 {
        u64::from(self.frames)
            .saturating_mul(u64::from(self.rows))
            .saturating_mul(u64::from(self.columns))
    }
}

pub(super) fn check_tokens(tokens: u64) -> Result<()> {
    if tokens > MAX_TOKENS {
        return Err(Error::TooManyTokens { tokens });
    }
    Ok(())
}

/// Computes row and column of every patch of images and videos, in the order of Qwen2-VL's vision
/// model: squares of `merge` x `merge` patches one after the other, repeated for each frame.
/// `merge` 1 gives Pixtral's order, row after row.
///
/// ```
/// use pe_core::{PatchGrid, vision_position_ids};
///
/// let patches = vision_position_ids(&[PatchGrid { frames: 1, rows: 2, columns: 4 }], 2)?;
/// assert_eq!(patches.rows, [0, 0, 1, 1, 0, 0, 1, 1]);
/// assert_eq!(patches.columns, [0, 1, 0, 1, 2, 3, 2, 3]);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if a grid cannot be divided into such squares, or if the grids have more
/// than 2^28 patches in total.
pub fn vision_position_ids(grids: &[PatchGrid], merge: u32) -> Result<PatchPositions> {
    let mut out = PatchPositions::default();
    let mut total: u64 = 0;
    for grid in grids {
        let squares = grid.merged(merge)?;
        total = total.saturating_add(grid.tokens());
        check_tokens(total)?;
        out.rows.reserve(grid.tokens() as usize);
        out.columns.reserve(grid.tokens() as usize);
        if grid.tokens() == 0 {
            // Avoids iterating over four billion empty frames or rows.
            continue;
        }
        for _ in 0..grid.frames {
            for (row, column) in product(squares.rows, squares.columns) {
                for (inner_row, inner_column) in product(merge, merge) {
                    out.rows.push(row * merge + inner_row);
                    out.columns.push(column * merge + inner_column);
                }
            }
        }
    }
    Ok(out)
}

fn product(rows: u32, columns: u32) -> impl Iterator<Item = (u32, u32)> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| (row, column)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_tokens_as_documented() {
        assert!(check_tokens(1 << 28).is_ok());
        let error = check_tokens((1 << 28) + 1).unwrap_err();
        assert!(error.to_string().contains("268435457"), "{error}");
    }
}
