//! Limits on widths, positions, and tables.

/// Largest `d_model` accepted: 2^20.
pub const MAX_D_MODEL: usize = 1 << 20;

/// One past the largest integer position: 2^32.
pub const POSITIONS: u64 = 1 << 32;

/// Largest size of a table in bytes: 16 GiB. Larger tables can be written block by block into
/// caller-supplied memory.
pub const MAX_TABLE_BYTES: u64 = 1 << 34;

/// Most tokens of images and videos in one call: 2^28.
pub(crate) const MAX_TOKENS: u64 = 1 << 28;

/// Most positions along one side of a grid: 65,536.
pub const MAX_GRID_SIDE: usize = 1 << 16;

/// Most rows, or source rows with their weights, of resized grids in one call: 2^28.
pub(crate) const MAX_TAPS: u64 = 1 << 28;

/// Largest term of a scale factor: 2^24.
pub(crate) const MAX_TERM: u64 = 1 << 24;
