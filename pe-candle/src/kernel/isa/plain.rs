//! What every processor has: loops that the compiler turns into its vectors.

use pulp::cast;

use super::{Isa, STEP};
use crate::kernel::half_bits::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};
use crate::kernel::mask::Mask;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Plain;

impl Isa for Plain {
    type Singles = [f32; STEP];
    type Doubles = [f64; STEP];
    type Words = [u32; STEP];
    type Keys = ();

    #[inline(always)]
    fn singles(self, from: [f32; STEP]) -> Self::Singles {
        from
    }

    #[inline(always)]
    fn array(self, singles: Self::Singles) -> [f32; STEP] {
        singles
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Self::Singles {
        [value; STEP]
    }

    #[inline(always)]
    fn add(self, a: Self::Singles, b: Self::Singles) -> Self::Singles {
        each(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn mul(self, a: Self::Singles, b: Self::Singles) -> Self::Singles {
        each(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn widen_f16(self, bits: [u16; STEP]) -> Self::Singles {
        each(|lane| widen_f16(bits[lane]))
    }

    #[inline(always)]
    fn narrow_f16(self, singles: Self::Singles) -> [u16; STEP] {
        each(|lane| narrow_f16(singles[lane]))
    }

    #[inline(always)]
    fn widen_bf16(self, bits: [u16; STEP]) -> Self::Singles {
        each(|lane| widen_bf16(bits[lane]))
    }

    #[inline(always)]
    fn narrow_bf16(self, singles: Self::Singles) -> [u16; STEP] {
        each(|lane| narrow_bf16(singles[lane]))
    }

    #[inline(always)]
    fn doubles(self, from: [f64; STEP]) -> Self::Doubles {
        from
    }

    #[inline(always)]
    fn double_array(self, doubles: Self::Doubles) -> [f64; STEP] {
        doubles
    }

    #[inline(always)]
    fn splat_double(self, value: f64) -> Self::Doubles {
        [value; STEP]
    }

    #[inline(always)]
    fn add_doubles(self, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles {
        each(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn mul_doubles(self, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles {
        each(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn widen_f32(self, from: [f32; STEP]) -> Self::Doubles {
        each(|lane| f64::from(from[lane]))
    }

    #[inline(always)]
    fn words(self, from: [u32; STEP]) -> Self::Words {
        from
    }

    #[cfg(test)]
    #[inline(always)]
    fn word_array(self, words: Self::Words) -> [u32; STEP] {
        words
    }

    #[inline(always)]
    fn keep(self, words: Self::Words, threshold: u32, singles: Self::Singles) -> Self::Singles {
        each(|lane| {
            if words[lane] >= threshold {
                singles[lane]
            } else {
                0.0
            }
        })
    }

    #[inline(always)]
    fn keep_doubles(
        self,
        words: Self::Words,
        threshold: u32,
        doubles: Self::Doubles,
    ) -> Self::Doubles {
        each(|lane| {
            if words[lane] >= threshold {
                doubles[lane]
            } else {
                0.0
            }
        })
    }

    #[inline(always)]
    fn keys(self, _: &Mask) {}

    #[inline(always)]
    fn group(self, mask: &Mask, (): &(), low: u32, high: u32) -> [[u32; STEP]; 4] {
        cast(mask.group(u64::from(high) << 32 | u64::from(low)))
    }
}

/// An array made lane by lane, in a loop that becomes vector code.
#[inline(always)]
pub(crate) fn each<T: Copy + Default>(f: impl Fn(usize) -> T) -> [T; STEP] {
    let mut out = [T::default(); STEP];
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(lane);
    }
    out
}
