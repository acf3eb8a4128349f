//! The inner loops of the rotation: the pairs of one row.
//!
//! Each pair is read, rotated and written once. Pairs are handled in chunks, held by value: nothing has to be found out
//! about slices that might overlap, which for a row of 64 pairs costs more than the work itself.

use crate::kernel::element::{Activation, Chunk, Compute, Entry};
use crate::kernel::isa::{CHUNK, Isa, Ops, each};
use crate::kernel::raw::Stream;
use pe_core::PairLayout;
use pulp::bytemuck::cast;

/// Whether vectors are rotated or rotated back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Rotates by the angle.
    Forward,
    /// Rotates by minus the angle: the sine changes its sign.
    Back,
}

impl Direction {
    /// Returns the direction that undoes this one.
    pub(crate) const fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Back,
            Self::Back => Self::Forward,
        }
    }

    /// Returns the factor of the sine.
    pub(super) fn sign<C: Compute>(self) -> C {
        match self {
            Self::Forward => C::from_f64(1.0),
            Self::Back => C::from_f64(-1.0),
        }
    }
}

/// Rotates one pair by an angle: `(a cos - b sin, a sin + b cos)`, with the sine times `sign`, which is 1 or -1.
///
/// Each product and the sum are rounded in the type that is computed in, and the result once to the type of the elements.
/// No operation is fused, so that the bits are the same on every instruction set, and those of Candle's `rope`.
#[inline(always)]
fn rotate_pair<T, P>(a: T, b: T, cos: P, sin: P, sign: T::Compute) -> [T; 2]
where
    T: Activation,
    P: Entry<T::Compute>,
{
    let (a, b, cos, sin) = (a.widen(), b.widen(), cos.widen(), sin.widen() * sign);
    let minus_sin = sin * T::Compute::from_f64(-1.0);
    [
        T::round(a * cos + b * minus_sin),
        T::round(a * sin + b * cos),
    ]
}

/// Does what [`rotate_pair`] does for a chunk of pairs.
#[inline(always)]
fn rotate_chunk<I: Isa, T: Activation, P: Entry<T::Compute>>(
    isa: I,
    [a, b]: [[T; CHUNK]; 2],
    (cos, sin): (&[P; CHUNK], &[P; CHUNK]),
    sign: Chunk<I, T>,
    minus_one: Chunk<I, T>,
) -> [[T; CHUNK]; 2] {
    let ops = T::Compute::ops(isa);
    let (a, b) = (T::load(isa, a), T::load(isa, b));
    let (cos, sin) = (P::load(isa, *cos), ops.mul(P::load(isa, *sin), sign));
    let minus_sin = ops.mul(sin, minus_one);
    [
        T::store(isa, ops.add(ops.mul(a, cos), ops.mul(b, minus_sin))),
        T::store(isa, ops.add(ops.mul(a, sin), ops.mul(b, cos))),
    ]
}

/// Rotates the pairs of the row that a stream has selected, by the angles with these cosines and sines, one for each
/// pair. Elements beyond the pairs are unchanged.
#[inline(always)]
pub(super) fn rotate_row<I: Isa, T: Activation, P: Entry<T::Compute>>(
    isa: I,
    layout: PairLayout,
    row: &mut Stream<'_, T>,
    (cos, sin): (&[P], &[P]),
    sign: T::Compute,
) {
    let ops = T::Compute::ops(isa);
    let (signs, minus_one) = (ops.splat(sign), ops.splat(T::Compute::from_f64(-1.0)));
    let pairs = cos.len();
    let (cos, sin) = (cos.as_chunks(), sin.as_chunks());
    let (chunks, others) = (cos.0.iter().zip(sin.0), cos.1.iter().zip(sin.1));
    match layout {
        PairLayout::HalfSplit => row.replace_pairs(
            pairs,
            chunks,
            others,
            #[inline(always)]
            |a, b, angles| rotate_chunk(isa, [a, b], angles, signs, minus_one),
            #[inline(always)]
            |a, b, (cos, sin)| rotate_pair(a, b, *cos, *sin, sign),
        ),
        PairLayout::Interleaved => {
            row.replace(
                chunks,
                #[inline(always)]
                |x, angles| joined(rotate_chunk(isa, parted(x), angles, signs, minus_one)),
            );
            row.replace(
                others,
                #[inline(always)]
                |[a, b], (cos, sin)| rotate_pair(a, b, *cos, *sin, sign),
            );
        }
    }
    row.keep();
}

/// Returns the even and the odd elements.
///
/// If two elements form a word, shifts split the words: every
/// instruction set has those for whole vectors, and few have shuffles of small elements.
#[inline(always)]
fn parted<T: Activation>(x: [T; 2 * CHUNK]) -> [[T; CHUNK]; 2] {
    match size_of::<T>() {
        2 if LITTLE_ENDIAN => {
            let words: [u32; CHUNK] = cast(x);
            let (even, odd) = (
                each(|pair| words[pair] as u16),
                each(|pair| (words[pair] >> 16) as u16),
            );
            [cast(even), cast(odd)]
        }
        4 if LITTLE_ENDIAN => {
            let words: [u64; CHUNK] = cast(x);
            let (even, odd) = (
                each(|pair| words[pair] as u32),
                each(|pair| (words[pair] >> 32) as u32),
            );
            [cast(even), cast(odd)]
        }
        _ => [each(|pair| x[2 * pair]), each(|pair| x[2 * pair + 1])],
    }
}

/// Does the reverse of [`parted`].
#[inline(always)]
fn joined<T: Activation>([even, odd]: [[T; CHUNK]; 2]) -> [T; 2 * CHUNK] {
    match size_of::<T>() {
        2 if LITTLE_ENDIAN => {
            let [even, odd]: [[u16; CHUNK]; 2] = [cast(even), cast(odd)];
            let word = |pair: usize| u32::from(even[pair]) | u32::from(odd[pair]) << 16;
            cast(each(word))
        }
        4 if LITTLE_ENDIAN => {
            let [even, odd]: [[u32; CHUNK]; 2] = [cast(even), cast(odd)];
            let word = |pair: usize| u64::from(even[pair]) | u64::from(odd[pair]) << 32;
            cast(each(word))
        }
        _ => {
            let mut x = [T::default(); 2 * CHUNK];
            for (pair, x) in x.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                *x = [even[pair], odd[pair]];
            }
            x
        }
    }
}

const LITTLE_ENDIAN: bool = cfg!(target_endian = "little");
