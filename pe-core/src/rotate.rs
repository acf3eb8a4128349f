//! Consecutive rows by rotation: the way most entries are made.
//!
//! The pair (sin, cos) at position `a + b` is the pair at `a` turned by `b`
//! positions. A block of 32 rows needs the pairs at its first row (the *seeds*)
//! and the turns by 0 to 31 positions (the *fine table*, made once per call);
//! each entry then costs two multiplications and an addition. Seeds move from
//! block to block by a rotation in some 80 bits, and are made afresh by the
//! 128-bit path now and then, before their errors can add up.
//!
//! Every entry is checked: its value plus and minus the error bound must round
//! to the same float. The few that do not are made again by the ladder of
//! [`sincos`](crate::sincos), so the bits do not depend on how rows are cut
//! into blocks, nor on the instruction set.

use crate::columns::{Columns, PairSlices};
use crate::frequency::Frequency;
use crate::round::Element;
use crate::sincos::{self, Position, Rungs};
use half::vec::HalfBitsVecExt;
use half::{bf16, f16};
use pulp::{Arch, Simd, WithSimd};
use std::marker::PhantomData;

/// Rows that share their seeds.
const BLOCK: usize = 32;

/// Blocks between two seeds made afresh. With it the bounds below hold.
const BLOCKS_PER_RENEWAL: usize = 64;

/// Bound on the error of one f64 rotation, 2^-50.
///
/// With u = 2^-53: each of the four factors errs by at most u of itself (in all
/// 2u (|sA cB| + |cA sB|) <= 2u), each product by u of itself (together u),
/// the sum by u: 4u = 2^-51, and the seeds' own errors of 2^-68 beside it.
const SINGLE_ERROR: f64 = 1.0 / (1u64 << 50) as f64;

/// Bound on the error of one split rotation, 2^-68.
///
/// The high parts multiply and add exactly. The low sum has six terms of at most
/// 2^-27 and loses less than 2^-77 per rotation; seeds have been rotated up to
/// 63 times, the fine table 31 times, so 96 times 2^-76.5 < 2^-69.9, and less
/// than 2^-93 from the 128-bit path.
const DOUBLE_ERROR: f64 = SINGLE_ERROR / (1u64 << 18) as f64;

/// Sines and cosines of many pairs as sums of two f64: `high` is a multiple of
/// 2^-26, so that products of two of them are exact; `low` is at most 2^-27.
#[derive(Debug, Clone)]
struct Split {
    sin_high: Vec<f64>,
    sin_low: Vec<f64>,
    cos_high: Vec<f64>,
    cos_low: Vec<f64>,
}

impl Split {
    fn with_capacity(len: usize) -> Self {
        let zeros = || vec![0.0; len];
        Self {
            sin_high: zeros(),
            sin_low: zeros(),
            cos_high: zeros(),
            cos_low: zeros(),
        }
    }

    /// The pairs at a position, by the 128-bit path.
    fn renew(&mut self, frequencies: &[Frequency], position: u32) {
        for (pair, frequency) in frequencies.iter().enumerate() {
            let narrow = sincos::narrow(
                frequency.turn.times(position).reduce(),
                u128::from(position) + 1,
            );
            (self.sin_high[pair], self.sin_low[pair]) = split(narrow.sine_negative, narrow.sine);
            (self.cos_high[pair], self.cos_low[pair]) =
                split(narrow.cosine_negative, narrow.cosine);
        }
    }

    /// Turned by `step`, pair by pair.
    #[inline(always)]
    fn advance(&mut self, step: &Self) {
        let pairs = self.sin_high.len();
        let (sh, sl) = (&mut self.sin_high[..pairs], &mut self.sin_low[..pairs]);
        let (ch, cl) = (&mut self.cos_high[..pairs], &mut self.cos_low[..pairs]);
        let (th, tl) = (&step.sin_high[..pairs], &step.sin_low[..pairs]);
        let (uh, ul) = (&step.cos_high[..pairs], &step.cos_low[..pairs]);
        for i in 0..pairs {
            let a = [sh[i], sl[i], ch[i], cl[i]];
            let b = [th[i], tl[i], uh[i], ul[i]];
            let (sine, cosine) = rotate_split(a, b);
            (sh[i], sl[i]) = resplit(sine);
            (ch[i], cl[i]) = resplit(cosine);
        }
    }

