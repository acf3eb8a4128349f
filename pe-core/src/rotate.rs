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

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};

use crate::columns::{Columns, PairSlices};
use crate::frequency::Frequency;
use crate::lane::{Lane, RUN, settle_f64};
use crate::round::Element;
use crate::sincos::{self, Position, Rungs};

/// Rows that share their seeds.
pub(crate) const BLOCK: usize = 32;

/// Blocks between two seeds made afresh.
///
/// The high parts of split numbers multiply and add exactly. The low sum has six
/// terms of at most 2^-27 and loses less than 2^-76.5 per rotation. In f64 tables
/// seeds have been rotated up to 63 times and the fine table 31 times: below
/// 96 x 2^-76.5 < 2^-69.9, and less than 2^-93 from the 128-bit path, within
/// [`DOUBLE_ERROR`](crate::lane::DOUBLE_ERROR). For the other types 4,096 rotations
/// are below 2^-64, nothing beside [`SINGLE_ERROR`](crate::lane::SINGLE_ERROR).
const fn blocks_per_renewal<T: Lane>() -> usize {
    if T::SINGLE { 4096 } else { 64 }
}

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

    #[cfg(test)]
    fn get(&self, pair: usize) -> [f64; 4] {
        [
            self.sin_high[pair],
            self.sin_low[pair],
            self.cos_high[pair],
            self.cos_low[pair],
        ]
    }

    /// The pairs at a position, by the 128-bit path.
    fn renew(&mut self, frequencies: &[Frequency], position: u32) {
        if position == 0 {
            self.cos_high.fill(1.0);
            self.cos_low.fill(0.0);
            self.sin_high.fill(0.0);
            self.sin_low.fill(0.0);
            return;
        }
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

/// Rows below which single rows are faster than setting up a rotation, as measured
/// at widths 64 to 4096.
pub(crate) const fn few_rows<T: Lane>() -> usize {
    if T::SINGLE { 240 } else { 6 }
}

/// The f64 numbers that seeds and fine entries have in a table of `T`: sine and
/// cosine, or both in two parts.
const fn parts<T: Lane>() -> usize {
    if T::SINGLE { 2 } else { 4 }
}

/// Writes the pairs of `split` part after part.
#[inline(always)]
fn collect<T: Lane>(split: &Split, out: &mut [f64]) {
    let pairs = split.sin_high.len();
    let (first, rest) = out.split_at_mut(pairs);
    if T::SINGLE {
        for (pair, (sine, cosine)) in first.iter_mut().zip(rest).enumerate() {
            *sine = split.sin_high[pair] + split.sin_low[pair];
            *cosine = split.cos_high[pair] + split.cos_low[pair];
        }
    } else {
        first.copy_from_slice(&split.sin_high);
        rest[..pairs].copy_from_slice(&split.sin_low);
        rest[pairs..2 * pairs].copy_from_slice(&split.cos_high);
        rest[2 * pairs..].copy_from_slice(&split.cos_low);
    }
}

/// Consecutive rows from some position on, block after block.
pub(crate) struct Rotation<'a, T> {
    arch: Arch,
    frequencies: &'a [Frequency],
    columns: &'a Columns,
    /// The first position of the next block.
    position: u64,
    /// Blocks since the seeds were made afresh.
    age: usize,
    seeds: Split,
    block_step: Split,
    /// The seeds, and the turns by 0, 1, 2 ... positions, as the lane takes them.
    seed_row: Vec<f64>,
    fine: Vec<f64>,
    lane: PhantomData<T>,
}

impl<'a, T: Element> Rotation<'a, T> {
    /// Makes the fine table for `rows` rows from `start` on.
    pub(crate) fn new(
        arch: Arch,
        frequencies: &'a [Frequency],
        columns: &'a Columns,
        start: u32,
        rows: usize,
    ) -> Self {
        let pairs = columns.whole_pairs();
        let frequencies = &frequencies[..pairs];
        let mut one = Split::with_capacity(pairs);
        one.renew(frequencies, 1);
        let mut block_step = Split::with_capacity(pairs);
        block_step.renew(frequencies, BLOCK as u32);
        let numbers = parts::<T>() * pairs;
        let mut fine = vec![0.0; rows.min(BLOCK) * numbers];
        let mut seeds = Split::with_capacity(pairs);
        seeds.renew(frequencies, 0);
        arch.dispatch(FineTable::<T> {
            angle: &mut seeds,
            step: &one,
            out: &mut fine,
            lane: PhantomData,
        });
        Self {
            arch,
            frequencies,
            columns,
            position: u64::from(start),
            age: 0,
            seeds,
            block_step,
            seed_row: vec![0.0; numbers],
            fine,
            lane: PhantomData,
        }
    }

