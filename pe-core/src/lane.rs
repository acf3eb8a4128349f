//! The f64 rung in bulk: sines and cosines of many pairs, rounded and checked.
//!
//! A value known to within [`SINGLE_ERROR`] is *settled* if everything within the
//! bound rounds to the same float. Lanes write the rounded values and report
//! whether any was not settled; the caller has those made again by the ladder.
//! Half types are rounded through f32: first a run of pairs to f32, then that run
//! as a whole to the half type, each in full registers.

use half::vec::HalfBitsVecExt;
use half::{bf16, f16};

use crate::columns::PairSlices;
use crate::rotate;

/// Bound on the error of the f64 values handed to [`Lane::write`]: 2^-50.
pub(crate) const SINGLE_ERROR: f64 = 1.0 / (1u64 << 50) as f64;

/// Bound on the error of the two-part values handed to [`settle_f64`]: 2^-68.
pub(crate) const DOUBLE_ERROR: f64 = SINGLE_ERROR / (1u64 << 18) as f64;

/// Pairs written in one run.
pub(crate) const RUN: usize = 64;

/// An element type's way through the fast paths. Public in a private module: the
/// supertrait that seals [`Element`](crate::Element).
#[allow(unreachable_pub)]
pub trait Lane: Sized {
    /// Whether single f64 values can settle an entry. (For `f64` they cannot.)
    const SINGLE: bool;

