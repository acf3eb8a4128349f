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
