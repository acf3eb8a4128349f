//! Philox4x32-10, the counter-based random number generator behind [`Dropout`](crate::Dropout).
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: "Parallel Random Numbers:
//! As Easy as 1, 2, 3", SC 2011. A counter-based generator has no state. Every block of random numbers
//! is a function of its counter and the key alone, so any thread or device can compute any part of the
//! sequence, in any order.

pub(crate) const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
pub(crate) const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
pub(crate) const ROUNDS: usize = 10;

/// Computes four random words from a counter and a key: Philox with 4 words of 32 bits and 10 rounds.
///
/// One round maps the counter `(c0, c1, c2, c3)` under the key `(k0, k1)` to
///
/// ```text
/// (hi(M1 c2) ^ c1 ^ k0,  lo(M1 c2),  hi(M0 c0) ^ c3 ^ k1,  lo(M0 c0))
/// M0 = d2511f53, M1 = cd9e8d57
/// ```
///
/// `hi` and `lo` are the halves of the 64-bit product. Between rounds `9e3779b9` is added to `k0` and
/// `bb67ae85` to `k1`, modulo 2^32.
///
/// # Examples
/// ```
/// // The first known-answer vector of the authors' library, Random123.
/// assert_eq!(
///     pe_candle::philox4x32_10([0; 4], [0; 2]),
///     [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8],
/// );
/// ```
#[inline]
pub const fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    let mut round = 0;
    while round < ROUNDS {
        let (high0, low0) = halves(MULTIPLIERS[0], c0);
        let (high1, low1) = halves(MULTIPLIERS[1], c2);
        [c0, c1, c2, c3] = [high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0];
        k0 = k0.wrapping_add(WEYL[0]);
        k1 = k1.wrapping_add(WEYL[1]);
        round += 1;
    }
    [c0, c1, c2, c3]
}

/// Returns the high and the low word of a product.
#[inline]
const fn halves(a: u32, b: u32) -> (u32, u32) {
    let product = a as u64 * b as u64;
    ((product >> 32) as u32, product as u32)
}
