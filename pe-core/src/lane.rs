//! The f64 rung in bulk: sines and cosines of many pairs, rounded and checked.
//!
//! A value known to within [`SINGLE_ERROR`] is *settled* if everything within the
//! bound rounds to the same float. Lanes write the rounded values and report
//! whether any was not settled; the caller has those made again by the ladder.
//! Half types are rounded through f32: first a run of pairs to f32, then that run
//! as a whole to the half type, each in full registers.

use half::vec::HalfBitsVecExt;
use half::{bf16, f16};

use pulp::Simd;

use crate::columns::{PairSlices, TwinSlices};
use crate::precise::PRECISE_ERROR;
use crate::rotate::Turned;
use crate::round::Element;
use crate::split::{Angle, turned_both_ways};

/// Bound on the error of single f64 values: 2^-50.
///
/// With u = 2^-53, an entry made by rotation: each of the four factors errs by u of
/// itself, each product by another u of itself, together 3u (|sA cB| + |cA sB|) <= 3u; adding
/// the bound to one product, adding the other, and subtracting the bound twice
/// err by u each: 6u < 2^-50.4 (less with fused operations), and the seeds' own errors of 2^-62 beside it.
/// For single rows see [`direct`](crate::direct).
pub(crate) const SINGLE_ERROR: f64 = 1.0 / (1u64 << 50) as f64;

/// Bound on the error of the two-part values handed to [`settle_f64`]: 2^-68.
pub(crate) const DOUBLE_ERROR: f64 = SINGLE_ERROR / (1u64 << 18) as f64;

/// Bound on the error of single rows of f64: twice that of [`precise`](crate::precise), since adding
/// the bound rounds too.
const ROW_ERROR: f64 = 2.0 * PRECISE_ERROR;

/// Pairs written in one run.
pub(crate) const RUN: usize = 64;

/// An element type's way through the fast paths. Public in a private module: the
/// supertrait that seals [`Element`](crate::Element).
#[allow(unreachable_pub)]
pub trait Lane: Sized {
    /// Whether single f64 values can settle an entry. (For `f64` they cannot.)
    const SINGLE: bool;

    /// What [`Lane::turn`] wants single seeds multiplied by: a power of two.
    const SCALE: f64 = 1.0;

