//! The f64 rung in bulk: sines and cosines of many pairs, rounded and tested.
//!
//! A value known to within a bound passes the rounding test if everything within the bound rounds to
//! the same float. Lanes write the rounded values and report whether any value failed. The caller
//! has the ladder recompute the failures.

pub(crate) mod double;
mod halves;

use pulp::Simd;

use crate::round::{Float, decided_f64};
use crate::rows::columns::{PairSlices, Place, interleaved};
use crate::sincos::factor::Factor;
use crate::sincos::hi_lo::Angle;
use crate::sincos::single_error;
use crate::sincos::single_f64::fused;

/// The fast paths of an element type. This supertrait seals [`Element`](crate::Element).
pub(crate) trait Lane: Float {
    /// Power of two that scales plain f64 values for [`Lane::write`] and [`Lane::write_mirrored`].
    const SCALE: f64 = 1.0;

    /// Returns the bound on the error of entries by recurrence with a factor, or `None` for a factor that
    /// lanes do not accept.
    fn error(factor: &Factor) -> Option<f64> {
        single_error(factor)
    }

    /// Writes at most [`RUN`](crate::sincos::double_f64::RUN) pairs of plain f64 values, each within
    /// `error`. Returns whether one failed the rounding test.
    fn write(pairs: impl Iterator<Item = [f64; 2]>, error: f64, out: PairSlices<'_, Self>) -> bool;

    /// Writes at most [`RUN`](crate::sincos::double_f64::RUN) double-double pairs, multiplied by `factor`.
    /// Returns whether one failed the rounding test, as if all did for types that plain f64 values decide.
    fn write_parts(_: impl Iterator<Item = Angle>, _: &Factor, _: PairSlices<'_, Self>) -> bool {
        true
    }

    /// Writes the pairs at seeds minus fine angles and at seeds plus fine angles into two mirrored
    /// rows, and lists the pairs that may have failed the rounding test.
    fn write_mirrored<S: Simd>(
        run: RecurrenceRun<'_>,
        out: [PairSlices<'_, Self>; 2],
        failures: &mut Failures,
    );

    /// Computes one of these pairs, before (`side` 0) or after (1) the seed, if it passes the
    /// rounding test alone.
    fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<[Self; 2]>;
}

/// A run of seeds and the fine angles that are added to them, part by part. Plain f64 values have
/// two parts, double-double values four.
#[derive(Clone, Copy)]
pub(crate) struct RecurrenceRun<'a> {
    pub(crate) seeds: [&'a [f64]; 4],
    pub(crate) fine: [&'a [f64]; 4],
    /// Bound on the error of the values: [`Lane::error`].
    pub(crate) error: f64,
}

impl<'a> RecurrenceRun<'a> {
    /// Returns the run of `count` pairs starting at number `first`, of `pairs` in each row.
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

    /// Returns the number of pairs.
    #[inline(always)]
    fn len(&self) -> usize {
        self.seeds[0].len()
    }

    /// Computes the plain f64 values of all pairs in both mirrored rows, each plus `extra`.
    #[inline(always)]
    fn plain<S: Simd>(self, extra: f64) -> impl Iterator<Item = [[f64; 2]; 2]> {
        let ([sa, ca, ..], [sb, cb, ..]) = (self.seeds, self.fine);
        sa.iter().zip(ca).zip(sb.iter().zip(cb)).map(
            #[inline(always)]
            move |((sa, ca), (sb, cb))| sum_and_difference::<S>([*sa, *ca], [*sb, *cb], extra),
        )
    }

    /// Computes one pair of a type that plain f64 values decide: [`Lane::decide`].
    fn decide_plain<T: Lane>(self, pair: usize, side: usize) -> Option<[T; 2]> {
        let at = |row: [&[f64]; 4]| Some([*row[0].get(pair)?, *row[1].get(pair)?]);
        let [sine, cosine] =
            sum_and_difference::<pulp::Scalar>(at(self.seeds)?, at(self.fine)?, 0.0)[side & 1];
        Some([
            decided_f64(sine / T::SCALE, self.error)?,
            decided_f64(cosine / T::SCALE, self.error)?,
        ])
    }
}

/// Computes [sine, cosine] of a - b and of a + b in plain f64, each plus `extra`.
#[inline(always)]
pub(crate) fn sum_and_difference<S: Simd>(a: [f64; 2], b: [f64; 2], extra: f64) -> [[f64; 2]; 2] {
    let ([sa, ca], [sb, cb]) = (a, b);
    let sine = fused::<S>(sa, cb, extra);
    let cosine = fused::<S>(ca, cb, extra);
    [
        [fused::<S>(-ca, sb, sine), fused::<S>(sa, sb, cosine)],
        [fused::<S>(ca, sb, sine), fused::<S>(-sa, sb, cosine)],
    ]
}

/// Writes the pairs of one row, each value converted by `of`.
#[inline(always)]
fn put<'a, V, T: 'a>(
    values: impl Iterator<Item = [V; 2]>,
    places: impl Iterator<Item = Place<'a, T>>,
    mut of: impl FnMut(V) -> T,
) {
    for ([s, c], (sine, cosine)) in values.zip(places) {
        *sine = of(s);
        *cosine = of(c);
    }
}

/// Writes the pairs of two rows, each value converted by `of`.
#[inline(always)]
fn put_mirrored<'a, V, T: 'a>(
    values: impl Iterator<Item = [[V; 2]; 2]>,
    places: impl Iterator<Item = (Place<'a, T>, Place<'a, T>)>,
    mut of: impl FnMut(V) -> T,
) {
    for ([[s0, c0], [s1, c1]], (before, after)) in values.zip(places) {
        *before.0 = of(s0);
        *before.1 = of(c0);
        *after.0 = of(s1);
        *after.1 = of(c1);
    }
}

/// Does the same as [`put`] in the columns of a row.
#[inline(always)]
fn put_row<V, T>(
    values: impl Iterator<Item = [V; 2]>,
    out: PairSlices<'_, T>,
    of: impl FnMut(V) -> T,
) {
    match out {
        PairSlices::Interleaved(out) => put(values, interleaved(out), of),
        PairSlices::Halves { sines, cosines } => put(values, sines.iter_mut().zip(cosines), of),
    }
}

/// Does the same as [`put_mirrored`] in the columns of two rows of one layout.
#[inline(always)]
fn put_rows<V, T>(
    values: impl Iterator<Item = [[V; 2]; 2]>,
    out: [PairSlices<'_, T>; 2],
    of: impl FnMut(V) -> T,
) {
    use PairSlices::{Halves, Interleaved};
    match out {
        [Interleaved(before), Interleaved(after)] => {
            put_mirrored(values, interleaved(before).zip(interleaved(after)), of);
        }
        [
            Halves { sines, cosines },
            Halves {
                sines: more_sines,
                cosines: more_cosines,
            },
        ] => {
            let after = more_sines.iter_mut().zip(more_cosines);
            put_mirrored(values, sines.iter_mut().zip(cosines).zip(after), of);
        }
        _ => {}
    }
}

impl Lane for f32 {
    #[inline(always)]
    fn write(pairs: impl Iterator<Item = [f64; 2]>, error: f64, out: PairSlices<'_, Self>) -> bool {
        let mut failed = 0;
        put_row(
            pairs,
            out,
            #[inline(always)]
            |value| test_f32(value + error, error, &mut failed),
        );
        failed != 0
    }

    #[inline(always)]
    fn write_mirrored<S: Simd>(
        run: RecurrenceRun<'_>,
        out: [PairSlices<'_, Self>; 2],
        failures: &mut Failures,
    ) {
        let (error, mut failed) = (run.error, 0);
        put_rows(
            run.plain::<S>(error),
            out,
            #[inline(always)]
            |above| test_f32(above, error, &mut failed),
        );
        if failed != 0 {
            failures.all(run.len());
        }
    }

    fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<[Self; 2]> {
        run.decide_plain(pair, side)
    }
}

/// Rounds a value that includes the bound `error`. Sets bits of `failed` if it fails the test.
#[inline(always)]
fn test_f32(above: f64, error: f64, failed: &mut u32) -> f32 {
    let low = (above - 2.0 * error) as f32;
    let high = above as f32;
    *failed |= low.to_bits() ^ high.to_bits();
    high
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

    /// Lists one pair on the sides that failed.
    #[cold]
    #[inline(never)]
    fn note(&mut self, pair: usize, sides: [bool; 2]) {
        let failed = (0..2).zip(sides).filter(|(_, failed)| *failed);
        self.0.extend(failed.map(|(side, _)| (pair, side)));
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;
    use crate::round::SINGLE_ERROR;

    /// Every value that passes is the result of one rounding, with the bound of a factor too.
    #[test]
    fn values_that_pass_are_rounded_once() {
        for error in [SINGLE_ERROR, 2048.0 * SINGLE_ERROR] {
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
                    passed[0] += agree::<f32>(value, error);
                    passed[1] += agree::<bf16>(value, error);
                    passed[2] += agree::<f16>(value, error);
                }
            }
            assert!(passed.iter().all(|count| *count > 200_000), "{passed:?}");
        }
    }

    /// Writes one value in either layout. Returns 1 if it passes.
    fn agree<T: Lane>(value: f64, error: f64) -> u32 {
        let (mut out, mut apart) = ([T::default(); 2], [[T::default()]; 2]);
        let [sines, cosines] = &mut apart;
        let pair = || std::iter::once([value, 1.0]);
        let failed = T::write(pair(), error, PairSlices::Interleaved(&mut out));
        let halves = PairSlices::Halves { sines, cosines };
        assert_eq!(T::write(pair(), error, halves), failed);
        assert_eq!(out, [apart[0][0], apart[1][0]]);
        if failed {
            return 0;
        }
        for value in [value - error, value, value + error] {
            assert_eq!(out[0].pattern(), T::rounded(value).pattern(), "{value:e}");
        }
        1
    }
}
