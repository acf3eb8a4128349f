//! AVX-512 with the parts F, BW, CD, DQ and VL: all of a chunk in one register.

use std::arch::x86_64::{
    __m256, __m512, __m512d, __m512i, _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT,
};

use pulp::cast;
use pulp::x86::V4;

use super::philox::{Keys, Lanes};
use super::{CHUNK, Group, Isa, Ops};
use crate::kernel::mask::{GROUP, Mask};

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// The high halves of lanes of 32 bits.
const HIGH: u32 = 0xaaaa_aaaa;

/// The sources of the halves of the lanes: the high ones are the first 16 in order.
const INTO_HIGH: [u16; 2 * CHUNK] = {
    let mut order = [0; 2 * CHUNK];
    let mut lane = 0;
    while lane < CHUNK {
        order[2 * lane + 1] = lane as u16;
        lane += 1;
    }
    order
};

/// The reverse: the first 16 are the high halves.
const FROM_HIGH: [u16; 2 * CHUNK] = {
    let mut order = [0; 2 * CHUNK];
    let mut lane = 0;
    while lane < CHUNK {
        order[lane] = 2 * lane as u16 + 1;
        lane += 1;
    }
    order
};

impl Ops<f32> for V4 {
    type Chunk = __m512;

    #[inline(always)]
    fn load(self, from: [f32; CHUNK]) -> __m512 {
        cast(from)
    }

    #[inline(always)]
    fn array(self, chunk: __m512) -> [f32; CHUNK] {
        cast(chunk)
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
    fn select(self, words: [u32; CHUNK], threshold: u32, chunk: __m512) -> __m512 {
        let f = self.avx512f;
        let threshold = f._mm512_set1_epi32(threshold as i32);
        let kept = f._mm512_cmpge_epu32_mask(cast(words), threshold);
        f._mm512_maskz_mov_ps(kept, chunk)
    }
}

impl Ops<f64> for V4 {
    type Chunk = [__m512d; 2];

    #[inline(always)]
    fn load(self, from: [f64; CHUNK]) -> Self::Chunk {
        cast(from)
    }

    #[inline(always)]
    fn array(self, chunk: Self::Chunk) -> [f64; CHUNK] {
        cast(chunk)
    }

    #[inline(always)]
    fn splat(self, value: f64) -> Self::Chunk {
        [self.avx512f._mm512_set1_pd(value); 2]
    }

    #[inline(always)]
    fn add(self, a: Self::Chunk, b: Self::Chunk) -> Self::Chunk {
        let f = self.avx512f;
        [f._mm512_add_pd(a[0], b[0]), f._mm512_add_pd(a[1], b[1])]
    }

    #[inline(always)]
    fn mul(self, a: Self::Chunk, b: Self::Chunk) -> Self::Chunk {
        let f = self.avx512f;
        [f._mm512_mul_pd(a[0], b[0]), f._mm512_mul_pd(a[1], b[1])]
    }

    #[inline(always)]
    fn select(self, words: [u32; CHUNK], threshold: u32, chunk: Self::Chunk) -> Self::Chunk {
        let f = self.avx512f;
        let threshold = f._mm512_set1_epi32(threshold as i32);
        let kept = f._mm512_cmpge_epu32_mask(cast(words), threshold);
        [
            f._mm512_maskz_mov_pd(kept as u8, chunk[0]),
            f._mm512_maskz_mov_pd((kept >> 8) as u8, chunk[1]),
        ]
    }
}

impl Isa for V4 {
    type Keys = Keys<__m512i>;

    const GROUPS: bool = true;

    const UNSCALED: bool = true;

    #[inline(always)]
    fn widen_f16(self, bits: [u16; CHUNK]) -> __m512 {
        self.avx512f._mm512_cvtph_ps(cast(bits))
    }

    #[inline(always)]
    fn narrow_f16(self, singles: __m512) -> [u16; CHUNK] {
        cast(self.avx512f._mm512_cvtps_ph::<NEAREST>(singles))
    }

    /// Uses one permutation, which leaves the low halves of the lanes zero.
    #[inline(always)]
    fn widen_bf16(self, bits: [u16; CHUNK]) -> __m512 {
        let all = self.avx512f._mm512_zextsi256_si512(cast(bits));
        let (bw, order) = (self.avx512bw, cast(INTO_HIGH));
        cast(bw._mm512_maskz_permutexvar_epi16(HIGH, order, all))
    }

