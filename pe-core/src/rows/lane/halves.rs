//! The lanes of bf16 and f16. They round a run of pairs to f32 and then the whole run to the 16-bit
//! type, each in full registers.

use half::{bf16, f16};
use pulp::Simd;

use super::{Failures, Lane, RecurrenceRun, put, put_mirrored};
use crate::round::Float;
use crate::rows::columns::{PairSlices, interleaved};
use crate::sincos::double_f64::RUN;

/// A 16-bit type.
trait Half: Float {
    /// Power of two that moves the exponents of this type to where those of f32 begin.
    const SCALE: f64;

    /// Rounds the bits of a scaled f32 to the nearest value, midpoints up. The second value is the
    /// distance above a midpoint, in units of some power of two.
    fn of(bits: u32) -> (Self, u32);
}

impl Half for bf16 {
    const SCALE: f64 = 1.0;

    #[inline(always)]
    fn of(bits: u32) -> (Self, u32) {
        let rounded = bits.wrapping_add(0x8000);
        (Self::from_bits((rounded >> 16) as u16), rounded << 16)
    }
}

impl Half for f16 {
    /// 2^-112.
    const SCALE: f64 = f64::from_bits((1023 - 112) << 52);

    #[inline(always)]
    fn of(bits: u32) -> (Self, u32) {
        let rounded = bits.wrapping_add(0x1000);
        let pattern = (rounded >> 13) & 0x7fff | (rounded >> 16) & 0x8000;
        (Self::from_bits(pattern as u16), rounded << 19)
    }
}

impl<T: Half> Lane for T {
    const SCALE: f64 = <T as Half>::SCALE;

    #[inline(always)]
    fn write(pairs: impl Iterator<Item = [f64; 2]>, error: f64, out: PairSlices<'_, Self>) -> bool {
        let mut singles = [0f32; 2 * RUN];
        let mut closest = Closest::NONE;
        let pairs = pairs.map(
            #[inline(always)]
            |[sine, cosine]| [sine * <T as Half>::SCALE, cosine * <T as Half>::SCALE],
        );
        match out {
            PairSlices::Interleaved(out) => {
                put(pairs, interleaved(&mut singles), to_f32);
                closest.round(&singles, out);
            }
            PairSlices::Halves { sines, cosines } => {
                let (first, second) = singles.split_at_mut(RUN);
                put(pairs, first.iter_mut().zip(&mut *second), to_f32);
                closest.round_both([first, second], [sines, cosines]);
            }
        }
        closest.fails::<T>(error)
    }

