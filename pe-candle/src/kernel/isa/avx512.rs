//! AVX-512 with the parts F, BW, CD, DQ and VL: all of a step in one register.

use std::arch::x86_64::{__m256i, __m512, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT};

use pulp::x86::V4;
use pulp::{NullaryFnOnce, cast};

use super::{Isa, STEP, Work};

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Runs the work, compiled for this instruction set.
pub(super) fn run<W: Work>(isa: V4, work: W) -> W::Output {
    struct Call<W>(V4, W);

    impl<W: Work> NullaryFnOnce for Call<W> {
        type Output = W::Output;

        #[inline(always)]
        fn call(self) -> W::Output {
            self.1.run(self.0)
        }
    }

    isa.vectorize(Call(isa, work))
}

impl Isa for V4 {
    type Singles = __m512;
    type Words = __m512i;

    #[inline(always)]
    fn singles(self, from: [f32; STEP]) -> __m512 {
        cast(from)
    }

    #[inline(always)]
    fn array(self, singles: __m512) -> [f32; STEP] {
        cast(singles)
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        self.avx512f._mm512_set1_ps(value)
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        self.avx512f._mm512_add_ps(a, b)
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        self.avx512f._mm512_mul_ps(a, b)
    }

    #[inline(always)]
    fn widen_f16(self, bits: [u16; STEP]) -> __m512 {
        self.avx512f._mm512_cvtph_ps(cast(bits))
    }

    #[inline(always)]
    fn narrow_f16(self, singles: __m512) -> [u16; STEP] {
        cast(self.avx512f._mm512_cvtps_ph::<NEAREST>(singles))
    }

    #[inline(always)]
    fn widen_bf16(self, bits: [u16; STEP]) -> __m512 {
        let wide = self.avx512f._mm512_cvtepu16_epi32(cast(bits));
        cast(self.avx512f._mm512_slli_epi32::<16>(wide))
    }

    #[inline(always)]
    fn narrow_bf16(self, singles: __m512) -> [u16; STEP] {
        let f = self.avx512f;
        let bits: __m512i = cast(singles);
        let high = f._mm512_srli_epi32::<16>(bits);
        let odd = f._mm512_and_si512(high, f._mm512_set1_epi32(1));
        let rounded = f._mm512_add_epi32(bits, f._mm512_set1_epi32(0x7fff));
        let nearest = f._mm512_srli_epi32::<16>(f._mm512_add_epi32(rounded, odd));
        let nan = f._mm512_cmpunord_ps_mask(singles, singles);
        let narrow = f._mm512_mask_or_epi32(nearest, nan, high, f._mm512_set1_epi32(0x40));
        let narrow: __m256i = f._mm512_cvtepi32_epi16(narrow);
        cast(narrow)
    }

    #[inline(always)]
    fn words(self, from: [u32; STEP]) -> __m512i {
        cast(from)
    }

    #[inline(always)]
    fn word_array(self, words: __m512i) -> [u32; STEP] {
        cast(words)
    }

    #[inline(always)]
    fn keep(self, words: __m512i, threshold: u32, singles: __m512) -> __m512 {
        let f = self.avx512f;
        let threshold = f._mm512_set1_epi32(threshold as i32);
        let kept = f._mm512_cmpge_epu32_mask(words, threshold);
        f._mm512_maskz_mov_ps(kept, singles)
    }
}