    /// Adds half of the last kept bit if that bit is set, and one less otherwise: ties become even.
    #[inline(always)]
    fn narrow_bf16(self, singles: __m512) -> [u16; CHUNK] {
        let f = self.avx512f;
        let bits: __m512i = cast(singles);
        let odd = f._mm512_test_epi32_mask(bits, f._mm512_set1_epi32(0x1_0000));
        let rounded = f._mm512_add_epi32(bits, f._mm512_set1_epi32(0x7fff));
        let nearest = f._mm512_mask_add_epi32(rounded, odd, rounded, f._mm512_set1_epi32(1));
        let nan = f._mm512_cmpunord_ps_mask(singles, singles);
        let narrow = f._mm512_mask_or_epi32(nearest, nan, bits, f._mm512_set1_epi32(0x40_0000));
        let halves = self
            .avx512bw
            ._mm512_permutexvar_epi16(cast(FROM_HIGH), narrow);
        cast(f._mm512_castsi512_si256(halves))
    }

    #[inline(always)]
    fn widen_f32(self, from: [f32; CHUNK]) -> <Self as Ops<f64>>::Chunk {
        let [low, high]: [__m256; 2] = cast(from);
        let f = self.avx512f;
        [f._mm512_cvtps_pd(low), f._mm512_cvtps_pd(high)]
    }

    #[inline(always)]
    fn narrow_f64(self, chunk: <Self as Ops<f64>>::Chunk) -> [f32; CHUNK] {
        let f = self.avx512f;
        let singles: [__m256; 2] = [f._mm512_cvtpd_ps(chunk[0]), f._mm512_cvtpd_ps(chunk[1])];
        cast(singles)
    }

    #[inline(always)]
    fn keys(self, mask: &Mask) -> Self::Keys {
        Keys::new(self, mask)
    }

    #[inline(always)]
    fn group(self, keys: &Self::Keys, low: u32, high: u32) -> [u32; GROUP] {
        let f = self.avx512f;
        // The order in which unpacking leaves them in sequence.
        let order = f._mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0);
        let first = f._mm512_add_epi64(order, f._mm512_set1_epi64(low.into()));
        let second = f._mm512_add_epi64(first, f._mm512_set1_epi64(8));
        let [[a01, a23], [b01, b23]] = keys.words(self, [first, second], high);
        cast([
            f._mm512_unpacklo_epi64(a01, a23),
            f._mm512_unpackhi_epi64(a01, a23),
            f._mm512_unpacklo_epi64(b01, b23),
            f._mm512_unpackhi_epi64(b01, b23),
        ])
    }

    #[inline(always)]
    fn words(self, mask: &Mask, keys: &Self::Keys, block: u64, words: &mut [u32; GROUP]) {
        #[inline(never)]
        fn outlined(isa: V4, group: Group<'_, V4>) {
            isa.vectorize(group);
        }

        let group = Group {
            isa: self,
            mask,
            keys,
            block,
            words,
        };
        outlined(self, group);
    }
}

impl Lanes for V4 {
    type V = __m512i;

    #[inline(always)]
    fn splat(self, value: u64) -> __m512i {
        self.avx512f._mm512_set1_epi64(value as i64)
    }

    #[inline(always)]
    fn product(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_mul_epu32(a, b)
    }

    #[inline(always)]
    fn high(self, a: __m512i) -> __m512i {
        self.avx512f._mm512_srli_epi64::<32>(a)
    }

    #[inline(always)]
    fn xor(self, a: __m512i, b: __m512i) -> __m512i {
        self.avx512f._mm512_xor_si512(a, b)
    }

    #[inline(always)]
    fn xor3(self, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        self.avx512f
            ._mm512_ternarylogic_epi64::<0b1001_0110>(a, b, c)
    }

    #[inline(always)]
    fn last(self, product: __m512i, a: __m512i, b: __m512i) -> __m512i {
        let even = 0b0101_0101_0101_0101;
        let f = self.avx512f;
        let swapped = f._mm512_shuffle_epi32::<0b10_11_00_01>(product);
        f._mm512_mask_ternarylogic_epi32::<0b1001_0110>(swapped, even, a, b)
    }
}