    /// Writes a run of at most [`RUN`] pairs; non-zero if one is not settled.
    fn write(pairs: impl Iterator<Item = (f64, f64)>, out: PairSlices<'_, Self>) -> u32;

    /// Writes a run of at most [`RUN`] pairs in two parts; non-zero if one is not settled.
    /// For the types that single values settle it never does.
    fn write_parts(_: impl Iterator<Item = Angle>, _: PairSlices<'_, Self>) -> u32 {
        1
    }

    /// Writes a run of seeds turned back and forth by fine angles, and lists what may not
    /// be settled.
    fn turn<S: Simd>(simd: S, run: Turned<'_>, out: TwinSlices<'_, Self>, suspects: &mut Suspects);

    /// One pair of such a run, turned back (`twin` 0) or forth (1), if it can be decided.
    fn decide(run: Turned<'_>, pair: usize, twin: usize) -> Option<(Self, Self)>;

    /// A vector of zeros, fresh from the allocator and, if large, not yet touched.
    fn zeros(len: usize) -> Vec<Self>;
}

/// a b + c, fused where the instruction set can.
#[inline(always)]
fn fused<S: Simd>(a: f64, b: f64, c: f64) -> f64 {
    if S::IS_SCALAR {
        a * b + c
    } else {
        a.mul_add(b, c)
    }
}

/// The single values of one pair: (sine, cosine) turned back and forth, all plus `extra`.
#[inline(always)]
pub(crate) fn both_ways<S: Simd>(a: (f64, f64), b: (f64, f64), extra: f64) -> [(f64, f64); 2] {
    let ((sa, ca), (sb, cb)) = (a, b);
    let sine = fused::<S>(sa, cb, extra);
    let cosine = fused::<S>(ca, cb, extra);
    [
        (fused::<S>(-ca, sb, sine), fused::<S>(sa, sb, cosine)),
        (fused::<S>(ca, sb, sine), fused::<S>(-sa, sb, cosine)),
    ]
}

fn decide_single<T: Element>(run: Turned<'_>, pair: usize, twin: usize) -> Option<(T, T)> {
    let at = |row: [&[f64]; 4]| Some((*row[0].get(pair)?, *row[1].get(pair)?));
    let (sine, cosine) = both_ways::<pulp::Scalar>(at(run.seeds)?, at(run.fine)?, 0.0)[twin & 1];
    Some((
        decided_f64(sine / T::SCALE)?,
        decided_f64(cosine / T::SCALE)?,
    ))
}

/// The nearest `T` to all numbers within [`SINGLE_ERROR`] of `value`, if there is one.
///
/// `f64` results need more than f64 arithmetic and are never decided here.
#[inline]
pub(crate) fn decided_f64<T: Element>(value: f64) -> Option<T> {
    if !T::SINGLE {
        return None;
    }
    let low = T::from_f64(value - SINGLE_ERROR);
    (low.pattern() == T::from_f64(value + SINGLE_ERROR).pattern()).then_some(low)
}

impl Lane for f32 {
    const SINGLE: bool = true;

    #[inline(always)]
    fn write(pairs: impl Iterator<Item = (f64, f64)>, out: PairSlices<'_, Self>) -> u32 {
        let mut unsettled = 0;
        match out {
            PairSlices::Interleaved(out) => {
                for (out, (sine, cosine)) in out.chunks_exact_mut(2).zip(pairs) {
                    let (sine, bad_sine) = settle_f32(sine);
                    let (cosine, bad_cosine) = settle_f32(cosine);
                    out[0] = sine;
                    out[1] = cosine;
                    unsettled |= bad_sine | bad_cosine;
                }
            }
            PairSlices::Halves { sines, cosines } => {
                for ((s, c), (sine, cosine)) in sines.iter_mut().zip(cosines).zip(pairs) {
                    let (sine, bad_sine) = settle_f32(sine);
                    let (cosine, bad_cosine) = settle_f32(cosine);
                    *s = sine;
                    *c = cosine;
                    unsettled |= bad_sine | bad_cosine;
                }
            }
        }
        unsettled
    }

    #[inline(always)]
    fn turn<S: Simd>(_: S, run: Turned<'_>, out: TwinSlices<'_, Self>, suspects: &mut Suspects) {
        let ([sa, ca, ..], [sb, cb, ..]) = (run.seeds, run.fine);
        let angles = sa.iter().zip(ca).zip(sb.iter().zip(cb));
        let mut unsettled = 0;
        match out {
            TwinSlices::Interleaved([before, after]) => {
                let rows = before.chunks_exact_mut(2).zip(after.chunks_exact_mut(2));
                for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                    let [(s0, c0), (s1, c1)] = both_ways::<S>((*sa, *ca), (*sb, *cb), SINGLE_ERROR);
                    let ((s0, bad0), (c0, bad1)) = (settle_above(s0), settle_above(c0));
                    let ((s1, bad2), (c1, bad3)) = (settle_above(s1), settle_above(c1));
                    before[0] = s0;
                    before[1] = c0;
                    after[0] = s1;
                    after[1] = c1;
                    unsettled |= (bad0 | bad1) | (bad2 | bad3);
                }
            }
            TwinSlices::Halves {
                sines: [sines0, sines1],
                cosines: [cosines0, cosines1],
            } => {
                let rows = sines0.iter_mut().zip(cosines0);
                let rows = rows.zip(sines1.iter_mut().zip(cosines1));
                for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                    let [(s0, c0), (s1, c1)] = both_ways::<S>((*sa, *ca), (*sb, *cb), SINGLE_ERROR);
                    let ((s0, bad0), (c0, bad1)) = (settle_above(s0), settle_above(c0));
                    let ((s1, bad2), (c1, bad3)) = (settle_above(s1), settle_above(c1));
                    (*before.0, *before.1) = (s0, c0);
                    (*after.0, *after.1) = (s1, c1);
                    unsettled |= (bad0 | bad1) | (bad2 | bad3);
                }
            }
        }
        if unsettled != 0 {
            suspects.all(sa.len());
        }
    }

    fn decide(run: Turned<'_>, pair: usize, twin: usize) -> Option<(Self, Self)> {
        decide_single(run, pair, twin)
    }

