//! The inner loops of the rotation: the pairs of one row.
//!
//! Each pair is read, turned and written once. Pairs are taken a step at a time, held by value:
//! nothing has to be found out about slices that might overlap, which for a row of 64 pairs costs
//! more than the work itself.

use crate::kernel::isa::{Isa, STEP, each};
use crate::kernel::number::{Entry, Number, Wide};
use crate::kernel::raw::Room;
use pe_core::PairLayout;
use pulp::bytemuck::cast;

/// Whether vectors are turned or turned back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// By the angle.
    Forward,
    /// By minus the angle: the sine changes its sign.
    Back,
}

impl Direction {
    /// The direction that undoes this one.
    pub(crate) const fn reversed(self) -> Self {
        match self {
            Self::Forward => Self::Back,
            Self::Back => Self::Forward,
        }
    }

    /// What the sine is multiplied by.
    pub(super) fn sign<W: Wide>(self) -> W {
        match self {
            Self::Forward => W::from_f64(1.0),
            Self::Back => W::from_f64(-1.0),
        }
    }
}

/// `(a cos - b sin, a sin + b cos)`: each product and the sum rounded in the wide type, and the
/// result once to the type of the elements, with the sine times `sign`, which is 1 or -1. No
/// operation is fused, so that the bits are the same on every instruction set, and those of
/// Candle's `rope`.
#[inline(always)]
fn turned<T: Number, P: Entry<T::Wide>>(a: T, b: T, cos: P, sin: P, sign: T::Wide) -> (T, T) {
    let (a, b, cos, sin) = (a.widen(), b.widen(), cos.widen(), sin.widen() * sign);
    let minus_sin = sin * T::Wide::from_f64(-1.0);
    (
        T::narrow(a * cos + b * minus_sin),
        T::narrow(a * sin + b * cos),
    )
}

/// [`turned`] for a step of pairs.
#[inline(always)]
fn turned_step<I: Isa, T: Number, P: Entry<T::Wide>>(
    isa: I,
    a: [T; STEP],
    b: [T; STEP],
    cos: [P; STEP],
    sin: [P; STEP],
    sign: T::Wide,
) -> ([T; STEP], [T; STEP]) {
    let (a, b) = (T::load(isa, a), T::load(isa, b));
    let (cos, sin) = (P::load(isa, cos), P::load(isa, sin));
    let minus_one = T::Wide::splat(isa, T::Wide::from_f64(-1.0));
    let sin = product::<I, T>(isa, sin, T::Wide::splat(isa, sign));
    let minus_sin = product::<I, T>(isa, sin, minus_one);
    let y = (
        product::<I, T>(isa, a, cos),
        product::<I, T>(isa, b, minus_sin),
    );
    let z = (product::<I, T>(isa, a, sin), product::<I, T>(isa, b, cos));
    (
        T::store(isa, T::Wide::sum(isa, y.0, y.1)),
        T::store(isa, T::Wide::sum(isa, z.0, z.1)),
    )
}

/// Numbers of the type that `T` is computed in.
type Step<I, T> = <<T as Number>::Wide as Wide>::Step<I>;

#[inline(always)]
fn product<I: Isa, T: Number>(isa: I, a: Step<I, T>, b: Step<I, T>) -> Step<I, T> {
    T::Wide::product(isa, a, b)
}

/// Writes a row whose pairs are turned by the angles whose cosines and sines are given, one for
/// each pair. Elements beyond the pairs are written as they are.
#[inline(always)]
pub(super) fn write_turned<I: Isa, T: Number, P: Entry<T::Wide>>(
    isa: I,
    layout: PairLayout,
    row: &[T],
    (cos, sin): (&[P], &[P]),
    sign: T::Wide,
    room: &mut Room<'_, T>,
) {
    let pairs = cos.len();
    let (row, beyond) = row.split_at(2 * pairs);
    let (cos, sin) = (cos.as_chunks(), sin.as_chunks());
    let (steps, rest) = (cos.0.iter().zip(sin.0), cos.1.iter().zip(sin.1));
    match layout {
        PairLayout::HalfSplit => {
            let (a, b) = row.split_at(pairs);
            let (a, b) = (a.as_chunks(), b.as_chunks());
            room.write_two(
                pairs,
                a.0.iter().zip(b.0).zip(steps).map(
                    #[inline(always)]
                    |((a, b), (cos, sin))| turned_step(isa, *a, *b, *cos, *sin, sign).into(),
                ),
                a.1.iter().zip(b.1).zip(rest).map(
                    #[inline(always)]
                    |((a, b), (cos, sin))| turned(*a, *b, *cos, *sin, sign).into(),
                ),
            );
        }
        PairLayout::Interleaved => {
            let (x, last) = row.as_chunks();
            room.write_blocks(x.iter().zip(steps).map(
                #[inline(always)]
                |(x, (cos, sin))| {
                    let (a, b) = parted(*x);
                    let (y, z) = turned_step(isa, a, b, *cos, *sin, sign);
                    [joined(y, z)]
                },
            ));
            for ([a, b], (cos, sin)) in last.as_chunks().0.iter().zip(rest) {
                room.write(&<[T; 2]>::from(turned(*a, *b, *cos, *sin, sign)));
            }
        }
    }
    room.write(beyond);
}