    /// Writes the whole pairs of the next [`BLOCK`] rows, or of fewer for the last
    /// block. The odd column, if any, is left alone.
    pub(crate) fn write(&mut self, block: &mut [T]) {
        let first = self.position as u32;
        if self.age.is_multiple_of(blocks_per_renewal::<T>()) {
            self.seeds.renew(self.frequencies, first);
        } else {
            self.arch.dispatch(Advance {
                angle: &mut self.seeds,
                step: &self.block_step,
            });
        }
        self.age += 1;
        self.position += BLOCK as u64;
        collect::<T>(&self.seeds, &mut self.seed_row);
        let unsettled = self.arch.dispatch(Block {
            seeds: &self.seed_row,
            fine: &self.fine,
            columns: self.columns,
            out: &mut *block,
        });
        if unsettled == 0 {
            return;
        }
        let rows = block.chunks_exact_mut(self.columns.width);
        let fine = self.fine.chunks_exact(self.seed_row.len());
        for ((at, row), fine) in rows.enumerate().zip(fine) {
            if unsettled & 1 << at != 0 {
                let position = first + at as u32;
                settle_row(
                    self.frequencies,
                    self.columns,
                    position,
                    &self.seed_row,
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
        let numbers = parts::<T>() * self.angle.sin_high.len();
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
/// unsettled entry.
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
        let mut unsettled = 0;
        let rows = self.out.chunks_exact_mut(self.columns.width);
        let fine = self.fine.chunks_exact(self.seeds.len());
        for ((at, row), fine) in rows.enumerate().zip(fine) {
            let bad = T::rotate(self.seeds, fine, self.columns.split(row));
            unsettled |= u32::from(bad) << at;
        }
        unsettled
    }
}

/// One row of a type that single f64 values settle.
///
/// With u = 2^-53: each of the four factors errs by at most u of itself (in all
/// 2u (|sA cB| + |cA sB|) <= 2u), each product by u of itself (together u), the
/// sum by u: 4u = 2^-51, and the seeds' own errors of 2^-68 beside it.
#[inline(always)]
pub(crate) fn single<T: Lane>(seeds: &[f64], fine: &[f64], mut out: PairSlices<'_, T>) -> bool {
    let pairs = seeds.len() / 2;
    let ((sa, ca), (sb, cb)) = (seeds.split_at(pairs), fine.split_at(pairs));
    let mut unsettled = 0;
    for (((sa, ca), sb), cb) in sa
        .chunks(RUN)
        .zip(ca.chunks(RUN))
        .zip(sb.chunks(RUN))
        .zip(cb.chunks(RUN))
    {
        let (run, rest) = out.split_at(sa.len());
        out = rest;
        let pairs = sa.iter().zip(ca).zip(sb).zip(cb).map(
            #[inline(always)]
            |(((sa, ca), sb), cb)| (sa * cb + ca * sb, ca * cb - sa * sb),
        );
        unsettled |= T::write(pairs, run);
    }
    unsettled != 0
}

/// One row of f64 in split parts.
#[inline(always)]
pub(crate) fn double(seeds: &[f64], fine: &[f64], out: PairSlices<'_, f64>) -> bool {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (quarters(seeds), quarters(fine));
    let seeds = a0.iter().zip(a1).zip(a2).zip(a3);
    let fine = b0.iter().zip(b1).zip(b2).zip(b3);
    let mut unsettled = 0;
    match out {
        PairSlices::Interleaved(out) => {
            for ((out, (((a0, a1), a2), a3)), (((b0, b1), b2), b3)) in
                out.chunks_exact_mut(2).zip(seeds).zip(fine)
            {
                let (s, c, bad) = double_entry([*a0, *a1, *a2, *a3], [*b0, *b1, *b2, *b3]);
                out[0] = s;
                out[1] = c;
                unsettled |= bad;
            }
        }
        PairSlices::Halves { sines, cosines } => {
            for (((sine, cosine), (((a0, a1), a2), a3)), (((b0, b1), b2), b3)) in
                sines.iter_mut().zip(cosines).zip(seeds).zip(fine)
            {
                let (s, c, bad) = double_entry([*a0, *a1, *a2, *a3], [*b0, *b1, *b2, *b3]);
                *sine = s;
                *cosine = c;
                unsettled |= bad;
            }
        }
    }
    unsettled != 0
}

#[inline(always)]
fn double_entry(seed: [f64; 4], fine: [f64; 4]) -> (f64, f64, u32) {
    let ((sh, sl), (ch, cl)) = rotate_split(seed, fine);
    let (sine, bad_sine) = settle_f64(sh, sl);
    let (cosine, bad_cosine) = settle_f64(ch, cl);
    (sine, cosine, bad_sine | bad_cosine)
}

#[inline(always)]
fn quarters(row: &[f64]) -> [&[f64]; 4] {
    let (front, back) = row.split_at(row.len() / 2);
    let ((a, b), (c, d)) = (
        front.split_at(front.len() / 2),
        back.split_at(back.len() / 2),
    );
    [a, b, c, d]
}

/// Finds the unsettled entries of a row and makes them by the ladder.
#[cold]
fn settle_row<T: Element>(
    frequencies: &[Frequency],
    columns: &Columns,
    position: u32,
    seeds: &[f64],
    fine: &[f64],
    row: &mut [T],
) {
    let pairs = frequencies.len();
    for (pair, frequency) in frequencies.iter().enumerate() {
        let part = |row: &[f64], n: usize| row[n * pairs + pair];
        let unsettled = if T::SINGLE {
            let (sa, ca) = (part(seeds, 0), part(seeds, 1));
            let (sb, cb) = (part(fine, 0), part(fine, 1));
            T::check(sa * cb + ca * sb) | T::check(ca * cb - sa * sb)
        } else {
            let all = |row| [part(row, 0), part(row, 1), part(row, 2), part(row, 3)];
            double_entry(all(seeds), all(fine)).2
        };
        if unsettled != 0 {
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
    use crate::lane::{DOUBLE_ERROR, SINGLE_ERROR};

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

    /// Seeds as `Rotation` moves them, up to the last block before a renewal.
    #[test]
    fn rotated_seeds_stay_within_the_double_bound() {
        let frequencies = frequencies();
        let mut step = Split::with_capacity(PAIRS);
        step.renew(&frequencies, BLOCK as u32);
        let mut seeds = Split::with_capacity(PAIRS);
        seeds.renew(&frequencies, 1_000_003);
        let mut worst = 0f64;
        for block in 1..blocks_per_renewal::<f64>() as u32 {
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
                    let of = |split: &Split| {
                        let [sh, sl, ch, cl] = split.get(i);
                        (sh + sl, ch + cl)
                    };
                    let ((sa, ca), (sb, cb)) = (of(&seeds), of(&fine));
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
}
