//! Positions with several coordinates: each pair follows one of them.
//!
//! A token of an image or a video has a time, a row and a column. [`Mrope`] splits the
//! pairs of a language model between the three; [`AxialRotary`] those of a vision model
//! between rows and columns. Both make tables of one row per token in which every pair
//! is taken at its own coordinate, so that whatever applies ordinary tables applies these.

use crate::error::{Error, Result};
use crate::families::rotary::frequencies::{RotaryFrequencies, Source};
use crate::families::rotary::tables::CosSin;
use crate::families::rotary::{Rotary, RotaryConfig};
use crate::limits::MAX_D_MODEL;
use crate::rows::element::Element;
use crate::turns::scaling::Set;

/// The order in which time, height and width share the pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum MropeArrangement {
    /// One after the other: Qwen2-VL, Qwen2.5-VL.
    Chunked,
    /// In turn, time at every place that the others leave: Qwen3-VL.
    Interleaved,
}

/// The split of a language model's pairs between time, height and width.
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
    /// Pairs of time, height and width: `mrope_section`.
    pub sections: [usize; 3],
    /// Their order.
    pub arrangement: MropeArrangement,
}

impl Mrope {
    /// The sections must cover the pairs exactly; in turn, height and width must find
    /// their places.
    ///
    /// # Errors
    /// If they do not; for more pairs than columns of [`MAX_D_MODEL`] make.
    pub fn check(&self, pairs: usize) -> Result<()> {
        if pairs > MAX_D_MODEL / 2 {
            let rotary_dim = pairs.saturating_mul(2);
            return Err(Error::RotaryDim { rotary_dim });
        }
        let [time, height, width] = self.sections;
        let sum = time.checked_add(height).and_then(|s| s.checked_add(width));
        if sum != Some(pairs) {
            return Err(Error::Length {
                what: "mrope_section, summed up,",
                actual: sum.unwrap_or(usize::MAX),
                expected: pairs as u64,
            });
        }
        let fits =
            |section: usize, first: usize| section <= pairs.saturating_sub(first).div_ceil(3);
        if self.arrangement == MropeArrangement::Interleaved && !(fits(height, 1) && fits(width, 2))
        {
            return Err(Error::Undefined {
                what: "an interleaved mrope_section",
                why: "sections of which height or width need places beyond the last pair",
            });
        }
        Ok(())
    }