    #[inline(always)]
    fn write_mirrored<S: Simd>(
        run: RecurrenceRun<'_>,
        out: [PairSlices<'_, Self>; 2],
        failures: &mut Failures,
    ) {
        let mut singles = [[0f32; 2 * RUN]; 2];
        let [first, second] = &mut singles;
        let values = run.plain::<S>(0.0);
        let mut closest = Closest::NONE;
        use PairSlices::{Halves, Interleaved};
        match out {
            [Interleaved(before), Interleaved(after)] => {
                put_mirrored(values, interleaved(first).zip(interleaved(second)), to_f32);
                closest.round_both([first, second], [before, after]);
                if closest.fails::<T>(run.error) {
                    for (side, singles) in singles.iter().enumerate() {
                        list::<T>(failures, &singles[..2 * run.len()], run.error, |at| {
                            (at / 2, side)
                        });
                    }
                }
            }
            [
                Halves { sines, cosines },
                Halves {
                    sines: more_sines,
                    cosines: more_cosines,
                },
            ] => {
                let ((s0, c0), (s1, c1)) = (first.split_at_mut(RUN), second.split_at_mut(RUN));
                let before = s0.iter_mut().zip(&mut *c0);
                let after = s1.iter_mut().zip(&mut *c1);
                put_mirrored(values, before.zip(after), to_f32);
                closest.round_both([s0, c0], [sines, cosines]);
                closest.round_both([s1, c1], [more_sines, more_cosines]);
                if closest.fails::<T>(run.error) {
                    for (singles, side) in [(s0, 0), (c0, 0), (s1, 1), (c1, 1)] {
                        list::<T>(failures, &singles[..run.len()], run.error, |at| (at, side));
                    }
                }
            }
            _ => {}
        }
    }

    fn decide(run: RecurrenceRun<'_>, pair: usize, side: usize) -> Option<[Self; 2]> {
        run.decide_plain(pair, side)
    }
}

#[inline(always)]
fn to_f32(value: f64) -> f32 {
    value as f32
}

/// Lists the values that fail. `place` maps an index to its pair and side.
#[cold]
#[inline(never)]
fn list<T: Half>(
    failures: &mut Failures,
    singles: &[f32],
    error: f64,
    place: impl Fn(usize) -> (usize, usize),
) {
    /// Number of values tested at once.
    const SCAN: usize = 16;
    let fails = |singles: &[f32]| {
        let mut closest = Closest::NONE;
        closest.round(singles, &mut [T::default(); SCAN]);
        closest.fails::<T>(error)
    };
    for (part, singles) in singles.chunks(SCAN).enumerate() {
        if !fails(singles) {
            continue;
        }
        for (at, single) in singles.chunks(1).enumerate() {
            if fails(single) {
                failures.0.push(place(SCAN * part + at));
            }
        }
    }
}

/// Distance of the f32 values of a run from the values that f32 cannot decide.
///
/// A 16-bit entry is the f32 rounded once more. This is right with two exceptions: the f32 is a
/// midpoint of the 16-bit type, so that the true value is on either side of it, or it is so small
/// that the error is not below half an ulp of f32. An f32 next to a midpoint is safe because the true
/// value is at least half an ulp of f32 away from the midpoint.
#[derive(Clone, Copy)]
struct Closest {
    /// Smallest distance above a midpoint, in units of some power of two.
    midpoint: u32,
    /// Smallest magnitude, as f32 bits times two.
    size: u32,
}

impl Closest {
    const NONE: Self = Self {
        midpoint: u32::MAX,
        size: u32::MAX,
    };

    /// Rounds scaled values to the nearest `T`. Midpoints are rounded up.
    #[inline(always)]
    fn round<T: Half>(&mut self, singles: &[f32], out: &mut [T]) {
        let mut closest = *self;
        for (single, out) in singles.iter().zip(out) {
            *out = closest.of(*single);
        }
        *self = closest;
    }

    /// Does the same for two slices of one length in one loop: the smallest of all lanes are sought behind each loop, which
    /// takes as long as some of its steps.
    #[inline(always)]
    fn round_both<T: Half>(&mut self, singles: [&[f32]; 2], out: [&mut [T]; 2]) {
        let ([a, b], [out_a, out_b]) = (singles, out);
        let mut closest = *self;
        for ((a, b), (out_a, out_b)) in a.iter().zip(b).zip(out_a.iter_mut().zip(out_b)) {
            (*out_a, *out_b) = (closest.of(*a), closest.of(*b));
        }
        *self = closest;
    }

    /// Rounds one value.
    #[inline(always)]
    fn of<T: Half>(&mut self, single: f32) -> T {
        let bits = single.to_bits();
        let (rounded, distance) = T::of(bits);
        self.midpoint = self.midpoint.min(distance);
        self.size = self.size.min(bits << 1);
        rounded
    }

    /// Returns whether a value within `error` fails the rounding test.
    #[inline(always)]
    fn fails<T: Half>(&self, error: f64) -> bool {
        // Half an ulp of f32 is above the error from 2^25 times the error's power of two on. The
        // exponents are those of f32, and start with the first normal value: subnormal values of
        // f16 are left to the caller.
        let power = ((error * T::SCALE).to_bits() >> 52) as i32 - 1023;
        let smallest = (127 + power + 25).max(1) as u32;
        self.midpoint == 0 || self.size < smallest << 24
    }
}