    fn zeros(len: usize) -> Vec<Self> {
        vec![0.0; len]
    }
}

#[inline(always)]
fn settle_f32(value: f64) -> (f32, u32) {
    settle_above(value + SINGLE_ERROR)
}

/// For a value with the bound added already.
#[inline(always)]
fn settle_above(above: f64) -> (f32, u32) {
    let low = (above - 2.0 * SINGLE_ERROR) as f32;
    let high = above as f32;
    (high, low.to_bits() ^ high.to_bits())
}

macro_rules! half_lane {
    ($type:ty, $scale:expr, $settle:expr) => {
        impl Lane for $type {
            const SINGLE: bool = true;
            const SCALE: f64 = $scale;

            #[inline(always)]
            fn write(pairs: impl Iterator<Item = (f64, f64)>, out: PairSlices<'_, Self>) -> u32 {
                let mut closest = Closest::NONE;
                match out {
                    PairSlices::Interleaved(out) => {
                        let mut singles = [0f32; 2 * RUN];
                        for (single, (sine, cosine)) in singles.chunks_exact_mut(2).zip(pairs) {
                            single[0] = (sine * $scale) as f32;
                            single[1] = (cosine * $scale) as f32;
                        }
                        $settle(&singles, out, &mut closest);
                    }
                    PairSlices::Halves { sines, cosines } => {
                        let mut singles = [[0f32; RUN]; 2];
                        let [first, second] = &mut singles;
                        for ((s, c), (sine, cosine)) in first.iter_mut().zip(second).zip(pairs) {
                            *s = (sine * $scale) as f32;
                            *c = (cosine * $scale) as f32;
                        }
                        $settle(&singles[0], sines, &mut closest);
                        $settle(&singles[1], cosines, &mut closest);
                    }
                }
                u32::from(closest.unsettled::<Self>())
            }

            #[inline(always)]
            fn turn<S: Simd>(
                _: S,
                run: Turned<'_>,
                out: TwinSlices<'_, Self>,
                suspects: &mut Suspects,
            ) {
                let ([sa, ca, ..], [sb, cb, ..]) = (run.seeds, run.fine);
                let angles = sa.iter().zip(ca).zip(sb.iter().zip(cb));
                let mut closest = Closest::NONE;
                let unsettled = |singles: &[f32]| {
                    let mut closest = Closest::NONE;
                    $settle(singles, &mut [Self::default(); SCAN], &mut closest);
                    closest.unsettled::<Self>()
                };
                match out {
                    TwinSlices::Interleaved([before, after]) => {
                        let mut singles = [[0f32; 2 * RUN]; 2];
                        let [first, second] = &mut singles;
                        let rows = first.chunks_exact_mut(2).zip(second.chunks_exact_mut(2));
                        for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                            let [(s0, c0), (s1, c1)] = both_ways::<S>((*sa, *ca), (*sb, *cb), 0.0);
                            before[0] = s0 as f32;
                            before[1] = c0 as f32;
                            after[0] = s1 as f32;
                            after[1] = c1 as f32;
                        }
                        $settle(&singles[0], before, &mut closest);
                        $settle(&singles[1], after, &mut closest);
                        if closest.unsettled::<Self>() {
                            suspects.list(&singles[0][..2 * sa.len()], unsettled, |at| (at / 2, 0));
                            suspects.list(&singles[1][..2 * sa.len()], unsettled, |at| (at / 2, 1));
                        }
                    }
                    TwinSlices::Halves {
                        sines: [sines0, sines1],
                        cosines: [cosines0, cosines1],
                    } => {
                        let mut singles = [[0f32; RUN]; 4];
                        let [s0, c0, s1, c1] = &mut singles;
                        let rows = s0.iter_mut().zip(c0).zip(s1.iter_mut().zip(c1));
                        for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                            let [(s0, c0), (s1, c1)] = both_ways::<S>((*sa, *ca), (*sb, *cb), 0.0);
                            (*before.0, *before.1) = (s0 as f32, c0 as f32);
                            (*after.0, *after.1) = (s1 as f32, c1 as f32);
                        }
                        $settle(&singles[0], sines0, &mut closest);
                        $settle(&singles[1], cosines0, &mut closest);
                        $settle(&singles[2], sines1, &mut closest);
                        $settle(&singles[3], cosines1, &mut closest);
                        if closest.unsettled::<Self>() {
                            suspects.list(&singles[0][..sa.len()], unsettled, |at| (at, 0));
                            suspects.list(&singles[1][..sa.len()], unsettled, |at| (at, 0));
                            suspects.list(&singles[2][..sa.len()], unsettled, |at| (at, 1));
                            suspects.list(&singles[3][..sa.len()], unsettled, |at| (at, 1));
                        }
                    }
                }
            }

            fn decide(run: Turned<'_>, pair: usize, twin: usize) -> Option<(Self, Self)> {
                decide_single(run, pair, twin)
            }

            fn zeros(len: usize) -> Vec<Self> {
                vec![0u16; len].reinterpret_into()
            }
        }
    };
}