/// Turns the pairs of a row where they are, as [`write_turned`] does.
#[inline(always)]
pub(super) fn turn<I: Isa, T: Number, P: Entry<T::Wide>>(
    isa: I,
    layout: PairLayout,
    row: &mut [T],
    (cos, sin): (&[P], &[P]),
    sign: T::Wide,
) {
    let pairs = cos.len();
    let (row, _) = row.split_at_mut(2 * pairs);
    let (cos, sin) = (cos.as_chunks(), sin.as_chunks());
    let (steps, rest) = (cos.0.iter().zip(sin.0), cos.1.iter().zip(sin.1));
    match layout {
        PairLayout::HalfSplit => {
            let (a, b) = row.split_at_mut(pairs);
            let (a, b) = (a.as_chunks_mut(), b.as_chunks_mut());
            for ((a, b), (cos, sin)) in a.0.iter_mut().zip(b.0).zip(steps) {
                (*a, *b) = turned_step(isa, *a, *b, *cos, *sin, sign);
            }
            for ((a, b), (cos, sin)) in a.1.iter_mut().zip(b.1).zip(rest) {
                (*a, *b) = turned(*a, *b, *cos, *sin, sign);
            }
        }
        PairLayout::Interleaved => {
            let (x, last) = row.as_chunks_mut();
            for (x, (cos, sin)) in x.iter_mut().zip(steps) {
                let (a, b) = parted(*x);
                let (y, z) = turned_step(isa, a, b, *cos, *sin, sign);
                *x = joined(y, z);
            }
            for ([a, b], (cos, sin)) in last.as_chunks_mut().0.iter_mut().zip(rest) {
                (*a, *b) = turned(*a, *b, *cos, *sin, sign);
            }
        }
    }
}

/// The even and the odd elements.
///
/// Where two elements make a word it is the words that are taken apart, by shifts: every
/// instruction set has those for whole vectors, and few have shuffles of small elements.
#[inline(always)]
fn parted<T: Number>(x: [T; 2 * STEP]) -> ([T; STEP], [T; STEP]) {
    match size_of::<T>() {
        2 if LITTLE_ENDIAN => {
            let words: [u32; STEP] = cast(x);
            let (even, odd) = (
                each(|pair| words[pair] as u16),
                each(|pair| (words[pair] >> 16) as u16),
            );
            (cast(even), cast(odd))
        }
        4 if LITTLE_ENDIAN => {
            let words: [u64; STEP] = cast(x);
            let (even, odd) = (
                each(|pair| words[pair] as u32),
                each(|pair| (words[pair] >> 32) as u32),
            );
            (cast(even), cast(odd))
        }
        _ => (each(|pair| x[2 * pair]), each(|pair| x[2 * pair + 1])),
    }
}

/// The reverse of [`parted`].
#[inline(always)]
fn joined<T: Number>(even: [T; STEP], odd: [T; STEP]) -> [T; 2 * STEP] {
    match size_of::<T>() {
        2 if LITTLE_ENDIAN => {
            let (even, odd): ([u16; STEP], [u16; STEP]) = (cast(even), cast(odd));
            let word = |pair: usize| u32::from(even[pair]) | u32::from(odd[pair]) << 16;
            cast(each(word))
        }
        4 if LITTLE_ENDIAN => {
            let (even, odd): ([u32; STEP], [u32; STEP]) = (cast(even), cast(odd));
            let word = |pair: usize| u64::from(even[pair]) | u64::from(odd[pair]) << 32;
            cast(each(word))
        }
        _ => {
            let mut x = [T::default(); 2 * STEP];
            for (pair, x) in x.as_chunks_mut::<2>().0.iter_mut().enumerate() {
                *x = [even[pair], odd[pair]];
            }
            x
        }
    }
}

const LITTLE_ENDIAN: bool = cfg!(target_endian = "little");
