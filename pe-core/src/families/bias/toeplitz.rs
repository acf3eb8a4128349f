//! Distances between queries and keys, in the order of a Toeplitz matrix.

use crate::error::{Error, Result};
use crate::limits::{MAX_TOKENS, POSITIONS};

/// Lists the distances `key - query` of `q_len` queries and `kv_len` keys, ascending: `q_len + kv_len - 1`
/// values. Query `i` is at position `offset + i`, and key `j` at position `j`.
///
/// Entry `(i, j)` of the matrix `[q_len, kv_len]` has the distance at index `j - i + q_len - 1`: row `i` is
/// the slice of `kv_len` entries that begins at `q_len - 1 - i`. One query (incremental decoding) uses all
/// of them.
///
/// # Errors
/// Returns an error if
/// - `q_len` or `kv_len` is zero,
/// - `q_len + kv_len` exceeds 2^28,
/// - a query is at position 2^32 or later.
///
/// # Examples
/// ```
/// // 2 queries at positions 3 and 4, and 5 keys at positions 0 to 4.
/// let distances = pe_core::relative_distances(2, 5, 3)?;
/// assert_eq!(distances, -4..2);
/// let row_of_4: Vec<_> = distances.clone().take(5).collect();
/// assert_eq!(row_of_4, [-4, -3, -2, -1, 0]);
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn relative_distances(
    q_len: usize,
    kv_len: usize,
    offset: u64,
) -> Result<std::ops::Range<i64>> {
    let (queries, keys) = (q_len as u64, kv_len as u64);
    let tokens = queries.saturating_add(keys);
    if queries == 0 || keys == 0 {
        let (name, len) = if queries == 0 {
            ("q_len", q_len)
        } else {
            ("kv_len", kv_len)
        };
        return Err(Error::Bias {
            name,
            value: len as u64,
            allowed: "at least 1",
        });
    }
    if tokens > MAX_TOKENS {
        return Err(Error::TooManyTokens { tokens });
    }
    match offset.checked_add(queries) {
        Some(end) if end <= POSITIONS => {
            let first = offset as i64;
            Ok(-(first + queries as i64 - 1)..keys as i64 - first)
        }
        _ => Err(Error::Range {
            start: offset,
            end: offset.saturating_add(queries),
        }),
    }
}