/// Pairs of a run that need a second look: (pair, twin).
#[derive(Debug, Default)]
#[allow(unreachable_pub)]
pub struct Suspects(pub(crate) Vec<(usize, usize)>);

impl Suspects {
    #[cold]
    #[inline(never)]
    fn all(&mut self, pairs: usize) {
        self.0
            .extend((0..pairs).flat_map(|pair| [(pair, 0), (pair, 1)]));
    }

    /// What `unsettled` finds among the values, which stand at `place`.
    #[cold]
    #[inline(never)]
    fn list(
        &mut self,
        singles: &[f32],
        unsettled: impl Fn(&[f32]) -> bool,
        place: impl Fn(usize) -> (usize, usize),
    ) {
        for (part, singles) in singles.chunks(SCAN).enumerate() {
            if !unsettled(singles) {
                continue;
            }
            for (at, single) in singles.chunks(1).enumerate() {
                if unsettled(single) {
                    self.0.push(place(SCAN * part + at));
                }
            }
        }
    }
}

/// Values looked at together in search of those that are not settled.
const SCAN: usize = 16;

half_lane!(bf16, 1.0, round_bf16);
// With f32 exponents that begin where those of f16 do.
half_lane!(f16, f64::from_bits((1023 - 112) << 52), round_f16);

/// How close the f32 values of a run come to what they cannot settle.
///
/// A half type's entry is the f32 rounded once more. That is right unless the f32 is a
/// midpoint of the half type (the value then lies on either side of it; next to a
/// midpoint it lies at least half a unit of f32 away), or so small that the
/// error of 2^-50 is no longer below half a unit of f32.
struct Closest {
    /// The smallest distance above a midpoint, in units of some power of two.
    midpoint: u32,
    /// The smallest size, as f32 bits times two.
    size: u32,
}

impl Closest {
    const NONE: Self = Self {
        midpoint: u32::MAX,
        size: u32::MAX,
    };

    #[inline(always)]
    fn unsettled<T: Lane>(self) -> bool {
        // 2^-24, from where on half a unit of f32 is 2^-48 or more; or 2^-14, scaled, where the normal numbers of
        // f16 begin: its subnormal numbers are left to the caller.
        let smallest: u32 = if T::SCALE == 1.0 { 127 - 24 } else { 1 };
        self.midpoint == 0 || self.size < smallest << 24
    }
}

/// To the nearest bf16; midpoints are rounded up and reported.
#[inline(always)]
fn round_bf16(singles: &[f32], out: &mut [bf16], closest: &mut Closest) {
    let Closest {
        mut midpoint,
        mut size,
    } = *closest;
    for (out, single) in out.iter_mut().zip(singles) {
        let bits = single.to_bits();
        let rounded = bits.wrapping_add(0x8000);
        midpoint = midpoint.min(rounded << 16);
        size = size.min(bits << 1);
        *out = bf16::from_bits((rounded >> 16) as u16);
    }
    *closest = Closest { midpoint, size };
}

/// The same for f16, of values times 2^-112.
#[inline(always)]
fn round_f16(singles: &[f32], out: &mut [f16], closest: &mut Closest) {
    let Closest {
        mut midpoint,
        mut size,
    } = *closest;
    for (out, single) in out.iter_mut().zip(singles) {
        let bits = single.to_bits();
        let rounded = bits.wrapping_add(0x1000);
        midpoint = midpoint.min(rounded << 19);
        size = size.min(bits << 1);
        let pattern = (rounded >> 13) & 0x7fff | (rounded >> 16) & 0x8000;
        *out = f16::from_bits(pattern as u16);
    }
    *closest = Closest { midpoint, size };
}

