//! The instructions of F16C, which `pulp` does not know, and code compiled for them.

use std::arch::x86_64::{
    __m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph,
};

use pulp::NullaryFnOnce;
use pulp::core_arch::x86::F16c;
use pulp::x86::V3;

/// Converts eight `f16` to `f32`.
#[inline(always)]
pub(crate) fn widen_f16(_: F16c, bits: __m128i) -> __m256 {
    // SAFETY: an `F16c` is made only where F16C, which includes AVX, was found.
    unsafe { _mm256_cvtph_ps(bits) }
}

/// Rounds to the eight nearest `f16`, ties to even.
#[inline(always)]
pub(crate) fn narrow_f16(_: F16c, singles: __m256) -> __m128i {
    // SAFETY: as in `widen_f16`.
    unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(singles) }
}

/// Runs the work, compiled for AVX2, FMA and F16C.
pub(crate) fn run_avx2<W: NullaryFnOnce>(_: V3, _: F16c, work: W) -> W::Output {
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    fn run<W: NullaryFnOnce>(work: W) -> W::Output {
        work.call()
    }

    // SAFETY: pulp makes a `V3` and an `F16c` only where all of these features were found.
    unsafe { run(work) }
}

/// Does what [`run_avx2`] does, and is never part of the caller.
#[inline(always)]
pub(crate) fn outlined_avx2<W: NullaryFnOnce>(_: V3, _: F16c, work: W) -> W::Output {
    #[inline(never)]
    #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
    fn run<W: NullaryFnOnce>(work: W) -> W::Output {
        work.call()
    }

    // SAFETY: as in `run_avx2`.
    unsafe { run(work) }
}
