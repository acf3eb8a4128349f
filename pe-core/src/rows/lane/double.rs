//! The f64 lane: double-double values, rounded once.

use pulp::Simd;

use super::{Failures, Lane, RecurrenceRun};
use crate::round::SINGLE_ERROR;
use crate::rows::columns::{MirroredSlices, PairSlices};
use crate::sincos::double_f64::PRECISE_ERROR;
use crate::sincos::hi_lo::{Angle, sum_and_difference};

/// Bound on the error of the double-double values passed to [`test_f64`]: 2^-68.
pub(crate) const DOUBLE_ERROR: f64 = SINGLE_ERROR / (1u64 << 18) as f64;

/// Bound on the error of single rows of f64: twice that of
/// [`double_f64`](crate::sincos::double_f64), because adding the bound rounds as well.
const ROW_ERROR: f64 = 2.0 * PRECISE_ERROR;

impl Lane for f64 {
    /// Always fails: here 53 bits are the result, not the working precision.
    #[inline(always)]
    fn write(_: impl Iterator<Item = (f64, f64)>, _: PairSlices<'_, Self>) -> u32 {
        1
    }

    #[inline(always)]
    fn write_parts(angles: impl Iterator<Item = Angle>, out: PairSlices<'_, Self>) -> u32 {
        let mut failed = 0;
        match out {
            PairSlices::Interleaved(out) => {
                for (out, [sh, sl, ch, cl]) in out.chunks_exact_mut(2).zip(angles) {
                    let (sine, bad_sine) = test_f64(sh, sl, ROW_ERROR);
                    let (cosine, bad_cosine) = test_f64(ch, cl, ROW_ERROR);
                    out[0] = sine;
                    out[1] = cosine;
                    failed |= bad_sine;
                    failed |= bad_cosine;
                }
            }
            PairSlices::Halves { sines, cosines } => {
                for ((s, c), [sh, sl, ch, cl]) in sines.iter_mut().zip(cosines).zip(angles) {
                    let (sine, bad_sine) = test_f64(sh, sl, ROW_ERROR);
                    let (cosine, bad_cosine) = test_f64(ch, cl, ROW_ERROR);
                    *s = sine;
                    *c = cosine;
                    failed |= bad_sine;
                    failed |= bad_cosine;
                }
            }
        }
        u32::from(failed != 0)
    }

    #[inline(always)]
    fn write_mirrored<S: Simd>(
        _: S,
        run: RecurrenceRun<'_>,
        out: MirroredSlices<'_, Self>,
        failures: &mut Failures,
    ) {
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (run.seeds, run.fine);
        let seeds = a0.iter().zip(a1).zip(a2.iter().zip(a3)).map(angle);
        let fine = b0.iter().zip(b1).zip(b2.iter().zip(b3)).map(angle);
        let angles = seeds.zip(fine);
        let mut failed = 0;
        match out {
            MirroredSlices::Interleaved([before, after]) => {
                let rows = before.chunks_exact_mut(2).zip(after.chunks_exact_mut(2));
                for ((a, b), (before, after)) in angles.zip(rows) {
                    let [(s1, bad0), (s0, bad1), (c1, bad2), (c0, bad3)] =
                        tested_sum_and_difference(a, b);
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
                for ((a, b), (before, after)) in angles.zip(rows) {
                    let [(s1, bad0), (s0, bad1), (c1, bad2), (c0, bad3)] =
                        tested_sum_and_difference(a, b);
                    (*before.0, *before.1) = (s0, c0);
                    (*after.0, *after.1) = (s1, c1);
                    for bad in [bad0, bad1, bad2, bad3] {
                        failed |= bad;
                    }
                }
            }
        }
        if failed != 0 {
            failures.all(a0.len());
        }
    }

    fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<(Self, Self)> {
        let at = |row: [&[f64]; 4]| {
            let part = |n: usize| row[n].get(pair).copied();
            Some([part(0)?, part(1)?, part(2)?, part(3)?])
        };
        let [s1, s0, c1, c0] = tested_sum_and_difference(at(run.seeds)?, at(run.fine)?);
        let (sine, cosine) = if side == 0 { (s0, c0) } else { (s1, c1) };
        (sine.1 == 0 && cosine.1 == 0).then_some((sine.0, cosine.0))
    }
}

#[inline(always)]
fn angle(((sh, sl), (ch, cl)): ((&f64, &f64), (&f64, &f64))) -> Angle {
    [*sh, *sl, *ch, *cl]
}

/// Computes the sines of a + b and a - b, then the cosines, each rounded and tested.
#[inline(always)]
fn tested_sum_and_difference(a: Angle, b: Angle) -> [(f64, u64); 4] {
    let [s1, s0, c1, c0] = sum_and_difference(a, b);
    [
        test_f64(s1.0, s1.1, DOUBLE_ERROR),
        test_f64(s0.0, s0.1, DOUBLE_ERROR),
        test_f64(c1.0, c1.1, DOUBLE_ERROR),
        test_f64(c0.0, c0.1, DOUBLE_ERROR),
    ]
}

/// Rounds `high` + `low` to f64 and tests the result against `error`. `high` must be at least as
/// large as `low` in magnitude.
#[inline(always)]
pub(crate) fn test_f64(high: f64, low: f64, error: f64) -> (f64, u64) {
    let below = high + (low - error);
    let above = high + (low + error);
    (above, below.to_bits() ^ above.to_bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_parts_decide_the_rounding_test() {
        let half_unit = 1.0 / (1u64 << 54) as f64;
        // 0.5 + half an ulp is a tie. Slightly off, it is not.
        assert_ne!(test_f64(0.5, half_unit, DOUBLE_ERROR).1, 0);
        assert_eq!(
            test_f64(0.5, half_unit * (1.0 - 1e-4), DOUBLE_ERROR),
            (0.5, 0)
        );
        let above = 0.5 + f64::EPSILON / 2.0;
        assert_eq!(
            test_f64(0.5, half_unit * (1.0 + 1e-4), DOUBLE_ERROR),
            (above, 0)
        );
        assert_eq!(
            test_f64(-0.5, -half_unit * (1.0 + 1e-4), DOUBLE_ERROR),
            (-above, 0)
        );
        // A difference in the high part counts as well.
        assert_ne!(test_f64(1.0, -half_unit, DOUBLE_ERROR).1, 0);
    }
}