    #[inline(always)]
    fn get(&self, pair: usize) -> [f64; 4] {
        [
            self.sin_high[pair],
            self.sin_low[pair],
            self.cos_high[pair],
            self.cos_low[pair],
        ]
    }
}

/// `bits` / 2^128 with a sign as high and low part.
fn split(negative: bool, bits: u128) -> (f64, f64) {
    const UNIT_26: f64 = 1.0 / (1u64 << 26) as f64;
    const UNIT_128: f64 = UNIT_26 * UNIT_26 * UNIT_26 * UNIT_26 / (1u64 << 24) as f64;
    let high = (bits >> 102) + (bits >> 101 & 1);
    // 2^26 units wrap to 0 here, and the subtraction wraps back.
    let low = bits.wrapping_sub(high << 102) as i128;
    let (high, low) = (high as u64 as f64 * UNIT_26, low as f64 * UNIT_128);
    if negative { (-high, -low) } else { (high, low) }
}

/// (sine, cosine), each as an exact multiple of 2^-52 and a small rest.
#[inline(always)]
fn rotate_split(a: [f64; 4], b: [f64; 4]) -> ((f64, f64), (f64, f64)) {
    let [sh, sl, ch, cl] = a;
    let [th, tl, uh, ul] = b;
    let sine = (
        sh * uh + ch * th,
        ((sh * ul + sl * uh) + (ch * tl + cl * th)) + (sl * ul + cl * tl),
    );
    let cosine = (
        ch * uh - sh * th,
        ((ch * ul + cl * uh) - (sh * tl + sl * th)) + (cl * ul - sl * tl),
    );
    (sine, cosine)
}

/// The same sum with a high part that is a multiple of 2^-26 again.
#[inline(always)]
fn resplit((high, low): (f64, f64)) -> (f64, f64) {
    // Adding 1.5 x 2^26 leaves room for 26 bits after the binary point.
    const ROUNDER: f64 = (3u64 << 25) as f64;
    let new_high = ((high + low) + ROUNDER) - ROUNDER;
    (new_high, (high - new_high) + low)
}

/// The types' ways through the fast lane. Public in a private module: the
/// supertrait that seals [`Element`].
#[allow(unreachable_pub)]
pub trait Lane: Sized {
    /// Rows below which the ladder is faster than setting up a rotation.
    const FEW_ROWS: usize;

    /// The number of f64 in a seed or fine entry: sine and cosine, whole or split.
    const PARTS: usize;

    /// The parts in which [`Lane::entry`] takes a pair, from the split ones.
    fn parts(split: [f64; 4]) -> [f64; 4];

    /// The entry pair at `seed` turned by `fine`, and non-zero bits if either
    /// entry is undecided. Only the first `PARTS` numbers count.
    fn entry(seed: [f64; 4], fine: [f64; 4]) -> (Self, Self, u32);

    /// A vector of zeros, fresh from the allocator and not yet touched.
    fn zeros(len: usize) -> Vec<Self>;
}

/// Single f64 products, then a rounding with its check.
macro_rules! single_lane {
    ($type:ty, $settle:expr, $zeros:expr) => {
        impl Lane for $type {
            const FEW_ROWS: usize = 24;
            const PARTS: usize = 2;

            #[inline(always)]
            fn parts([sin_high, sin_low, cos_high, cos_low]: [f64; 4]) -> [f64; 4] {
                [sin_high + sin_low, cos_high + cos_low, 0.0, 0.0]
            }

            #[inline(always)]
            fn entry([sa, ca, ..]: [f64; 4], [sb, cb, ..]: [f64; 4]) -> (Self, Self, u32) {
                let (sine, bad_sine) = $settle(sa * cb + ca * sb);
                let (cosine, bad_cosine) = $settle(ca * cb - sa * sb);
                (sine, cosine, bad_sine | bad_cosine)
            }

            fn zeros(len: usize) -> Vec<Self> {
                $zeros(len)
            }
        }
    };
}

