//! The f64 rung in bulk: sines and cosines of many pairs, rounded and tested.
//!
//! A value known to within [`SINGLE_ERROR`] passes the rounding test if everything within the bound
//! rounds to the same float. Lanes write the rounded values and report whether any value failed.
//! The caller has the ladder recompute the failures.

pub(crate) mod double;
mod halves;

use pulp::Simd;

use crate::round::{Float, SINGLE_ERROR, decided_within};
use crate::rows::columns::{MirroredSlices, PairSlices};
use crate::sincos::hi_lo::Angle;
use crate::sincos::single_f64::fused;

/// The fast paths of an element type. This supertrait seals [`Element`](crate::Element).
pub(crate) trait Lane: Float {
    /// Power of two that scales plain f64 seeds for [`Lane::write_mirrored`].
    const SCALE: f64 = 1.0;

    /// Writes at most [`RUN`](crate::sincos::double_f64::RUN) pairs. Returns a nonzero value if one
    /// failed the rounding test.
    fn write(pairs: impl Iterator<Item = (f64, f64)>, out: PairSlices<'_, Self>) -> u32;

    /// Writes at most [`RUN`](crate::sincos::double_f64::RUN) double-double pairs. Returns a
    /// nonzero value if one failed the rounding test, as it always does for types that plain f64
    /// values decide.
    fn write_parts(_: impl Iterator<Item = Angle>, _: PairSlices<'_, Self>) -> u32 {
        1
    }

    /// Writes the pairs at seeds minus fine angles and at seeds plus fine angles into two mirrored
    /// rows, and lists the pairs that may have failed the rounding test.
    fn write_mirrored<S: Simd>(
        simd: S,
        run: RecurrenceRun<'_>,
        out: MirroredSlices<'_, Self>,
        failures: &mut Failures,
    );

    /// Computes one of these pairs, before (`side` 0) or after (1) the seed, if it passes the
    /// rounding test alone.
    fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<(Self, Self)>;
}

/// A run of seeds and the fine angles that are added to them, part by part. Plain f64 values have
/// two parts, double-double values four.
#[derive(Clone, Copy)]
pub(crate) struct RecurrenceRun<'a> {
    pub(crate) seeds: [&'a [f64]; 4],
    pub(crate) fine: [&'a [f64]; 4],
    /// Bound on the error of plain f64 values.
    pub(crate) error: f64,
}

impl<'a> RecurrenceRun<'a> {
    #[inline(always)]
    pub(crate) fn of(
        seeds: &'a [f64],
        fine: &'a [f64],
        error: f64,
        pairs: usize,
        first: usize,
        count: usize,
    ) -> Self {
        let parts = |row: &'a [f64]| {
            let part = |n: usize| {
                let start = (n * pairs + first).min(row.len());
                let end = (start + count).min(row.len());
                &row[start..end]
            };
            [part(0), part(1), part(2), part(3)]
        };
        Self {
            seeds: parts(seeds),
            fine: parts(fine),
            error,
        }
    }
}

/// Computes (sine, cosine) of a - b and of a + b in plain f64, each plus `extra`.
#[inline(always)]
pub(crate) fn sum_and_difference<S: Simd>(
    a: (f64, f64),
    b: (f64, f64),
    extra: f64,
) -> [(f64, f64); 2] {
    let ((sa, ca), (sb, cb)) = (a, b);
    let sine = fused::<S>(sa, cb, extra);
    let cosine = fused::<S>(ca, cb, extra);
    [
        (fused::<S>(-ca, sb, sine), fused::<S>(sa, sb, cosine)),
        (fused::<S>(ca, sb, sine), fused::<S>(-sa, sb, cosine)),
    ]
}

fn decide_single<T: Lane>(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<(T, T)> {
    let at = |row: [&[f64]; 4]| Some((*row[0].get(pair)?, *row[1].get(pair)?));
    let (sine, cosine) =
        sum_and_difference::<pulp::Scalar>(at(run.seeds)?, at(run.fine)?, 0.0)[side & 1];
    Some((
        decided_within(sine / T::SCALE, run.error)?,
        decided_within(cosine / T::SCALE, run.error)?,
    ))
}

impl Lane for f32 {
    #[inline(always)]
    fn write(pairs: impl Iterator<Item = (f64, f64)>, out: PairSlices<'_, Self>) -> u32 {
        let mut failed = 0;
        match out {
            PairSlices::Interleaved(out) => {
                for (out, (sine, cosine)) in out.chunks_exact_mut(2).zip(pairs) {
                    let (sine, bad_sine) = test_f32(sine);
                    let (cosine, bad_cosine) = test_f32(cosine);
                    out[0] = sine;
                    out[1] = cosine;
                    failed |= bad_sine;
                    failed |= bad_cosine;
                }
            }
            PairSlices::Halves { sines, cosines } => {
                for ((s, c), (sine, cosine)) in sines.iter_mut().zip(cosines).zip(pairs) {
                    let (sine, bad_sine) = test_f32(sine);
                    let (cosine, bad_cosine) = test_f32(cosine);
                    *s = sine;
                    *c = cosine;
                    failed |= bad_sine;
                    failed |= bad_cosine;
                }
            }
        }
        failed
    }

    #[inline(always)]
    fn write_mirrored<S: Simd>(
        _: S,
        run: RecurrenceRun<'_>,
        out: MirroredSlices<'_, Self>,
        failures: &mut Failures,
    ) {
        let ([sa, ca, ..], [sb, cb, ..]) = (run.seeds, run.fine);
        let angles = sa.iter().zip(ca).zip(sb.iter().zip(cb));
        let (mut failed, error) = (0, run.error);
        match out {
            MirroredSlices::Interleaved([before, after]) => {
                let rows = before.chunks_exact_mut(2).zip(after.chunks_exact_mut(2));
                for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                    let [(s0, c0), (s1, c1)] =
                        sum_and_difference::<S>((*sa, *ca), (*sb, *cb), error);
                    let ((s0, bad0), (c0, bad1)) =
                        (test_f32_above(s0, error), test_f32_above(c0, error));
                    let ((s1, bad2), (c1, bad3)) =
                        (test_f32_above(s1, error), test_f32_above(c1, error));
                    before[0] = s0;
                    before[1] = c0;
                    after[0] = s1;
                    after[1] = c1;
                    for bad in [bad0, bad1, bad2, bad3] {
                        failed |= bad;
                    }
                }
            }
            MirroredSlices::Halves {
                sines: [sines0, sines1],
                cosines: [cosines0, cosines1],
            } => {
                let rows = sines0.iter_mut().zip(cosines0);
                let rows = rows.zip(sines1.iter_mut().zip(cosines1));
                for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                    let [(s0, c0), (s1, c1)] =
                        sum_and_difference::<S>((*sa, *ca), (*sb, *cb), error);
                    let ((s0, bad0), (c0, bad1)) =
                        (test_f32_above(s0, error), test_f32_above(c0, error));
                    let ((s1, bad2), (c1, bad3)) =
                        (test_f32_above(s1, error), test_f32_above(c1, error));
                    (*before.0, *before.1) = (s0, c0);
                    (*after.0, *after.1) = (s1, c1);
                    for bad in [bad0, bad1, bad2, bad3] {
                        failed |= bad;
                    }
                }
            }
        }
        if failed != 0 {
            failures.all(sa.len());
        }
    }

    fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<(Self, Self)> {
        decide_single(run, pair, side)
    }
}

#[inline(always)]
fn test_f32(value: f64) -> (f32, u32) {
    test_f32_above(value + SINGLE_ERROR, SINGLE_ERROR)
}

/// Tests a value that already includes the bound `error`.
#[inline(always)]
fn test_f32_above(above: f64, error: f64) -> (f32, u32) {
    let low = (above - 2.0 * error) as f32;
    let high = above as f32;
    (high, low.to_bits() ^ high.to_bits())
}

/// Pairs to test one by one because their run failed in bulk: (pair, side).
#[derive(Debug, Default)]
pub(crate) struct Failures(pub(crate) Vec<(usize, usize)>);

impl Failures {
    #[cold]
    #[inline(never)]
    fn all(&mut self, pairs: usize) {
        self.0
            .extend((0..pairs).flat_map(|pair| [(pair, 0), (pair, 1)]));
    }

    /// Lists the values that fail. `place` maps an index to its pair and side.
    #[cold]
    #[inline(never)]
    fn list(
        &mut self,
        singles: &[f32],
        fails: impl Fn(&[f32]) -> bool,
        place: impl Fn(usize) -> (usize, usize),
    ) {
        for (part, singles) in singles.chunks(SCAN).enumerate() {
            if !fails(singles) {
                continue;
            }
            for (at, single) in singles.chunks(1).enumerate() {
                if fails(single) {
                    self.0.push(place(SCAN * part + at));
                }
            }
        }
    }
}

/// Number of values tested at once in the search for failures.
const SCAN: usize = 16;

#[cfg(test)]
mod tests {
    use super::halves::{Closest, round_bf16, round_f16};
    use super::*;

    /// Every value that passes is the result of one rounding.
    #[test]
    fn values_that_pass_are_rounded_once() {
        let mut passed = [0; 3];
        let mut bits = 12345u64;
        for _ in 0..500_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            // Magnitudes from 2^-30 to 1, often with long runs of zeros, where midpoints are.
            let exponent = 1023 - 30 + bits % 30;
            let mantissa = if bits & 1 << 40 == 0 {
                (bits >> 12) & !0u64.wrapping_shl((bits % 13) as u32 * 4)
            } else {
                (bits >> 12) << (bits % 52)
            };
            let size = f64::from_bits(exponent << 52 | mantissa & ((1 << 52) - 1));
            for value in [size, -size] {
                passed[0] += agree(value, test_f32(value));
                passed[1] += agree(value, half(value, round_bf16));
                passed[2] += agree(value, half(value, round_f16));
            }
        }
        assert!(passed.iter().all(|count| *count > 200_000), "{passed:?}");
    }

    fn half<T: Lane>(value: f64, round: fn(&[f32], &mut [T], &mut Closest)) -> (T, u32) {
        let mut out = [T::default()];
        let mut closest = Closest::NONE;
        round(&[(value * T::SCALE) as f32], &mut out, &mut closest);
        (out[0], u32::from(closest.fails::<T>()))
    }

    fn agree<T: Lane>(value: f64, (found, failed): (T, u32)) -> u32 {
        if failed != 0 {
            return 0;
        }
        for value in [value - SINGLE_ERROR, value, value + SINGLE_ERROR] {
            assert_eq!(found.pattern(), T::rounded(value).pattern(), "{value:e}");
        }
        1
    }
}
