//! The baseline of the architecture: loops that the compiler vectorizes.

use std::ops::{Add, Mul};

use super::{CHUNK, Isa, Ops};
use crate::kernel::half_bits::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};
use crate::kernel::mask::{GROUP, Mask};

/// The instructions that every CPU of the architecture has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Baseline;

impl<C: Copy + Default + Add<Output = C> + Mul<Output = C>> Ops<C> for Baseline {
    type Chunk = [C; CHUNK];

    #[inline(always)]
    fn load(self, from: [C; CHUNK]) -> [C; CHUNK] {
        from
    }

    #[inline(always)]
    fn array(self, chunk: [C; CHUNK]) -> [C; CHUNK] {
        chunk
    }

    #[inline(always)]
    fn splat(self, value: C) -> [C; CHUNK] {
        [value; CHUNK]
    }

    #[inline(always)]
    fn add(self, a: [C; CHUNK], b: [C; CHUNK]) -> [C; CHUNK] {
        each(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn mul(self, a: [C; CHUNK], b: [C; CHUNK]) -> [C; CHUNK] {
        each(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn select(self, words: [u32; CHUNK], threshold: u32, chunk: [C; CHUNK]) -> [C; CHUNK] {
        each(|lane| match words[lane] >= threshold {
            true => chunk[lane],
            false => C::default(),
        })
    }
}

impl Isa for Baseline {
    type Keys = Mask;

    #[inline(always)]
    fn widen_f16(self, bits: [u16; CHUNK]) -> [f32; CHUNK] {
        widen(bits)
    }

    #[inline(always)]
    fn narrow_f16(self, singles: [f32; CHUNK]) -> [u16; CHUNK] {
        narrow(singles)
    }

    #[inline(always)]
    fn widen_bf16(self, bits: [u16; CHUNK]) -> [f32; CHUNK] {
        each(|lane| widen_bf16(bits[lane]))
    }

    #[inline(always)]
    fn narrow_bf16(self, singles: [f32; CHUNK]) -> [u16; CHUNK] {
        each(|lane| narrow_bf16(singles[lane]))
    }

    #[inline(always)]
    fn widen_f32(self, from: [f32; CHUNK]) -> [f64; CHUNK] {
        each(|lane| f64::from(from[lane]))
    }

    #[inline(always)]
    fn narrow_f64(self, chunk: [f64; CHUNK]) -> [f32; CHUNK] {
        each(|lane| chunk[lane] as f32)
    }

    #[inline(always)]
    fn keys(self, mask: &Mask) -> Mask {
        *mask
    }

    #[inline(always)]
    fn group(self, mask: &Mask, low: u32, high: u32) -> [u32; GROUP] {
        mask.group(u64::from(high) << 32 | u64::from(low))
    }

    #[inline(always)]
    fn words(self, mask: &Mask, _: &Mask, block: u64, words: &mut [u32; GROUP]) {
        *words = mask.group(block);
    }
}

/// Converts a chunk of `f16`. On x86-64, where nearly all CPUs have AVX2, its code is there once, and not in each kernel.
#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn widen(bits: [u16; CHUNK]) -> [f32; CHUNK] {
    each(|lane| widen_f16(bits[lane]))
}

/// Rounds a chunk to the nearest `f16`.
#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn narrow(singles: [f32; CHUNK]) -> [u16; CHUNK] {
    each(|lane| narrow_f16(singles[lane]))
}

/// Computes an array lane by lane, in a loop that becomes vector code.
#[inline(always)]
pub(crate) fn each<T: Copy + Default>(f: impl Fn(usize) -> T) -> [T; CHUNK] {
    let mut out = [T::default(); CHUNK];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(lane);
    }
    out
}