single_lane!(f32, settle_f32, |len| vec![0.0; len]);
single_lane!(f16, settle_f16, |len| vec![0u16; len].reinterpret_into());
single_lane!(bf16, settle_bf16, |len| vec![0u16; len].reinterpret_into());

#[inline(always)]
fn settle_f32(value: f64) -> (f32, u32) {
    let low = (value - SINGLE_ERROR) as f32;
    let high = (value + SINGLE_ERROR) as f32;
    (high, low.to_bits() ^ high.to_bits())
}

/// Rounds through f32: undecided where the f32 lies next to a midpoint, and where
/// it is so small that the error reaches its last bit.
#[inline(always)]
fn settle_bf16(value: f64) -> (bf16, u32) {
    let bits = (value as f32).to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let near_midpoint = bits.wrapping_sub(0x7fff) & 0xffff <= 2;
    let tiny = (bits & 0x7fff_ffff) < SMALLEST_HALF_ROUTE;
    (
        bf16::from_bits(rounded as u16),
        u32::from(near_midpoint | tiny),
    )
}

/// The same for f16; its subnormal numbers are left to the ladder.
#[inline(always)]
fn settle_f16(value: f64) -> (f16, u32) {
    let bits = (value as f32).to_bits();
    let size = bits & 0x7fff_ffff;
    let rounded = size.wrapping_add(0xfff + ((size >> 13) & 1)) >> 13;
    let near_midpoint = bits.wrapping_sub(0xfff) & 0x1fff <= 2;
    let subnormal = size < F16_SMALLEST_NORMAL;
    let pattern = rounded.wrapping_sub(112 << 10) | ((bits >> 16) & 0x8000);
    (
        f16::from_bits(pattern as u16),
        u32::from(near_midpoint | subnormal),
    )
}

#[inline(always)]
fn settle_f64(high: f64, low: f64) -> (f64, u32) {
    let below = high + (low - DOUBLE_ERROR);
    let above = high + (low + DOUBLE_ERROR);
    let differ = below.to_bits() ^ above.to_bits();
    (above, (differ | (differ >> 32)) as u32)
}

/// 2^-24 as f32 bits: from here on half a unit of f32 and 2^-50 together stay
/// below one unit.
const SMALLEST_HALF_ROUTE: u32 = (127 - 24) << 23;
/// 2^-14 as f32 bits.
const F16_SMALLEST_NORMAL: u32 = (127 - 14) << 23;

impl Lane for f64 {
    const FEW_ROWS: usize = 6;
    const PARTS: usize = 4;

    #[inline(always)]
    fn parts(split: [f64; 4]) -> [f64; 4] {
        split
    }

    #[inline(always)]
    fn entry(seed: [f64; 4], fine: [f64; 4]) -> (Self, Self, u32) {
        let ((sh, sl), (ch, cl)) = rotate_split(seed, fine);
        let (sine, bad_sine) = settle_f64(sh, sl);
        let (cosine, bad_cosine) = settle_f64(ch, cl);
        (sine, cosine, bad_sine | bad_cosine)
    }

    fn zeros(len: usize) -> Vec<Self> {
        vec![0.0; len]
    }
}

/// The parts of a row of pairs as slices of equal length; those that the lane
/// does not use repeat the first.
#[inline(always)]
fn slices<T: Lane>(row: &[f64]) -> [&[f64]; 4] {
    let pairs = row.len() / T::PARTS;
    let (first, rest) = row.split_at(pairs);
    let (second, rest) = rest.split_at(pairs);
    if T::PARTS == 2 {
        return [first, second, first, first];
    }
    let (third, fourth) = rest.split_at(pairs);
    [first, second, third, fourth]
}

/// Writes the pairs of `split` part after part.
#[inline(always)]
fn collect<T: Lane>(split: &Split, out: &mut [f64]) {
    let pairs = split.sin_high.len();
    for pair in 0..pairs {
        let parts = T::parts(split.get(pair));
        for part in 0..T::PARTS {
            out[part * pairs + pair] = parts[part];
        }
    }
}

