//! Positions as binary numbers: the discrete ancestor of the sinusoids.
//!
//! The lowest bit flips at every position, the next at every second, and so on, which gives
//! wavelengths of 2, 4, 8 ... The sinusoidal encoding is the smooth form.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

/// Returns the 64 bits of a position, least significant first, each 0 or 1.
///
/// ```
/// let bits = pe_core::binary_encoding(6);
/// assert_eq!(bits[..4], [0, 1, 1, 0]);
/// ```
pub fn binary_encoding(position: u64) -> [u8; 64] {
    std::array::from_fn(|bit| u8::from(position >> bit & 1 == 1))
}