    /// The coordinate that each pair follows: 0 time, 1 height, 2 width.
    ///
    /// # Errors
    /// As [`Mrope::check`].
    pub fn axes(&self, pairs: usize) -> Result<Vec<u8>> {
        self.check(pairs)?;
        let [time, height, width] = self.sections;
        let axis = |pair: usize| match self.arrangement {
            MropeArrangement::Chunked if pair < time => 0,
            MropeArrangement::Chunked if pair < time + height => 1,
            MropeArrangement::Chunked => 2,
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
    /// Cosines and sines of tokens with several coordinates: pair `i` of token `t` is
    /// taken at position `positions[axes[i]][t]`.
    ///
    /// # Errors
    /// If there is not one axis for each pair, an axis has no positions, or the lists of
    /// positions differ in length; else as [`RotaryFrequencies::tables`].
    pub fn tables_by_axis<T: Element>(
        &self,
        axes: &[u8],
        positions: &[&[u32]],
    ) -> Result<CosSin<T>> {
        let pairs = self.pairs();
        let length = |what, actual, expected: usize| Error::Length {
            what,
            actual,
            expected: expected as u64,
        };
        if axes.len() != pairs {
            return Err(length("the list of axes", axes.len(), pairs));
        }
        let tokens = positions.first().map_or(0, |list| list.len());
        if let Some(odd) = positions.iter().find(|list| list.len() != tokens) {
            return Err(length("a list of positions", odd.len(), tokens));
        }
        if let Some(axis) = axes
            .iter()
            .find(|axis| usize::from(**axis) >= positions.len())
        {
            let needed = usize::from(*axis) + 1;
            return Err(length("the list of coordinates", positions.len(), needed));
        }
        let mut out = self.tables_at::<T>(positions.first().copied().unwrap_or_default())?;
        for (axis, list) in positions.iter().enumerate().skip(1) {
            if !axes.iter().any(|a| usize::from(*a) == axis) {
                continue;
            }
            // Only tokens whose coordinates differ need another row.
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

    /// The pairs named, in their order, with the same attention factor.
    fn picked(&self, pairs: &[usize]) -> Result<Self> {
        let set = match &self.inner.source {
            Source::Exact { radians, .. } => {
                Set::Exact(pairs.iter().map(|p| radians[*p]).collect())
            }
            Source::F32(inv_freq) => Set::F32(pairs.iter().map(|p| inv_freq[*p]).collect()),
        };
        Self::new(set, self.attention_factor())
    }
}

/// How rows and columns of an image share the frequencies of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum AxialFrequencies {
    /// Both have the frequencies of a head of half the width: the vision model of
    /// Qwen2-VL and its successors.
    Same,
    /// Rows have every other frequency of the whole head, the fastest included, columns
    /// the rest: Pixtral.
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
    /// The embedding of heads of the width given.
    ///
    /// # Errors
    /// If the width is not a multiple of 4; else as [`Rotary::new`].
    pub fn new(head_dim: usize, base: f64, frequencies: AxialFrequencies) -> Result<Self> {
        Self::from_config(
            RotaryConfig {
                base,
                ..RotaryConfig::new(head_dim)
            },
            frequencies,
        )
    }

    /// The same from a whole specification, whose `rotary_dim` is the width of a head; for
    /// another recipe than the exact one.
    ///
    /// # Errors
    /// As [`AxialRotary::new`].
    pub fn from_config(config: RotaryConfig, frequencies: AxialFrequencies) -> Result<Self> {
        let head_dim = config.rotary_dim;
        if head_dim == 0 || !head_dim.is_multiple_of(4) {
            return Err(Error::Parameter {
                name: "head_dim",
                value: head_dim as f64,
                expected: "a multiple of 4, as rows and columns need it",
            });
        }
        // The width is checked before lists of its size are made.
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

    /// The frequencies of all pairs, those of the rows first.
    pub fn frequencies(&self) -> &RotaryFrequencies {
        &self.frequencies
    }

    /// Cosines and sines of patches, one row of `head_dim / 2` pairs for each.
    ///
    /// # Errors
    /// If the lists of rows and columns differ in length; memory exhausted.
    pub fn tables<T: Element>(&self, patches: &PatchPositions) -> Result<CosSin<T>> {
        let lists = [&patches.rows[..], &patches.columns[..]];
        self.frequencies.tables_by_axis(&self.axes, &lists)
    }
}

/// Row and column of each patch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchPositions {
    /// Rows.
    pub rows: Vec<u32>,
    /// Columns.
    pub columns: Vec<u32>,
}

/// The size of an image or a video in patches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PatchGrid {
    /// Frames (after the merging of frames by the patch embedding); 1 for an image.
    pub frames: u32,
    /// Rows of patches.
    pub rows: u32,
    /// Columns of patches.
    pub columns: u32,
}

impl PatchGrid {
    /// Rows and columns after squares of `merge` x `merge` patches become one token.
    pub(super) fn merged(self, merge: u32) -> Result<Self> {
        let fits = |size: u32| merge > 0 && size.is_multiple_of(merge);
        if fits(self.rows) && fits(self.columns) {
            return Ok(Self {
                rows: self.rows / merge,
                columns: self.columns / merge,
                ..self
            });
        }
        Err(Error::Mismatch {
            left: format!("a grid of {} x {} patches", self.rows, self.columns),
            right: format!("squares of {merge} x {merge} patches"),
        })
    }

    pub(super) fn tokens(self) -> u64 {
        u64::from(self.frames)
            .saturating_mul(u64::from(self.rows))
            .saturating_mul(u64::from(self.columns))
    }
}

/// The most tokens for which positions are made in one call: 2^28.
pub(super) const MAX_TOKENS: u64 = 1 << 28;

pub(super) fn check_tokens(tokens: u64) -> Result<()> {
    if tokens > MAX_TOKENS {
        return Err(Error::TooLarge {
            rows: tokens,
            width: 1,
            name: "positions",
        });
    }
    Ok(())
}

/// Row and column of every patch of some images and videos, in the order in which
/// Qwen2-VL's vision model has them: squares of `merge` x `merge` patches one after
/// the other, and this once for each frame. With `merge` 1 it is row after row, as
/// Pixtral has them.
///
/// # Errors
/// If a grid cannot be cut into such squares, or there are more than 2^28 patches.
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
            // Nothing to go through four thousand million empty frames or rows for.
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