/// Writes the whole pairs of the rows `start ..` into `out`, row after row of
/// `columns.width` entries. The odd column, if any, is left alone.
pub(crate) fn fill<T: Element>(
    arch: Arch,
    frequencies: &[Frequency],
    columns: &Columns,
    start: u32,
    out: &mut [T],
) {
    let pairs = columns.whole_pairs();
    let frequencies = &frequencies[..pairs];
    let rows = out.len() / columns.width;

    let mut one = Split::with_capacity(pairs);
    one.renew(frequencies, 1);
    let mut block_step = Split::with_capacity(pairs);
    block_step.renew(frequencies, BLOCK as u32);
    let numbers = T::PARTS * pairs;
    let mut fine = vec![0.0; rows.min(BLOCK) * numbers];
    let mut seeds = Split::with_capacity(pairs);
    seeds.renew(frequencies, 0);
    arch.dispatch(FineTable::<T> {
        angle: &mut seeds,
        step: &one,
        out: &mut fine,
        lane: PhantomData,
    });

    let mut seed_row = vec![0.0; numbers];
    for (index, block) in out.chunks_mut(BLOCK * columns.width).enumerate() {
        let first = start + (index * BLOCK) as u32;
        if index.is_multiple_of(BLOCKS_PER_RENEWAL) {
            seeds.renew(frequencies, first);
        } else {
            arch.dispatch(Advance {
                angle: &mut seeds,
                step: &block_step,
            });
        }
        collect::<T>(&seeds, &mut seed_row);
        let undecided = arch.dispatch(Block {
            seeds: &seed_row,
            fine: &fine,
            columns,
            out: &mut *block,
        });
        for (at, row) in block.chunks_exact_mut(columns.width).enumerate() {
            if undecided & 1 << at != 0 {
                let fine = &fine[at * numbers..][..numbers];
                settle_row(
                    frequencies,
                    columns,
                    first + at as u32,
                    &seed_row,
                    fine,
                    row,
                );
            }
        }
    }
}

// What runs on the instruction set chosen: structures rather than closures,
// because only their inlining is certain, and code that is not inlined
// is compiled for the plain instruction set.

/// Fills the fine table: the turns by 0, 1, 2 ... positions.
struct FineTable<'a, T> {
    angle: &'a mut Split,
    step: &'a Split,
    out: &'a mut [f64],
    lane: PhantomData<T>,
}

impl<T: Element> WithSimd for FineTable<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let numbers = T::PARTS * self.angle.sin_high.len();
        for row in self.out.chunks_exact_mut(numbers) {
            collect::<T>(self.angle, row);
            self.angle.advance(self.step);
        }
    }
}

/// Moves the seeds to the next block.
struct Advance<'a> {
    angle: &'a mut Split,
    step: &'a Split,
}

impl WithSimd for Advance<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.angle.advance(self.step);
    }
}

/// Writes the rows of one block; bit n of the result says that row n has an
/// undecided entry.
struct Block<'a, T> {
    seeds: &'a [f64],
    fine: &'a [f64],
    columns: &'a Columns,
    out: &'a mut [T],
}

impl<T: Element> WithSimd for Block<'_, T> {
    type Output = u32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> u32 {
        let mut undecided = 0;
        let rows = self.out.chunks_exact_mut(self.columns.width);
        let fine = self.fine.chunks_exact(self.seeds.len());
        for ((at, row), fine) in rows.enumerate().zip(fine) {
            let bad = match self.columns.split(row) {
                PairSlices::Interleaved(out) => interleaved(self.seeds, fine, out),
                PairSlices::Halves { sines, cosines } => halves(self.seeds, fine, sines, cosines),
            };
            undecided |= u32::from(bad) << at;
        }
        undecided
    }
}