    /// Writes a run of at most [`RUN`] pairs; non-zero if one is not settled.
    fn write(pairs: impl Iterator<Item = (f64, f64)>, out: PairSlices<'_, Self>) -> u32;

    /// Non-zero if the value is not settled.
    fn check(value: f64) -> u32;

    /// Writes a row of seeds turned by a row of fine angles; true if an entry is
    /// not settled.
    fn rotate(seeds: &[f64], fine: &[f64], out: PairSlices<'_, Self>) -> bool;

    /// A vector of zeros, fresh from the allocator and, if large, not yet touched.
    fn zeros(len: usize) -> Vec<Self>;
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
    fn check(value: f64) -> u32 {
        settle_f32(value).1
    }

    #[inline(always)]
    fn rotate(seeds: &[f64], fine: &[f64], out: PairSlices<'_, Self>) -> bool {
        rotate::single(seeds, fine, out)
    }

    fn zeros(len: usize) -> Vec<Self> {
        vec![0.0; len]
    }
}

#[inline(always)]
fn settle_f32(value: f64) -> (f32, u32) {
    let low = (value - SINGLE_ERROR) as f32;
    let high = (value + SINGLE_ERROR) as f32;
    (high, low.to_bits() ^ high.to_bits())
}

macro_rules! half_lane {
    ($type:ty, $settle:expr) => {
        impl Lane for $type {
            const SINGLE: bool = true;

            #[inline(always)]
            fn write(pairs: impl Iterator<Item = (f64, f64)>, out: PairSlices<'_, Self>) -> u32 {
                let mut unsettled = 0;
                match out {
                    PairSlices::Interleaved(out) => {
                        let mut singles = [0f32; 2 * RUN];
                        for (single, (sine, cosine)) in singles.chunks_exact_mut(2).zip(pairs) {
                            single[0] = sine as f32;
                            single[1] = cosine as f32;
                        }
                        for (out, single) in out.iter_mut().zip(&singles) {
                            let (entry, bad) = $settle(*single);
                            *out = entry;
                            unsettled |= bad;
                        }
                    }
                    PairSlices::Halves { sines, cosines } => {
                        let mut singles = [[0f32; RUN]; 2];
                        let [first, second] = &mut singles;
                        for ((s, c), (sine, cosine)) in first.iter_mut().zip(second).zip(pairs) {
                            *s = sine as f32;
                            *c = cosine as f32;
                        }
                        for (out, singles) in [(sines, &singles[0]), (cosines, &singles[1])] {
                            for (out, single) in out.iter_mut().zip(singles) {
                                let (entry, bad) = $settle(*single);
                                *out = entry;
                                unsettled |= bad;
                            }
                        }
                    }
                }
                unsettled
            }

            #[inline(always)]
            fn check(value: f64) -> u32 {
                $settle(value as f32).1
            }

            #[inline(always)]
            fn rotate(seeds: &[f64], fine: &[f64], out: PairSlices<'_, Self>) -> bool {
                rotate::single(seeds, fine, out)
            }

            fn zeros(len: usize) -> Vec<Self> {
                vec![0u16; len].reinterpret_into()
            }
        }
    };
}

half_lane!(bf16, settle_bf16);
half_lane!(f16, settle_f16);

/// Unsettled where the f32 is a midpoint of bf16 (the value then lies on either side
/// of it; next to a midpoint it lies at least half a unit of f32 away), and where
/// it is so small that the error of 2^-50 is no longer below half a unit of f32.
#[inline(always)]
fn settle_bf16(single: f32) -> (bf16, u32) {
    let bits = single.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let midpoint = bits & 0xffff == 0x8000;
    let tiny = (bits & 0x7fff_ffff) < SMALLEST_VIA_F32;
    (bf16::from_bits(rounded as u16), u32::from(midpoint | tiny))
}

/// The same for f16; its subnormal numbers are left to the ladder.
#[inline(always)]
fn settle_f16(single: f32) -> (f16, u32) {
    let bits = single.to_bits();
    let size = bits & 0x7fff_ffff;
    let rounded = size.wrapping_add(0xfff + ((size >> 13) & 1)) >> 13;
    let midpoint = bits & 0x1fff == 0x1000;
    let subnormal = size < F16_SMALLEST_NORMAL;
    let pattern = rounded.wrapping_sub(112 << 10) | ((bits >> 16) & 0x8000);
    (
        f16::from_bits(pattern as u16),
        u32::from(midpoint | subnormal),
    )
}

/// 2^-24 as f32 bits: from here on half a unit of f32 is 2^-48 or more.
const SMALLEST_VIA_F32: u32 = (127 - 24) << 23;
/// 2^-14 as f32 bits.
const F16_SMALLEST_NORMAL: u32 = (127 - 14) << 23;

impl Lane for f64 {
    const SINGLE: bool = false;

    /// Never settles: 53 bits are the answer here, not the working precision.
    #[inline(always)]
    fn write(_: impl Iterator<Item = (f64, f64)>, _: PairSlices<'_, Self>) -> u32 {
        1
    }

    #[inline(always)]
    fn check(_: f64) -> u32 {
        1
    }

    #[inline(always)]
    fn rotate(seeds: &[f64], fine: &[f64], out: PairSlices<'_, Self>) -> bool {
        rotate::double(seeds, fine, out)
    }

    fn zeros(len: usize) -> Vec<Self> {
        vec![0.0; len]
    }
}

/// `high` + `low`, with `high` at least as large, rounded to f64 and checked against
/// [`DOUBLE_ERROR`].
#[inline(always)]
pub(crate) fn settle_f64(high: f64, low: f64) -> (f64, u32) {
    let below = high + (low - DOUBLE_ERROR);
    let above = high + (low + DOUBLE_ERROR);
    let differ = below.to_bits() ^ above.to_bits();
    (above, (differ | (differ >> 32)) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::Element;

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
                settled[1] += agree(value, settle_bf16(value as f32));
                settled[2] += agree(value, settle_f16(value as f32));
            }
        }
        assert!(settled.iter().all(|count| *count > 200_000), "{settled:?}");
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
        assert_ne!(settle_f64(0.5, half_unit).1, 0);
        assert_eq!(settle_f64(0.5, half_unit * (1.0 - 1e-4)), (0.5, 0));
        let above = 0.5 + f64::EPSILON / 2.0;
        assert_eq!(settle_f64(0.5, half_unit * (1.0 + 1e-4)), (above, 0));
        assert_eq!(settle_f64(-0.5, -half_unit * (1.0 + 1e-4)), (-above, 0));
        // Differences in the high word count as well.
        assert_ne!(settle_f64(1.0, -half_unit).1, 0);
    }
}
