//! Weight permutation between the two pair layouts.
//!
//! A model trained with interleaved pairs computes the same attention with half-split pairs if the
//! rows of its query and key projections (and their biases) are permuted within each head, and vice
//! versa. The columns of a head beyond `rotary_dim` stay in place.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::error::{Error, Result};
use crate::spec::pair_layout::PairLayout;

/// Returns, for each column of a head in the layout `to`, its column in the layout `from`.
///
/// ```
/// use pe_core::{PairLayout, permutation};
///
/// let order = permutation(PairLayout::Interleaved, PairLayout::HalfSplit, 4, 6)?;
/// assert_eq!(order, [0, 2, 1, 3, 4, 5]);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if `rotary_dim` is odd or exceeds `head_dim`, or if memory for `head_dim`
/// entries cannot be allocated.
pub fn permutation(
    from: PairLayout,
    to: PairLayout,
    rotary_dim: usize,
    head_dim: usize,
) -> Result<Vec<usize>> {
    if !rotary_dim.is_multiple_of(2) {
        return Err(Error::RotaryDim { rotary_dim });
    }
    if rotary_dim > head_dim {
        return Err(Error::RotaryWidth {
            rotary_dim,
            head_dim,
        });
    }
    let pairs = rotary_dim / 2;
    let mut order = Vec::new();
    if order.try_reserve_exact(head_dim).is_err() {
        let bytes = (head_dim as u64).saturating_mul(size_of::<usize>() as u64);
        return Err(Error::OutOfMemory { bytes });
    }
    order.extend(0..head_dim);
    for pair in 0..pairs {
        let (a, b) = from.columns(pair, pairs);
        let (c, d) = to.columns(pair, pairs);
        for (place, column) in [(c, a), (d, b)] {
            if let Some(place) = order.get_mut(place) {
                *place = column;
            }
        }
    }
    Ok(order)
}

/// Permutes the rows of a projection `[heads x head_dim, width]` from one layout to the other. A
/// bias `[heads x head_dim]` has width 1.
///
/// ```
/// use pe_core::{PairLayout, permute_rows};
///
/// // Two heads of 4 columns, a bias.
/// let bias = [0, 1, 2, 3, 10, 11, 12, 13];
/// let (from, to) = (PairLayout::Interleaved, PairLayout::HalfSplit);
/// let permuted = permute_rows(&bias, from, to, 4, 4, 1)?;
/// assert_eq!(permuted, [0, 2, 1, 3, 10, 12, 11, 13]);
/// assert_eq!(permute_rows(&permuted, to, from, 4, 4, 1)?, bias);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if the length of `weights` is not a multiple of `head_dim x width`. Also
/// returns the errors of [`permutation`].
pub fn permute_rows<T: Copy>(
    weights: &[T],
    from: PairLayout,
    to: PairLayout,
    rotary_dim: usize,
    head_dim: usize,
    width: usize,
) -> Result<Vec<T>> {
    let order = permutation(from, to, rotary_dim, head_dim)?;
    let head = head_dim.checked_mul(width).filter(|head| *head > 0);
    let Some(head) = head.filter(|head| weights.len().is_multiple_of(*head)) else {
        return Err(Error::Length {
            name: "weights",
            len: weights.len(),
            expected: (head_dim as u64).saturating_mul(width as u64),
        });
    };
    let mut out = Vec::with_capacity(weights.len());
    for block in weights.chunks_exact(head) {
        for row in &order {
            out.extend(block.chunks_exact(width).nth(*row).into_iter().flatten());
        }
    }
    Ok(out)
}
