//! The instruction sets that a kernel is compiled for: one is chosen at run time.
//!
//! A kernel is a [`Work`]: a structure with a method that is generic over the instruction set. All that it calls must be
//! `#[inline(always)]`, or it is compiled for the baseline. It handles elements in chunks of [`CHUNK`]: loaded and
//! widened by [`Entry::load`](super::element::Entry::load), computed with by [`Ops`], rounded and stored by
//! [`Activation::store`](super::element::Activation::store).
//!
//! Every set gives the same bits, except that the payload of a sum of two NaNs is open.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod baseline;
mod level;
#[cfg(target_arch = "x86_64")]
mod philox;

use super::mask::{GROUP, LANES, Mask};
pub(crate) use baseline::each;
pub(crate) use level::Level;

/// Elements that are computed with at a time, whatever the width of a vector.
pub(crate) const CHUNK: usize = 16;

/// Work that is run on an instruction set.
pub(crate) trait Work {
    type Output;

    /// Whether the work is compiled for AVX-512 too, and not for AVX2 at most.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    const AVX512: bool = true;

    /// Runs the work. Implementations are marked `#[inline(always)]`.
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

/// The random words of the elements `4 * block ..`, to be written where code is compiled for the instruction set.
#[cfg(target_arch = "x86_64")]
struct Group<'a, I: Isa> {
    isa: I,
    mask: &'a Mask,
    keys: &'a I::Keys,
    block: u64,
    words: &'a mut [u32; GROUP],
}

#[cfg(target_arch = "x86_64")]
impl<I: Isa> pulp::NullaryFnOnce for Group<'_, I> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (low, high) = (self.block as u32, (self.block >> 32) as u32);
        *self.words = match groups_before_carry(low) {
            0 => self.mask.group(self.block),
            _ => self.isa.group(self.keys, low, high),
        };
    }
}

/// Returns the number of groups, starting at a block with this low word, within which the high word does not change.
#[inline(always)]
pub(crate) fn groups_before_carry(low: u32) -> usize {
    (u32::MAX - low) as usize / LANES
}

/// The operations of an instruction set on chunks of one type.
pub(crate) trait Ops<C>: Copy {
    /// [`CHUNK`] values.
    type Chunk: Copy;

    fn load(self, from: [C; CHUNK]) -> Self::Chunk;
    fn array(self, chunk: Self::Chunk) -> [C; CHUNK];
    fn splat(self, value: C) -> Self::Chunk;
    fn add(self, a: Self::Chunk, b: Self::Chunk) -> Self::Chunk;
    fn mul(self, a: Self::Chunk, b: Self::Chunk) -> Self::Chunk;
    /// Returns the values with words of `threshold` or more, and +0 instead of the others.
    fn select(self, words: [u32; CHUNK], threshold: u32, chunk: Self::Chunk) -> Self::Chunk;
}

/// [`CHUNK`] values of type `f32` on an instruction set.
type Singles<I> = <I as Ops<f32>>::Chunk;

/// An instruction set that this machine has. A value of the type is the proof.
pub(crate) trait Isa: Ops<f32> + Ops<f64> + Send + Sync + 'static {
    /// The values that the random words of a mask are computed with.
    type Keys: Copy;

    /// Whether passes compute the random words of whole groups in registers, by a second copy of [`group`](Self::group).
    const GROUPS: bool = false;

    /// Whether passes with dropout have a loop of their own for inputs without a scale. Only AVX-512 is so fast that the scale of 1
    /// shows.
    const UNSCALED: bool = false;

    /// Converts the bits of `f16`. NaNs become quiet and keep sign and payload.
    fn widen_f16(self, bits: [u16; CHUNK]) -> Singles<Self>;
    /// Rounds to the nearest `f16`, ties to even. NaNs become quiet, and lose the end of their payload.
    fn narrow_f16(self, singles: Singles<Self>) -> [u16; CHUNK];
    /// Converts the bits of `bf16`, which are the first half of an `f32`.
    fn widen_bf16(self, bits: [u16; CHUNK]) -> Singles<Self>;
    /// Rounds to the nearest `bf16`, ties to even. NaNs as in [`narrow_f16`](Self::narrow_f16).
    fn narrow_bf16(self, singles: Singles<Self>) -> [u16; CHUNK];
    fn widen_f32(self, from: [f32; CHUNK]) -> <Self as Ops<f64>>::Chunk;
    /// Rounds to the nearest `f32`, ties to even.
    fn narrow_f64(self, chunk: <Self as Ops<f64>>::Chunk) -> [f32; CHUNK];

    /// Prepares the keys of the words of a mask.
    fn keys(self, mask: &Mask) -> Self::Keys;
    /// Computes the random words of the elements `4 * block ..`, where `high` is the high word of all their blocks.
    fn group(self, keys: &Self::Keys, low: u32, high: u32) -> [u32; GROUP];
    /// Writes the random words of the elements `4 * block ..` by a function of its own, so that its code is in no pass.
    fn words(self, mask: &Mask, keys: &Self::Keys, block: u64, words: &mut [u32; GROUP]);
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::kernel::half_bits::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};

    fn levels() -> impl Iterator<Item = (&'static str, Level)> {
        Level::available()
            .into_iter()
            .map(|level| (level.name(), level))
    }

    struct Widen([u16; CHUNK]);

    impl Work for Widen {
        type Output = [[f32; CHUNK]; 2];

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            [isa.widen_f16(self.0), isa.widen_bf16(self.0)].map(|wide| Ops::<f32>::array(isa, wide))
        }
    }

    struct Narrow([f32; CHUNK]);

    impl Work for Narrow {
        type Output = [[u16; CHUNK]; 2];

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            let singles = Ops::<f32>::load(isa, self.0);
            [isa.narrow_f16(singles), isa.narrow_bf16(singles)]
        }
    }

    #[test]
    fn every_half_widens_to_the_same_bits_on_every_set() {
        for (name, level) in levels() {
            for first in (0..=u16::MAX).step_by(CHUNK) {
                let bits = std::array::from_fn(|lane| first + lane as u16);
                let [f16s, bf16s] = level.run(Widen(bits));
                for lane in 0..CHUNK {
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
                for lane in 0..CHUNK {
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
