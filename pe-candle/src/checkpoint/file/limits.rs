//! Limits of a reader.

/// Largest accepted sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of all tensors read, in bytes. Defaults to 16 GiB,
    /// [`MAX_TABLE_BYTES`](pe_core::MAX_TABLE_BYTES).
    pub table_bytes: u64,
    /// Size of the whole file in bytes. Unlimited by default, because only the header and the
    /// tables are read.
    pub file_bytes: u64,
    /// Size of the header in bytes. Defaults to 100,000,000, as in the safetensors crate. Reading it needs
    /// at most eight times as much memory and 32 MiB. No single allocation exceeds the header and 32 MiB.
    /// With any limit, a header is rejected if it has more than 262,144 tensors or 65,536 metadata keys, a
    /// tensor of more than 64 dimensions, a text of more than 32 MiB among the metadata, or a name or another
    /// text of more than 1 MiB.
    pub header_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            table_bytes: pe_core::MAX_TABLE_BYTES,
            file_bytes: u64::MAX,
            header_bytes: 100_000_000,
        }
    }
}
