//! Tables of relative positions in windows of images: which row of a model's table each pair of patches uses.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::families::bias::decomposed::entries;
use crate::num::real::Real;
use crate::round::{Float, magnitude, nearest};
use crate::rows::element::Element;
use crate::table::Table;

/// An index table `[queries, keys]` and the number of rows of the table that it points into.
///
/// # Examples
/// ```
/// use pe_core::RelativeIndex;
///
/// let swin = RelativeIndex::swin(7, 7)?;
/// assert_eq!((swin.index().rows(), swin.index().width(), swin.rows()), (49, 49, 169));
/// assert_eq!(swin.index().get(0, 0), Some(84)); // the same patch
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RelativeIndex {
    index: Table<u32>,
    rows: usize,
}

impl RelativeIndex {
    /// Builds the index of Swin and Swin v2: `(dy + height - 1)(2 width - 1) + dx + width - 1`, where `(dy, dx)` is
    /// `query - key`.
    ///
    /// # Errors
    /// Returns an error if a size is zero, or the index has more than 2^28 entries.
    pub fn swin(height: usize, width: usize) -> Result<Self> {
        let patches = entries(height, width)?;
        entries(patches, patches)?;
        let rows = (2 * height - 1) * (2 * width - 1);
        let mut data = Vec::with_capacity(patches * patches);
        for_pairs(patches, width, |[y, x], [v, u]| {
            let (dy, dx) = (y + height - 1 - v, x + width - 1 - u);
            data.push((dy * (2 * width - 1) + dx) as u32);
        });
        let index = Table::from_vec(data, patches)?;
        Ok(Self { index, rows })
    }

    /// Builds the index of BEiT and data2vec: Swin's index with a class token first. The last three rows of the table are for
    /// class to patch, patch to class, and class to class.
    ///
    /// # Errors
    /// Returns an error if a size is zero, or the index has more than 2^28 entries.
    ///
    /// # Examples
    /// ```
    /// use pe_core::RelativeIndex;
    ///
    /// let beit = RelativeIndex::beit(2, 2)?;
    /// assert_eq!(beit.rows(), 12);
    /// assert_eq!(beit.index().row(0), Some(&[11, 9, 9, 9, 9][..]));
    /// assert_eq!(beit.index().row(1), Some(&[10, 4, 3, 1, 0][..]));
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    pub fn beit(height: usize, width: usize) -> Result<Self> {
        let swin = Self::swin(height, width)?;
        let patches = swin.index.width();
        entries(patches + 1, patches + 1)?;
        let (last, mut data) = (swin.rows as u32, Vec::with_capacity((patches + 1).pow(2)));
        data.push(last + 2);
        data.resize(patches + 1, last);
        for row in swin.index.iter_rows() {
            data.push(last + 1);
            data.extend_from_slice(row);
        }
        let (index, rows) = (Table::from_vec(data, patches + 1)?, swin.rows + 3);
        Ok(Self { index, rows })
    }

    /// Builds the index of LeViT for queries on a grid of `q_size x q_size` patches, `stride` apart, and keys on one of
    /// `kv_size x kv_size`: rows are numbered by `(|dy|, |dx|)` in the order of their first appearance. Attention without
    /// subsampling has equal sizes and a stride of 1.
    ///
    /// # Errors
    /// Returns an error if a size or the stride is zero, the stride is above 2^16, or the index has more than 2^28 entries.
    pub fn levit(q_size: usize, kv_size: usize, stride: usize) -> Result<Self> {
        if stride == 0 || stride > 1 << 16 {
            return Err(Error::Bias {
                name: "stride",
                value: stride as u64,
                allowed: "1..=65536",
            });
        }
        let (queries, keys) = (entries(q_size, q_size)?, entries(kv_size, kv_size)?);
        let (mut seen, mut data) = (HashMap::new(), Vec::with_capacity(entries(queries, keys)?));
        for query in 0..queries {
            let (y, x) = (query / q_size * stride, query % q_size * stride);
            for key in 0..keys {
                let distance = (y.abs_diff(key / kv_size), x.abs_diff(key % kv_size));
                let next = seen.len() as u32;
                data.push(*seen.entry(distance).or_insert(next));
            }
        }
        let (index, rows) = (Table::from_vec(data, keys)?, seen.len());
        Ok(Self { index, rows })
    }

    /// Returns the index, one row per query.
    pub fn index(&self) -> &Table<u32> {
        &self.index
    }

    /// Returns the number of rows of the table that the index points into.
    pub fn rows(&self) -> usize {
        self.rows
    }
}

/// Visits all pairs of patches: row and column of the query, and of the key.
fn for_pairs(patches: usize, width: usize, mut f: impl FnMut([usize; 2], [usize; 2])) {
    for query in 0..patches {
        for key in 0..patches {
            f([query / width, query % width], [key / width, key % width]);
        }
    }
}

/// Computes the coordinates from which Swin v2's network computes its continuous bias: `[(2 height - 1)(2 width - 1), 2]`, for each distance
/// `(dy, dx)`
///
/// ```text
/// sign(x) log2(1 + 8 |x|) / 3        x = d / (size - 1)
/// ```
///
/// where `size` is the size of the window of pretraining, or of this window if `pretrained` is `None`. A window of
/// one patch has the coordinate 0. Every entry is the `T` nearest to the true value.
///
/// # Errors
/// Returns an error if a size is zero, a pretrained size is below 2, or the table has more than 2^28 entries.
///
/// # Examples
/// ```
/// let table = pe_core::swin_v2_coordinates::<f32>(8, 8, None)?;
/// assert_eq!((table.rows(), table.row(0)), (225, Some(&[-1.0566417, -1.0566417][..])));
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn swin_v2_coordinates<T: Element>(
    height: usize,
    width: usize,
    pretrained: Option<(usize, usize)>,
) -> Result<Table<T>> {
    entries(height, width)?;
    entries(2 * height - 1, 2 * (2 * width - 1))?;
    let (tall, wide) = pretrained.unwrap_or((height, width));
    for size in [tall, wide] {
        if size < 2 && pretrained.is_some() {
            return Err(Error::Bias {
                name: "pretrained_window_size",
                value: size as u64,
                allowed: "at least 2",
            });
        }
    }
    let (rows, columns): (Vec<T>, Vec<T>) = (coordinates(height, tall), coordinates(width, wide));
    let mut data = Vec::with_capacity(2 * rows.len() * columns.len());
    for y in rows {
        data.extend(columns.iter().flat_map(|x| [y, *x]));
    }
    Table::from_vec(data, 2)
}

/// Returns the coordinates of the distances `-(size - 1) ..= size - 1`.
fn coordinates<T: Float>(size: usize, of: usize) -> Vec<T> {
    let three_ln_2 = Real::from(3u64) * Real::from(2u64).ln();
    let of = of.saturating_sub(1).max(1) as u64;
    let coordinate = |steps: u64, negative| {
        let value = if steps == 0 {
            Real::from(0.0)
        } else {
            (Real::from(of + 8 * steps) / Real::from(of)).ln() / three_ln_2
        };
        nearest::<T>(negative && steps > 0, magnitude(value.size))
    };
    let last = size as u64 - 1;
    let before = (1..=last).rev().map(|steps| coordinate(steps, true));
    before
        .chain((0..=last).map(|steps| coordinate(steps, false)))
        .collect()
}