impl Lane for f64 {
    const SINGLE: bool = false;

    /// Never settles: 53 bits are the answer here, not the working precision.
    #[inline(always)]
    fn write(_: impl Iterator<Item = (f64, f64)>, _: PairSlices<'_, Self>) -> u32 {
        1
    }

    #[inline(always)]
    fn write_parts(angles: impl Iterator<Item = Angle>, out: PairSlices<'_, Self>) -> u32 {
        let mut unsettled = 0;
        match out {
            PairSlices::Interleaved(out) => {
                for (out, [sh, sl, ch, cl]) in out.chunks_exact_mut(2).zip(angles) {
                    let (sine, bad_sine) = settle_f64(sh, sl, ROW_ERROR);
                    let (cosine, bad_cosine) = settle_f64(ch, cl, ROW_ERROR);
                    out[0] = sine;
                    out[1] = cosine;
                    unsettled |= bad_sine | bad_cosine;
                }
            }
            PairSlices::Halves { sines, cosines } => {
                for ((s, c), [sh, sl, ch, cl]) in sines.iter_mut().zip(cosines).zip(angles) {
                    let (sine, bad_sine) = settle_f64(sh, sl, ROW_ERROR);
                    let (cosine, bad_cosine) = settle_f64(ch, cl, ROW_ERROR);
                    *s = sine;
                    *c = cosine;
                    unsettled |= bad_sine | bad_cosine;
                }
            }
        }
        unsettled
    }

    #[inline(always)]
    fn turn<S: Simd>(_: S, run: Turned<'_>, out: TwinSlices<'_, Self>, suspects: &mut Suspects) {
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (run.seeds, run.fine);
        let seeds = a0.iter().zip(a1).zip(a2.iter().zip(a3));
        let fine = b0.iter().zip(b1).zip(b2.iter().zip(b3));
        let angles = seeds.zip(fine);
        let mut unsettled = 0;
        match out {
            TwinSlices::Interleaved([before, after]) => {
                let rows = before.chunks_exact_mut(2).zip(after.chunks_exact_mut(2));
                for (((a, b), (c, d)), (before, after)) in angles.map(flat).zip(rows) {
                    let [(s1, bad0), (s0, bad1), (c1, bad2), (c0, bad3)] =
                        settled_both_ways([a.0, a.1, b.0, b.1], [c.0, c.1, d.0, d.1]);
                    before[0] = s0;
                    before[1] = c0;
                    after[0] = s1;
                    after[1] = c1;
                    unsettled |= (bad0 | bad1) | (bad2 | bad3);
                }
            }
            TwinSlices::Halves {
                sines: [sines0, sines1],
                cosines: [cosines0, cosines1],
            } => {
                let rows = sines0.iter_mut().zip(cosines0);
                let rows = rows.zip(sines1.iter_mut().zip(cosines1));
                for (((a, b), (c, d)), (before, after)) in angles.map(flat).zip(rows) {
                    let [(s1, bad0), (s0, bad1), (c1, bad2), (c0, bad3)] =
                        settled_both_ways([a.0, a.1, b.0, b.1], [c.0, c.1, d.0, d.1]);
                    (*before.0, *before.1) = (s0, c0);
                    (*after.0, *after.1) = (s1, c1);
                    unsettled |= (bad0 | bad1) | (bad2 | bad3);
                }
            }
        }
        if unsettled != 0 {
            suspects.all(a0.len());
        }
    }

    fn decide(run: Turned<'_>, pair: usize, twin: usize) -> Option<(Self, Self)> {
        let at = |row: [&[f64]; 4]| {
            let part = |n: usize| row[n].get(pair).copied();
            Some([part(0)?, part(1)?, part(2)?, part(3)?])
        };
        let [s1, s0, c1, c0] = settled_both_ways(at(run.seeds)?, at(run.fine)?);
        let (sine, cosine) = if twin == 0 { (s0, c0) } else { (s1, c1) };
        (sine.1 | cosine.1 == 0).then_some((sine.0, cosine.0))
    }

