//! AVX2 with FMA and F16C: a step in two registers.

use std::arch::x86_64::{__m128i, __m256, __m256i};

use pulp::cast;
use pulp::core_arch::x86::F16c;
use pulp::x86::V3;

use super::{Isa, STEP};
use crate::kernel::raw;

/// The proof that a machine has them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Avx2 {
    v3: V3,
    f16c: F16c,
}

impl Avx2 {
    /// `None` without F16C.
    pub(crate) fn new(v3: V3) -> Option<Self> {
        F16c::try_new().map(|f16c| Self { v3, f16c })
    }

    /// `bf16` in the low half of each lane.
    #[inline(always)]
    fn narrowed(self, singles: __m256) -> __m256i {
        let (avx, avx2) = (self.v3.avx, self.v3.avx2);
        let bits: __m256i = cast(singles);
        let high = avx2._mm256_srli_epi32::<16>(bits);
        let odd = avx2._mm256_and_si256(high, avx._mm256_set1_epi32(1));
        let rounded = avx2._mm256_add_epi32(bits, avx._mm256_set1_epi32(0x7fff));
        let nearest = avx2._mm256_srli_epi32::<16>(avx2._mm256_add_epi32(rounded, odd));
        let quiet = avx2._mm256_or_si256(high, avx._mm256_set1_epi32(0x40));
        let nan = avx._mm256_cmp_ps::<{ std::arch::x86_64::_CMP_UNORD_Q }>(singles, singles);
        avx2._mm256_blendv_epi8(nearest, quiet, cast(nan))
    }
}

/// Both halves of a step.
#[inline(always)]
fn both<A: Copy, B>(step: [A; 2], f: impl Fn(A) -> B) -> [B; 2] {
    [f(step[0]), f(step[1])]
}

impl Isa for Avx2 {
    type Singles = [__m256; 2];
    type Words = [__m256i; 2];

    #[inline(always)]
    fn singles(self, from: [f32; STEP]) -> Self::Singles {
        cast(from)
    }

    #[inline(always)]
    fn array(self, singles: Self::Singles) -> [f32; STEP] {
        cast(singles)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> Self::Singles {
        [self.v3.avx._mm256_set1_ps(value); 2]
    }

    #[inline(always)]
    fn add(self, a: Self::Singles, b: Self::Singles) -> Self::Singles {
        let avx = self.v3.avx;
        [avx._mm256_add_ps(a[0], b[0]), avx._mm256_add_ps(a[1], b[1])]
    }

    #[inline(always)]
    fn mul(self, a: Self::Singles, b: Self::Singles) -> Self::Singles {
        let avx = self.v3.avx;
        [avx._mm256_mul_ps(a[0], b[0]), avx._mm256_mul_ps(a[1], b[1])]
    }

    #[inline(always)]
    fn widen_f16(self, bits: [u16; STEP]) -> Self::Singles {
        both(
            cast(bits),
            #[inline(always)]
            |half| raw::widen_f16(self.f16c, half),
        )
    }

    #[inline(always)]
    fn narrow_f16(self, singles: Self::Singles) -> [u16; STEP] {
        cast(both(
            singles,
            #[inline(always)]
            |half| raw::narrow_f16(self.f16c, half),
        ))
    }

    #[inline(always)]
    fn widen_bf16(self, bits: [u16; STEP]) -> Self::Singles {
        let halves: [__m128i; 2] = cast(bits);
        both(
            halves,
            #[inline(always)]
            |half| {
                let wide = self.v3.avx2._mm256_cvtepu16_epi32(half);
                cast(self.v3.avx2._mm256_slli_epi32::<16>(wide))
            },
        )
    }

    #[inline(always)]
    fn narrow_bf16(self, singles: Self::Singles) -> [u16; STEP] {
        let [low, high] = both(
            singles,
            #[inline(always)]
            |half| self.narrowed(half),
        );
        // Packed within each half of the registers, and put in order after that.
        let packed = self.v3.avx2._mm256_packus_epi32(low, high);
        cast(
            self.v3
                .avx2
                ._mm256_permute4x64_epi64::<0b11_01_10_00>(packed),
        )
    }

    #[inline(always)]
    fn words(self, from: [u32; STEP]) -> Self::Words {
        cast(from)
    }

    #[inline(always)]
    fn word_array(self, words: Self::Words) -> [u32; STEP] {
        cast(words)
    }

    #[inline(always)]
    fn keep(self, words: Self::Words, threshold: u32, singles: Self::Singles) -> Self::Singles {
        let (avx, avx2) = (self.v3.avx, self.v3.avx2);
        let threshold = avx._mm256_set1_epi32(threshold as i32);
        let kept = both(
            words,
            #[inline(always)]
            |words| {
                // There is no comparison without sign.
                let larger = avx2._mm256_max_epu32(words, threshold);
                avx2._mm256_cmpeq_epi32(words, larger)
            },
        );
        [
            avx._mm256_and_ps(singles[0], cast(kept[0])),
            avx._mm256_and_ps(singles[1], cast(kept[1])),
        ]
    }
}
