//! Element types, and what is computed with them: one by one, and in steps of [`STEP`] on an instruction set.

use std::ops::{Add, Mul};

use half::{bf16, f16};
use pulp::bytemuck::Pod;
use pulp::cast;

use super::half_bits::{narrow_bf16, narrow_f16, widen_bf16, widen_f16};
use super::isa::{Isa, STEP};

/// A type that is computed in: `f32` or `f64`.
pub(crate) trait Wide:
    Pod + Default + Send + Sync + Add<Output = Self> + Mul<Output = Self>
{
    const ZERO: Self;

    /// [`STEP`] numbers on an instruction set.
    type Step<I: Isa>: Copy;

    fn from_f64(value: f64) -> Self;

    fn step<I: Isa>(isa: I, from: [Self; STEP]) -> Self::Step<I>;
    fn array<I: Isa>(isa: I, step: Self::Step<I>) -> [Self; STEP];
    fn splat<I: Isa>(isa: I, value: Self) -> Self::Step<I>;
    fn sum<I: Isa>(isa: I, a: Self::Step<I>, b: Self::Step<I>) -> Self::Step<I>;
    fn product<I: Isa>(isa: I, a: Self::Step<I>, b: Self::Step<I>) -> Self::Step<I>;
    /// Each number whose word is `threshold` or more, and +0 instead of the others.
    fn keep<I: Isa>(isa: I, words: I::Words, threshold: u32, a: Self::Step<I>) -> Self::Step<I>;
}

impl Wide for f32 {
    const ZERO: Self = 0.0;

    type Step<I: Isa> = I::Singles;

    fn from_f64(value: f64) -> Self {
        value as Self
    }

    #[inline(always)]
    fn step<I: Isa>(isa: I, from: [Self; STEP]) -> I::Singles {
        isa.singles(from)
    }

    #[inline(always)]
    fn array<I: Isa>(isa: I, step: I::Singles) -> [Self; STEP] {
        isa.array(step)
    }

    #[inline(always)]
    fn splat<I: Isa>(isa: I, value: Self) -> I::Singles {
        isa.splat(value)
    }

    #[inline(always)]
    fn sum<I: Isa>(isa: I, a: I::Singles, b: I::Singles) -> I::Singles {
        isa.add(a, b)
    }

    #[inline(always)]
    fn product<I: Isa>(isa: I, a: I::Singles, b: I::Singles) -> I::Singles {
        isa.mul(a, b)
    }

    #[inline(always)]
    fn keep<I: Isa>(isa: I, words: I::Words, threshold: u32, a: I::Singles) -> I::Singles {
        isa.keep(words, threshold, a)
    }
}

impl Wide for f64 {
    const ZERO: Self = 0.0;

    type Step<I: Isa> = I::Doubles;

    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn step<I: Isa>(isa: I, from: [Self; STEP]) -> I::Doubles {
        isa.doubles(from)
    }

    #[inline(always)]
    fn array<I: Isa>(isa: I, step: I::Doubles) -> [Self; STEP] {
        isa.double_array(step)
    }

    #[inline(always)]
    fn splat<I: Isa>(isa: I, value: Self) -> I::Doubles {
        isa.splat_double(value)
    }

    #[inline(always)]
    fn sum<I: Isa>(isa: I, a: I::Doubles, b: I::Doubles) -> I::Doubles {
        isa.add_doubles(a, b)
    }

    #[inline(always)]
    fn product<I: Isa>(isa: I, a: I::Doubles, b: I::Doubles) -> I::Doubles {
        isa.mul_doubles(a, b)
    }

    #[inline(always)]
    fn keep<I: Isa>(isa: I, words: I::Words, threshold: u32, a: I::Doubles) -> I::Doubles {
        isa.keep_doubles(words, threshold, a)
    }
}

/// An element of an input, and the type it is computed in.
pub(crate) trait Number: Entry<Self::Wide> {
    type Wide: Wide;

    /// The nearest number of this type, ties to even.
    fn narrow(wide: Self::Wide) -> Self;

    /// The nearest numbers of this type, ties to even.
    fn store<I: Isa>(isa: I, wide: <Self::Wide as Wide>::Step<I>) -> [Self; STEP];
}

/// A number that a computation in `W` takes without loss.
pub(crate) trait Entry<W: Wide>: Pod + Default + Send + Sync {
    fn widen(self) -> W;

    fn load<I: Isa>(isa: I, from: [Self; STEP]) -> W::Step<I>;
}

macro_rules! own_type {
    ($type:ty) => {
        impl Entry<$type> for $type {
            #[inline(always)]
            fn widen(self) -> $type {
                self
            }

            #[inline(always)]
            fn load<I: Isa>(isa: I, from: [Self; STEP]) -> <$type as Wide>::Step<I> {
                <$type>::step(isa, from)
            }
        }

        impl Number for $type {
            type Wide = $type;

            #[inline(always)]
            fn narrow(wide: $type) -> $type {
                wide
            }

            #[inline(always)]
            fn store<I: Isa>(isa: I, wide: <$type as Wide>::Step<I>) -> [Self; STEP] {
                <$type>::array(isa, wide)
            }
        }
    };
}

own_type!(f32);
own_type!(f64);

impl Entry<f64> for f32 {
    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn load<I: Isa>(isa: I, from: [Self; STEP]) -> I::Doubles {
        isa.widen_f32(from)
    }
}

macro_rules! half_type {
    ($type:ty, $widen:ident, $narrow:ident) => {
        impl Entry<f32> for $type {
            #[inline(always)]
            fn widen(self) -> f32 {
                $widen(self.to_bits())
            }

            #[inline(always)]
            fn load<I: Isa>(isa: I, from: [Self; STEP]) -> I::Singles {
                isa.$widen(cast(from))
            }
        }

        impl Number for $type {
            type Wide = f32;

            #[inline(always)]
            fn narrow(wide: f32) -> Self {
                Self::from_bits($narrow(wide))
            }

            #[inline(always)]
            fn store<I: Isa>(isa: I, wide: I::Singles) -> [Self; STEP] {
                cast(isa.$narrow(wide))
            }
        }
    };
}

half_type!(bf16, widen_bf16, narrow_bf16);
half_type!(f16, widen_f16, narrow_f16);

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
                let (b, h) = (bf16::narrow(single), f16::narrow(single));
                let (wanted_b, wanted_h) = (bf16::from_f32(single), f16::from_f32(single));
                assert_eq!(b.to_bits(), wanted_b.to_bits(), "{single:e}");
                let both_nan = h.is_nan() && wanted_h.is_nan();
                assert!(h.to_bits() == wanted_h.to_bits() || both_nan, "{single:e}");
            }
        }
    }
}