    fn zeros(len: usize) -> Vec<Self> {
        vec![0.0; len]
    }
}

type Parts<'a> = ((&'a f64, &'a f64), (&'a f64, &'a f64));

#[inline(always)]
fn flat<'a>(
    (a, b): (Parts<'a>, Parts<'a>),
) -> (((f64, f64), (f64, f64)), ((f64, f64), (f64, f64))) {
    let copy = |((a, b), (c, d)): Parts<'a>| ((*a, *b), (*c, *d));
    (copy(a), copy(b))
}

/// Sines forth and back, cosines forth and back, rounded, each with its check.
#[inline(always)]
fn settled_both_ways(a: Angle, b: Angle) -> [(f64, u32); 4] {
    let [s1, s0, c1, c0] = turned_both_ways(a, b);
    [
        settle_f64(s1.0, s1.1, DOUBLE_ERROR),
        settle_f64(s0.0, s0.1, DOUBLE_ERROR),
        settle_f64(c1.0, c1.1, DOUBLE_ERROR),
        settle_f64(c0.0, c0.1, DOUBLE_ERROR),
    ]
}

/// `high` + `low`, with `high` at least as large, rounded to f64 and checked against
/// the error given.
#[inline(always)]
pub(crate) fn settle_f64(high: f64, low: f64, error: f64) -> (f64, u32) {
    let below = high + (low - error);
    let above = high + (low + error);
    let differ = below.to_bits() ^ above.to_bits();
    (above, (differ | (differ >> 32)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a type's check lets pass, one rounding would give as well.
    #[test]
    fn what_settles_is_what_one_rounding_gives() {
        let mut settled = [0; 3];
        let mut bits = 12345u64;
        for _ in 0..500_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Magnitudes from 2^-30 to 1, often with long runs of zeros, where
            // midpoints are.
            let exponent = 1023 - 30 + bits % 30;
            let mantissa = if bits & 1 << 40 == 0 {
                (bits >> 12) & !0u64.wrapping_shl((bits % 13) as u32 * 4)
            } else {
                (bits >> 12) << (bits % 52)
            };
            let size = f64::from_bits(exponent << 52 | mantissa & ((1 << 52) - 1));
            for value in [size, -size] {
                settled[0] += agree(value, settle_f32(value));
                settled[1] += agree(value, half(value, round_bf16));
                settled[2] += agree(value, half(value, round_f16));
            }
        }
        assert!(settled.iter().all(|count| *count > 200_000), "{settled:?}");
    }

    fn half<T: Element>(value: f64, round: fn(&[f32], &mut [T], &mut Closest)) -> (T, u32) {
        let mut out = [T::default()];
        let mut closest = Closest::NONE;
        round(&[(value * T::SCALE) as f32], &mut out, &mut closest);
        (out[0], u32::from(closest.unsettled::<T>()))
    }

    fn agree<T: Element>(value: f64, (found, unsettled): (T, u32)) -> u32 {
        if unsettled != 0 {
            return 0;
        }
        for value in [value - SINGLE_ERROR, value, value + SINGLE_ERROR] {
            assert_eq!(found.pattern(), T::from_f64(value).pattern(), "{value:e}");
        }
        1
    }

    #[test]
    fn two_part_values_settle_by_their_low_part() {
        let half_unit = 1.0 / (1u64 << 54) as f64;
        // 0.5 + half a unit in the last place is a tie; a hair away it is not.
        assert_ne!(settle_f64(0.5, half_unit, DOUBLE_ERROR).1, 0);
        assert_eq!(
            settle_f64(0.5, half_unit * (1.0 - 1e-4), DOUBLE_ERROR),
            (0.5, 0)
        );
        let above = 0.5 + f64::EPSILON / 2.0;
        assert_eq!(
            settle_f64(0.5, half_unit * (1.0 + 1e-4), DOUBLE_ERROR),
            (above, 0)
        );
        assert_eq!(
            settle_f64(-0.5, -half_unit * (1.0 + 1e-4), DOUBLE_ERROR),
            (-above, 0)
        );
        // Differences in the high word count as well.
        assert_ne!(settle_f64(1.0, -half_unit, DOUBLE_ERROR).1, 0);
    }
}