#[inline(always)]
fn interleaved<T: Element>(seeds: &[f64], fine: &[f64], out: &mut [T]) -> bool {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (slices::<T>(seeds), slices::<T>(fine));
    let mut undecided = 0;
    // Zipped slices: the loop has one counter and no bounds to check.
    let seeds = a0.iter().zip(a1).zip(a2).zip(a3);
    let fine = b0.iter().zip(b1).zip(b2).zip(b3);
    for ((out, (((a0, a1), a2), a3)), (((b0, b1), b2), b3)) in
        out.chunks_exact_mut(2).zip(seeds).zip(fine)
    {
        let (sine, cosine, bad) = T::entry([*a0, *a1, *a2, *a3], [*b0, *b1, *b2, *b3]);
        out[0] = sine;
        out[1] = cosine;
        undecided |= bad;
    }
    undecided != 0
}

#[inline(always)]
fn halves<T: Element>(seeds: &[f64], fine: &[f64], sines: &mut [T], cosines: &mut [T]) -> bool {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (slices::<T>(seeds), slices::<T>(fine));
    let mut undecided = 0;
    let seeds = a0.iter().zip(a1).zip(a2).zip(a3);
    let fine = b0.iter().zip(b1).zip(b2).zip(b3);
    for (((s, c), (((a0, a1), a2), a3)), (((b0, b1), b2), b3)) in
        sines.iter_mut().zip(cosines).zip(seeds).zip(fine)
    {
        let (sine, cosine, bad) = T::entry([*a0, *a1, *a2, *a3], [*b0, *b1, *b2, *b3]);
        *s = sine;
        *c = cosine;
        undecided |= bad;
    }
    undecided != 0
}

