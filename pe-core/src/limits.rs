//! The largest widths, positions and tables.

/// The largest `d_model` accepted: 2^20.
pub const MAX_D_MODEL: usize = 1 << 20;

/// One past the largest whole position: 2^32.
pub const POSITIONS: u64 = 1 << 32;

/// The most bytes that a table made by this crate may have: 16 GiB. Larger
/// tables can be made piece by piece into the caller's own memory.
pub const MAX_TABLE_BYTES: u64 = 1 << 34;
