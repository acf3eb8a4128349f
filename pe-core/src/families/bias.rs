//! Attention biases, which a model adds to its scores instead of rotating queries or adding encodings.
//!
//! Every function here is small and pure. A bias that depends on the distance of two tokens alone is a
//! Toeplitz matrix: for `q_len` queries and `kv_len` keys it has `q_len + kv_len - 1` values per head, and
//! [`relative_distances`](toeplitz::relative_distances) lists their distances.

pub(crate) mod alibi;
mod border;
pub(crate) mod buckets;
pub(crate) mod clip;
pub(crate) mod decomposed;
pub(crate) mod index;
pub(crate) mod toeplitz;
