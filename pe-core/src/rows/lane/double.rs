//! The f64 lane: double-double values, rounded once.

use pulp::Simd;

use super::{Failures, Lane, RecurrenceRun, put_row, put_rows};
use crate::round::SINGLE_ERROR;
use crate::rows::columns::PairSlices;
use crate::sincos::double_f64::PRECISE_ERROR;
use crate::sincos::factor::Factor;
use crate::sincos::hi_lo::{Angle, sum_and_difference, times};

/// Bound on the error of the double-double values passed to [`test_f64`], in units of the
/// factor: 2^-69.
pub(crate) const DOUBLE_ERROR: f64 = SINGLE_ERROR / (1u64 << 19) as f64;

/// Bound on the error of single rows of f64, in units of the factor's size: twice that of
/// [`double_f64`](crate::sincos::double_f64), because the product with the factor and adding the bound
/// round as well. In units of 2^-80, the product loses less than 6 and adding the bound 2.
const ROW_ERROR: f64 = 2.0 * PRECISE_ERROR;

impl Lane for f64 {
    /// Always fails: here 53 bits are the result, not the working precision.
    #[inline(always)]
    fn write(_: impl Iterator<Item = [f64; 2]>, _: f64, _: PairSlices<'_, Self>) -> bool {
        true
    }

    fn error(factor: &Factor) -> Option<f64> {
        factor.suits_lanes().then_some(factor.value * DOUBLE_ERROR)
    }

    #[inline(always)]
    fn write_parts(
        angles: impl Iterator<Item = Angle>,
        factor: &Factor,
        out: PairSlices<'_, Self>,
    ) -> bool {
        let (parts, error) = (factor.parts, factor.size * ROW_ERROR);
        let mut failed = 0;
        put_row(
            angles.map(
                #[inline(always)]
                |[sh, sl, ch, cl]| [times((sh, sl), parts), times((ch, cl), parts)],
            ),
            out,
            #[inline(always)]
            |value| test_f64(value, error, &mut failed),
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
            run.mirrored(),
            out,
            #[inline(always)]
            |value| test_f64(value, error, &mut failed),
        );
        if failed != 0 {
            for (pair, sides) in run.mirrored().enumerate() {
                let [before, after] = sides.map(
                    #[inline(always)]
                    |[sine, cosine]| fails(sine, error) | fails(cosine, error),
                );
                if before | after != 0 {
                    failures.note(pair, [before != 0, after != 0]);
                }
            }
        }
    }

    fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<[Self; 2]> {
        let at = |row: [&[f64]; 4]| {
            let part = |n: usize| row[n].get(pair).copied();
            Some([part(0)?, part(1)?, part(2)?, part(3)?])
        };
        let mut failed = 0;
        let values = mirrored((at(run.seeds)?, at(run.fine)?))[side & 1];
        let pair = values.map(|value| test_f64(value, run.error, &mut failed));
        (failed == 0).then_some(pair)
    }
}

impl RecurrenceRun<'_> {
    /// Computes [sine, cosine] of all pairs in both mirrored rows.
    #[inline(always)]
    fn mirrored(&self) -> impl Iterator<Item = [[(f64, f64); 2]; 2]> {
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (self.seeds, self.fine);
        let seeds = a0.iter().zip(a1).zip(a2.iter().zip(a3)).map(angle);
        let fine = b0.iter().zip(b1).zip(b2.iter().zip(b3)).map(angle);
        seeds.zip(fine).map(mirrored)
    }
}

#[inline(always)]
fn angle(((sh, sl), (ch, cl)): ((&f64, &f64), (&f64, &f64))) -> Angle {
    [*sh, *sl, *ch, *cl]
}

/// Computes [sine, cosine] of a - b and of a + b.
#[inline(always)]
fn mirrored((a, b): (Angle, Angle)) -> [[(f64, f64); 2]; 2] {
    let [s1, s0, c1, c0] = sum_and_difference(a, b);
    [[s0, c0], [s1, c1]]
}

/// Rounds `high` + `low` to f64. Sets bits of `failed` if the sum fails the test against `error`.
/// `high` must be at least as large as `low` in magnitude.
#[inline(always)]
fn test_f64((high, low): (f64, f64), error: f64, failed: &mut u64) -> f64 {
    let below = high + (low - error);
    let above = high + (low + error);
    *failed |= below.to_bits() ^ above.to_bits();
    above
}

/// Returns nonzero if the sum fails the test.
#[inline(always)]
fn fails(sum: (f64, f64), error: f64) -> u64 {
    let mut failed = 0;
    test_f64(sum, error, &mut failed);
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_parts_decide_the_rounding_test() {
        let test = |high, low| {
            let mut failed = 0;
            let value = test_f64((high, low), DOUBLE_ERROR, &mut failed);
            (failed == 0).then_some(value)
        };
        let half_unit = 1.0 / (1u64 << 54) as f64;
        // 0.5 + half an ulp is a tie. Slightly off, it is not.
        assert_eq!(test(0.5, half_unit), None);
        assert_eq!(test(0.5, half_unit * (1.0 - 1e-4)), Some(0.5));
        let above = 0.5 + f64::EPSILON / 2.0;
        assert_eq!(test(0.5, half_unit * (1.0 + 1e-4)), Some(above));
        assert_eq!(test(-0.5, -half_unit * (1.0 + 1e-4)), Some(-above));
        // A difference in the high part counts as well.
        assert_eq!(test(1.0, -half_unit), None);
    }
}
