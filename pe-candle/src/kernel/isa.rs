//! The instruction sets a kernel is compiled for: one is chosen at run time.
//!
//! A kernel is a [`Work`]: a structure with a method that is generic over the instruction
//! set. All that it calls must be `#[inline(always)]`, or it is compiled for the plain set.
//! Numbers go through it in steps of [`STEP`]: loaded and widened by
//! [`Entry::load`](super::number::Entry::load), computed with by the methods of
//! [`Wide`](super::number::Wide), rounded and stored by
//! [`Number::store`](super::number::Number::store).
//!
//! Every set gives the same bits, except that the payload of a sum of two NaNs is open.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod philox;
mod plain;

use pe_core::Backend;

use super::mask::Mask;
use plain::Plain;
pub(crate) use plain::each;

/// Numbers that are computed with at a time, whatever the width of a vector.
pub(crate) const STEP: usize = 16;

/// What is run on an instruction set.
pub(crate) trait Work {
    type Output;

    /// To be marked `#[inline(always)]`.
    fn run<I: Isa>(self, isa: I) -> Self::Output;
}

/// Work and the instruction set that it runs on, to be called where code is compiled for that.
#[cfg(target_arch = "x86_64")]
struct Call<I, W>(I, W);

#[cfg(target_arch = "x86_64")]
impl<I: Isa, W: Work> pulp::NullaryFnOnce for Call<I, W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.1.run(self.0)
    }
}

/// An instruction set that this machine has. A value of the type is the proof.
pub(crate) trait Isa: Copy + Send + Sync + 'static {
    /// [`STEP`] numbers of type `f32`.
    type Singles: Copy;
    /// [`STEP`] numbers of type `f64`.
    type Doubles: Copy;
    /// [`STEP`] random words.
    type Words: Copy;
    /// What the random words of a mask are made with.
    type Keys;

    fn singles(self, from: [f32; STEP]) -> Self::Singles;
    fn array(self, singles: Self::Singles) -> [f32; STEP];
    fn splat(self, value: f32) -> Self::Singles;
    fn add(self, a: Self::Singles, b: Self::Singles) -> Self::Singles;
    fn mul(self, a: Self::Singles, b: Self::Singles) -> Self::Singles;

    /// From the bits of `f16`. NaNs become quiet and keep sign and payload.
    fn widen_f16(self, bits: [u16; STEP]) -> Self::Singles;
    /// The nearest `f16`, ties to even. NaNs become quiet, and lose the end of their payload.
    fn narrow_f16(self, singles: Self::Singles) -> [u16; STEP];
    /// From the bits of `bf16`, which are the first half of an `f32`.
    fn widen_bf16(self, bits: [u16; STEP]) -> Self::Singles;
    /// The nearest `bf16`, ties to even. NaNs as in [`narrow_f16`](Self::narrow_f16).
    fn narrow_bf16(self, singles: Self::Singles) -> [u16; STEP];

    fn doubles(self, from: [f64; STEP]) -> Self::Doubles;
    fn double_array(self, doubles: Self::Doubles) -> [f64; STEP];
    fn splat_double(self, value: f64) -> Self::Doubles;
    fn add_doubles(self, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles;
    fn mul_doubles(self, a: Self::Doubles, b: Self::Doubles) -> Self::Doubles;
    fn widen_f32(self, from: [f32; STEP]) -> Self::Doubles;

    fn words(self, from: [u32; STEP]) -> Self::Words;
    /// For the tests.
    #[cfg(test)]
    fn word_array(self, words: Self::Words) -> [u32; STEP];
    /// Each number whose word is `threshold` or more, and +0 instead of the others.
    fn keep(self, words: Self::Words, threshold: u32, singles: Self::Singles) -> Self::Singles;
    /// The same.
    fn keep_doubles(
        self,
        words: Self::Words,
        threshold: u32,
        doubles: Self::Doubles,
    ) -> Self::Doubles;

    fn keys(self, mask: &Mask) -> Self::Keys;
    /// The random words of the 16 blocks from that of the low and high word on. The high word
    /// must be that of all of them.
    fn group(self, mask: &Mask, keys: &Self::Keys, low: u32, high: u32) -> [Self::Words; 4];
}

/// The instruction set that is to be used.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    /// What every processor of the architecture has. On aarch64 this is NEON.
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
}

impl Level {
    /// Runs the work, compiled for this instruction set.
    #[inline]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Plain => work.run(Plain),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(isa) => isa.run(work),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(isa) => isa.vectorize(Call(isa, work)),
        }
    }
}

impl From<Backend> for Level {
    /// The instruction set of a table's own loops, or the nearest below it.
    fn from(backend: Backend) -> Self {
        match backend.arch() {
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V4(v4) => Self::Avx512(v4),
            // Every processor made with AVX2 has F16C.
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V3(v3) => avx2::Avx2::new(v3).map_or(Self::Plain, Self::Avx2),
            _ => Self::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::half_bits::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};

    fn levels() -> impl Iterator<Item = (&'static str, Level)> {
        let all = Backend::available().into_iter();
        all.map(|(name, backend)| (name, backend.into()))
    }

    struct Widen([u16; STEP]);

    impl Work for Widen {
        type Output = [[f32; STEP]; 2];

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            [isa.widen_f16(self.0), isa.widen_bf16(self.0)].map(|wide| isa.array(wide))
        }
    }

    struct Narrow([f32; STEP]);

    impl Work for Narrow {
        type Output = [[u16; STEP]; 2];

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            let singles = isa.singles(self.0);
            [isa.narrow_f16(singles), isa.narrow_bf16(singles)]
        }
    }

    #[test]
    fn every_half_widens_to_the_same_bits_on_every_set() {
        for (name, level) in levels() {
            for first in (0..=u16::MAX).step_by(STEP) {
                let bits = std::array::from_fn(|lane| first + lane as u16);
                let [f16s, bf16s] = level.run(Widen(bits));
                for lane in 0..STEP {
                    let (f16, bf16) = (widen_f16(bits[lane]), widen_bf16(bits[lane]));
                    assert_eq!(f16s[lane].to_bits(), f16.to_bits(), "{name} {bits:x?}");
                    assert_eq!(bf16s[lane].to_bits(), bf16.to_bits(), "{name} {bits:x?}");
                }
            }
        }
    }

    #[test]
    fn every_kind_of_single_narrows_to_the_same_bits_on_every_set() {
        // Each sign, exponent and leading fraction, with rests about the midpoints.
        let rests = [
            0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001, 0xefff,
            0xf000, 0xf001, 0xffff, 0x5a5a,
        ];
        for (name, level) in levels() {
            for top in 0..=u16::MAX {
                let singles = rests.map(|rest| f32::from_bits(u32::from(top) << 16 | rest));
                let [f16s, bf16s] = level.run(Narrow(singles));
                for lane in 0..STEP {
                    let (f16, bf16) = (narrow_f16(singles[lane]), narrow_bf16(singles[lane]));
                    assert_eq!(
                        (f16s[lane], bf16s[lane]),
                        (f16, bf16),
                        "{name} {top:x} {lane}"
                    );
                }
            }
        }
    }
}
