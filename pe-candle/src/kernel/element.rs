//! Element types, and the types that they are computed in.

use std::ops::{Add, Mul};

use half::{bf16, f16};
use pulp::bytemuck::Pod;
use pulp::cast;

use super::half_bits::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};
use super::isa::{CHUNK, Isa, Ops};

/// A type that is computed in: `f32` or `f64`.
pub(crate) trait Compute:
    Pod + Default + Send + Sync + Add<Output = Self> + Mul<Output = Self>
{
    /// The operations of an instruction set on this type.
    type Ops<I: Isa>: Ops<Self>;

    fn ops<I: Isa>(isa: I) -> Self::Ops<I>;
    fn from_f64(value: f64) -> Self;
}

/// [`CHUNK`] values of the type that `T` is computed in, on an instruction set.
pub(crate) type Chunk<I, T> =
    <<<T as Activation>::Compute as Compute>::Ops<I> as Ops<<T as Activation>::Compute>>::Chunk;

/// The type of the elements of an input.
pub(crate) trait Activation: Entry<Self::Compute> {
    type Compute: Compute;

    /// Whether AVX-512 pays for additions, where AVX2 is bound by memory for most types.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    const AVX512_PAYS: bool = false;

    /// Rounds to the nearest value of this type, ties to even.
    fn round(value: Self::Compute) -> Self;

    /// Rounds to the nearest values of this type, ties to even.
    fn store<I: Isa>(isa: I, chunk: Chunk<I, Self>) -> [Self; CHUNK];
}

/// An element, of an input or a table, that a computation in `C` reads without loss.
pub(crate) trait Entry<C: Compute>: Pod + Default + Send + Sync {
    fn widen(self) -> C;

    fn load<I: Isa>(isa: I, from: [Self; CHUNK]) -> <C::Ops<I> as Ops<C>>::Chunk;
}

macro_rules! computed_in_itself {
    ($type:ty) => {
        impl Compute for $type {
            type Ops<I: Isa> = I;

            #[inline(always)]
            fn ops<I: Isa>(isa: I) -> I {
                isa
            }

            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }

        impl Entry<$type> for $type {
            #[inline(always)]
            fn widen(self) -> $type {
                self
            }

            #[inline(always)]
            fn load<I: Isa>(isa: I, from: [Self; CHUNK]) -> <I as Ops<$type>>::Chunk {
                isa.load(from)
            }
        }

        impl Activation for $type {
            type Compute = $type;

            #[inline(always)]
            fn round(value: $type) -> $type {
                value
            }

            #[inline(always)]
            fn store<I: Isa>(isa: I, chunk: <I as Ops<$type>>::Chunk) -> [Self; CHUNK] {
                Ops::<$type>::array(isa, chunk)
            }
        }
    };
}

computed_in_itself!(f32);
computed_in_itself!(f64);

impl Entry<f64> for f32 {
    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn load<I: Isa>(isa: I, from: [Self; CHUNK]) -> <I as Ops<f64>>::Chunk {
        isa.widen_f32(from)
    }
}

macro_rules! computed_in_f32 {
    ($type:ty, $widen:ident, $narrow:ident, $avx512_pays:literal) => {
        impl Entry<f32> for $type {
            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self.to_bits())
            }

            #[inline(always)]
            fn load<I: Isa>(isa: I, from: [Self; CHUNK]) -> <I as Ops<f32>>::Chunk {
                isa.$widen(cast(from))
            }
        }

        impl Activation for $type {
            type Compute = f32;

            const AVX512_PAYS: bool = $avx512_pays;

            #[inline(always)]
            fn round(value: f32) -> Self {
                Self::from_bits($narrow(value))
            }

            #[inline(always)]
            fn store<I: Isa>(isa: I, chunk: <I as Ops<f32>>::Chunk) -> [Self; CHUNK] {
                cast(isa.$narrow(chunk))
            }
        }
    };
}

computed_in_f32!(bf16, widen_bf16, narrow_bf16, true);
computed_in_f32!(f16, widen_f16, narrow_f16, false);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_widens_as_in_half() {
        for bits in 0..=u16::MAX {
            let (b, h) = (bf16::from_bits(bits), f16::from_bits(bits));
            let b: (f32, f32) = (b.widen(), b.to_f32());
            let h: (f32, f32) = (h.widen(), h.to_f32());
            for (found, wanted) in [b, h] {
                let same = found.to_bits() == wanted.to_bits();
                assert!(same || found.is_nan() && wanted.is_nan(), "{bits:x}");
            }
        }
    }

    #[test]
    fn every_kind_of_single_narrows_as_in_half() {
        // Each sign, exponent and leading fraction, with rests about the midpoints.
        for top in 0..=u16::MAX {
            for rest in [
                0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x7fff, 0x8000, 0x8001,
                0xefff, 0xf000, 0xf001, 0xffff,
            ] {
                let single = f32::from_bits(u32::from(top) << 16 | rest);
                let (b, h) = (bf16::round(single), f16::round(single));
                let (wanted_b, wanted_h) = (bf16::from_f32(single), f16::from_f32(single));
                assert_eq!(b.to_bits(), wanted_b.to_bits(), "{single:e}");
                let both_nan = h.is_nan() && wanted_h.is_nan();
                assert!(h.to_bits() == wanted_h.to_bits() || both_nan, "{single:e}");
            }
        }
    }
}
