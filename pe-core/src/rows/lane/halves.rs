//! The lanes of bf16 and f16. They round a run of pairs to f32 and then the whole run to the 16-bit
//! type, each in full registers.

use half::{bf16, f16};
use pulp::Simd;

use super::{Failures, Lane, RecurrenceRun, SCAN, decide_single, sum_and_difference};
use crate::rows::columns::{MirroredSlices, PairSlices};
use crate::sincos::double_f64::RUN;

macro_rules! half_lane {
    ($type:ty, $scale:expr, $round:expr) => {
        impl Lane for $type {
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
                        $round(&singles, out, &mut closest);
                    }
                    PairSlices::Halves { sines, cosines } => {
                        let mut singles = [[0f32; RUN]; 2];
                        let [first, second] = &mut singles;
                        for ((s, c), (sine, cosine)) in first.iter_mut().zip(second).zip(pairs) {
                            *s = (sine * $scale) as f32;
                            *c = (cosine * $scale) as f32;
                        }
                        $round(&singles[0], sines, &mut closest);
                        $round(&singles[1], cosines, &mut closest);
                    }
                }
                u32::from(closest.fails::<Self>())
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
                let mut closest = Closest::NONE;
                let fails = |singles: &[f32]| {
                    let mut closest = Closest::NONE;
                    $round(singles, &mut [Self::default(); SCAN], &mut closest);
                    closest.fails::<Self>()
                };
                match out {
                    MirroredSlices::Interleaved([before, after]) => {
                        let mut singles = [[0f32; 2 * RUN]; 2];
                        let [first, second] = &mut singles;
                        let rows = first.chunks_exact_mut(2).zip(second.chunks_exact_mut(2));
                        for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                            let [(s0, c0), (s1, c1)] =
                                sum_and_difference::<S>((*sa, *ca), (*sb, *cb), 0.0);
                            before[0] = s0 as f32;
                            before[1] = c0 as f32;
                            after[0] = s1 as f32;
                            after[1] = c1 as f32;
                        }
                        $round(&singles[0], before, &mut closest);
                        $round(&singles[1], after, &mut closest);
                        if closest.fails::<Self>() {
                            failures.list(&singles[0][..2 * sa.len()], fails, |at| (at / 2, 0));
                            failures.list(&singles[1][..2 * sa.len()], fails, |at| (at / 2, 1));
                        }
                    }
                    MirroredSlices::Halves {
                        sines: [sines0, sines1],
                        cosines: [cosines0, cosines1],
                    } => {
                        let mut singles = [[0f32; RUN]; 4];
                        let [s0, c0, s1, c1] = &mut singles;
                        let rows = s0.iter_mut().zip(c0).zip(s1.iter_mut().zip(c1));
                        for (((sa, ca), (sb, cb)), (before, after)) in angles.zip(rows) {
                            let [(s0, c0), (s1, c1)] =
                                sum_and_difference::<S>((*sa, *ca), (*sb, *cb), 0.0);
                            (*before.0, *before.1) = (s0 as f32, c0 as f32);
                            (*after.0, *after.1) = (s1 as f32, c1 as f32);
                        }
                        $round(&singles[0], sines0, &mut closest);
                        $round(&singles[1], cosines0, &mut closest);
                        $round(&singles[2], sines1, &mut closest);
                        $round(&singles[3], cosines1, &mut closest);
                        if closest.fails::<Self>() {
                            failures.list(&singles[0][..sa.len()], fails, |at| (at, 0));
                            failures.list(&singles[1][..sa.len()], fails, |at| (at, 0));
                            failures.list(&singles[2][..sa.len()], fails, |at| (at, 1));
                            failures.list(&singles[3][..sa.len()], fails, |at| (at, 1));
                        }
                    }
                }
            }

            fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<(Self, Self)> {
                decide_single(run, pair, side)
            }
        }
    };
}

half_lane!(bf16, 1.0, round_bf16);
// The scaled f32 exponents begin where the f16 exponents do.
half_lane!(f16, f64::from_bits((1023 - 112) << 52), round_f16);

/// Distance of the f32 values of a run from the values that f32 cannot decide.
///
/// A 16-bit entry is the f32 rounded once more. This is right with two exceptions: the f32 is a
/// midpoint of the 16-bit type, so that the true value is on either side of it, or it is so small
/// that the error, 2^-49 at most, is not below half an ulp of f32. An f32 next to a midpoint is
/// safe because the true value is at least half an ulp of f32 away from the midpoint.
pub(super) struct Closest {
    /// Smallest distance above a midpoint, in units of some power of two.
    midpoint: u32,
    /// Smallest magnitude, as f32 bits times two.
    size: u32,
}

impl Closest {
    pub(super) const NONE: Self = Self {
        midpoint: u32::MAX,
        size: u32::MAX,
    };

    #[inline(always)]
    pub(super) fn fails<T: Lane>(self) -> bool {
        // bf16 needs 2^-24, above which half an ulp of f32 is at least 2^-48. f16 needs 2^-14
        // (scaled), where its normal values begin. The caller computes its subnormal values.
        let smallest: u32 = if T::SCALE == 1.0 { 127 - 24 } else { 1 };
        self.midpoint == 0 || self.size < smallest << 24
    }
}

/// Rounds to the nearest bf16. Midpoints are rounded up and reported.
#[inline(always)]
pub(super) fn round_bf16(singles: &[f32], out: &mut [bf16], closest: &mut Closest) {
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

/// Rounds values times 2^-112 to the nearest f16. Midpoints are rounded up and reported.
#[inline(always)]
pub(super) fn round_f16(singles: &[f32], out: &mut [f16], closest: &mut Closest) {
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
