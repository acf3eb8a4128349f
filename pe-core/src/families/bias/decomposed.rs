//! Decomposed biases of images (SAM, ViTDet, MViTv2): one table for rows and one for columns.

use crate::error::{Error, Result};
use crate::limits::MAX_TOKENS;
use crate::table::Table;

/// Computes which row of a resized table (`2 max(q_size, kv_size) - 1` rows) each query and key of one axis uses: a table
/// `[q_size, kv_size]`.
///
/// For `q_size` queries and `kv_size` keys along the axis the index is
///
/// ```text
/// floor(i max(kv/q, 1) - j max(q/kv, 1) + (kv - 1) max(q/kv, 1))
/// ```
///
/// in integers. The `f32` products of transformers agree for all pairs of sizes up to 128 where one is a multiple of the
/// other (the pairs of pooled attention). For 0.8% of the indices of other pairs they differ by one.
///
/// # Errors
/// Returns an error if a size is zero, or both together have more than 2^28 entries.
///
/// # Examples
/// ```
/// let index = pe_core::decomposed_index(2, 2)?;
/// assert_eq!(index.as_slice(), [1, 0, 2, 1]);
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn decomposed_index(q_size: usize, kv_size: usize) -> Result<Table<u32>> {
    let count = entries(q_size, kv_size)?;
    let (q, kv) = (q_size as u64, kv_size as u64);
    let least = q.min(kv);
    let mut data = Vec::with_capacity(count);
    for i in 0..q {
        data.extend((0..kv).map(|j| ((i * kv + (kv - 1 - j) * q) / least) as u32));
    }
    Table::from_vec(data, kv_size)
}

/// Computes how the rows of a table are resized along one axis to another number of rows, as
/// `F.interpolate(mode="linear", align_corners=False)` of torch: two source rows and the weight of the second for each
/// new row. Each weight is the `f64` nearest to the rational number.
///
/// # Errors
/// Returns an error if a number of rows is zero or above 2^28.
///
/// # Examples
/// ```
/// let rows = pe_core::resize_rows(3, 6)?;
/// assert_eq!(rows[1], (0, 1, 0.25));
/// assert_eq!(rows[0], (0, 1, 0.0)); // the edge
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn resize_rows(from: usize, to: usize) -> Result<Vec<(u32, u32, f64)>> {
    for (name, value) in [("from", from), ("to", to)] {
        if value == 0 || value as u64 > MAX_TOKENS {
            return Err(Error::Bias {
                name,
                value: value as u64,
                allowed: "1..=268435456",
            });
        }
    }
    let (from, to) = (from as u64, to as u64);
    let resized = (0..to).map(|row| {
        // The source is (row + 1/2) from / to - 1/2, at least 0.
        let (over, under) = (((2 * row + 1) * from).saturating_sub(to), 2 * to);
        let (first, rest) = (over / under, over % under);
        let second = (first + 1).min(from - 1);
        (first as u32, second as u32, rest as f64 / under as f64)
    });
    Ok(resized.collect())
}

/// Returns the number of entries of a matrix of these sizes.
pub(super) fn entries(rows: usize, columns: usize) -> Result<usize> {
    for (name, value) in [("rows", rows), ("columns", columns)] {
        if value == 0 {
            return Err(Error::Bias {
                name,
                value: 0,
                allowed: "at least 1",
            });
        }
    }
    let count = (rows as u64).saturating_mul(columns as u64);
    if count > MAX_TOKENS {
        return Err(Error::TooManyTokens { tokens: count });
    }
    Ok(count as usize)
}