/// Finds the undecided entries of a row and makes them by the ladder.
#[cold]
fn settle_row<T: Element>(
    frequencies: &[Frequency],
    columns: &Columns,
    position: u32,
    seeds: &[f64],
    fine: &[f64],
    row: &mut [T],
) {
    for (pair, frequency) in frequencies.iter().enumerate() {
        let at = |parts: [&[f64]; 4]| parts.map(|part| part[pair]);
        let (_, _, bad) = T::entry(at(slices::<T>(seeds)), at(slices::<T>(fine)));
        if bad != 0 {
            let (sine, cosine) =
                sincos::sin_cos(frequency, Position::Whole(position), Rungs::NarrowUp);
            let (s, c) = columns.of_pair(pair);
            row[s] = sine;
            row[c] = cosine;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frequency::{self, Base, Spacing};

    const PAIRS: usize = 24;

    fn frequencies() -> Vec<Frequency> {
        frequency::geometric(Base::Value(10000.0), Spacing::Paper, 2 * PAIRS, PAIRS).unwrap()
    }

    /// Distance of high + low from the 128-bit value, for sine and cosine.
    fn worst_gap(split: &Split, frequencies: &[Frequency], position: u32) -> f64 {
        let mut exact = Split::with_capacity(PAIRS);
        exact.renew(frequencies, position);
        (0..PAIRS)
            .map(|i| {
                let sine =
                    (split.sin_high[i] - exact.sin_high[i]) + (split.sin_low[i] - exact.sin_low[i]);
                let cosine =
                    (split.cos_high[i] - exact.cos_high[i]) + (split.cos_low[i] - exact.cos_low[i]);
                sine.abs().max(cosine.abs())
            })
            .fold(0.0, f64::max)
    }

    /// Seeds as `fill` moves them, up to the last block before a renewal.
    #[test]
    fn rotated_seeds_stay_within_the_double_bound() {
        let frequencies = frequencies();
        let mut step = Split::with_capacity(PAIRS);
        step.renew(&frequencies, BLOCK as u32);
        let mut seeds = Split::with_capacity(PAIRS);
        seeds.renew(&frequencies, 1_000_003);
        let mut worst = 0f64;
        for block in 1..BLOCKS_PER_RENEWAL as u32 {
            seeds.advance(&step);
            worst = worst.max(worst_gap(&seeds, &frequencies, 1_000_003 + 32 * block));
        }
        assert!(worst < DOUBLE_ERROR / 4.0, "{worst:e}");
        assert!(
            worst > DOUBLE_ERROR / 4096.0,
            "the bound is idle: {worst:e}"
        );
    }

    #[test]
    fn one_rotation_stays_within_the_single_bound() {
        let frequencies = frequencies();
        let mut seeds = Split::with_capacity(PAIRS);
        let mut fine = Split::with_capacity(PAIRS);
        let mut exact = Split::with_capacity(PAIRS);
        let mut worst = 0f64;
        for start in (0..2_000_000_000).step_by(99_999_989) {
            seeds.renew(&frequencies, start);
            for ahead in 0..32 {
                fine.renew(&frequencies, ahead);
                exact.renew(&frequencies, start + ahead);
                for i in 0..PAIRS {
                    let of = |split: &Split| <f32 as Lane>::parts(split.get(i));
                    let ([sa, ca, ..], [sb, cb, ..]) = (of(&seeds), of(&fine));
                    let sine = sa * cb + ca * sb;
                    let cosine = ca * cb - sa * sb;
                    worst = worst
                        .max(((sine - exact.sin_high[i]) - exact.sin_low[i]).abs())
                        .max(((cosine - exact.cos_high[i]) - exact.cos_low[i]).abs());
                }
            }
        }
        assert!(worst < SINGLE_ERROR / 2.0, "{worst:e}");
        assert!(worst > SINGLE_ERROR / 32.0, "the bound is idle: {worst:e}");
    }

    #[test]
    fn splitting_loses_nothing() {
        for bits in [
            0,
            1,
            1 << 101,
            (1 << 101) - 1,
            1 << 127,
            u128::MAX,
            0x1234_5678_9abc_def0_1122_3344_5566_7788,
        ] {
            let (high, low) = split(false, bits);
            let unit = 1.0 / (1u64 << 26) as f64;
            assert_eq!(high % unit, 0.0);
            assert!(low.abs() <= unit / 2.0);
            // The high part back in units of 2^-128, which is 2^26 units of 2^-26 wide.
            let back = ((high / unit) as u128).wrapping_shl(102);
            let rest = bits.wrapping_sub(if high >= 1.0 { 0 } else { back }) as i128;
            let expected = rest as f64 / (1u128 << 127) as f64 / 2.0;
            assert!(
                (low - expected).abs() <= expected.abs() * f64::EPSILON,
                "{bits:x}"
            );
            assert_eq!(split(true, bits), (-high, -low));
        }
    }

    /// Rounding through f32, with a check, equals rounding once.
    #[test]
    fn half_types_settle_as_one_rounding_would() {
        let mut settled = (0, 0);
        let mut bits = 12345u64;
        for _ in 0..500_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Magnitudes from 2^-30 to 1, often with long runs of zeros or ones, where
            // midpoints are.
            let exponent = 1023 - 30 + bits % 30;
            let mantissa = (bits >> 12) & !0u64.wrapping_shl((bits % 13) as u32 * 4);
            let mantissa = if bits & 1 << 40 == 0 {
                mantissa
            } else {
                (bits >> 12) << (bits % 52)
            };
            let value = f64::from_bits(exponent << 52 | mantissa & ((1 << 52) - 1));
            for value in [value, -value] {
                let all_alike = |f: &dyn Fn(f64) -> u64| {
                    f(value - SINGLE_ERROR) == f(value) && f(value + SINGLE_ERROR) == f(value)
                };
                let (found, bad) = settle_bf16(value);
                if bad == 0 {
                    settled.0 += 1;
                    assert!(
                        all_alike(&|x| <bf16 as Element>::from_f64(x).pattern()),
                        "{value:e}"
                    );
                    assert_eq!(found, <bf16 as Element>::from_f64(value), "{value:e}");
                }
                let (found, bad) = settle_f16(value);
                if bad == 0 {
                    settled.1 += 1;
                    assert_eq!(found, <f16 as Element>::from_f64(value), "{value:e}");
                    assert!(
                        all_alike(&|x| <f16 as Element>::from_f64(x).pattern()),
                        "{value:e}"
                    );
                }
                let (found, bad) = settle_f32(value);
                if bad == 0 {
                    assert_eq!(found, value as f32, "{value:e}");
                }
            }
        }
        assert!(settled.0 > 300_000 && settled.1 > 200_000, "{settled:?}");
    }
}
