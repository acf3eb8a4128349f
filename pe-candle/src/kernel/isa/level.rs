//! The choice of an instruction set.

use pe_core::Backend;

#[cfg(target_arch = "x86_64")]
use super::Isa;
use super::Work;
#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
use super::baseline::Baseline;

/// The instruction set that is to be used.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    /// What every processor of the architecture has. On aarch64 this is NEON.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// AVX-512, and AVX2 for work that does not gain by more.
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4, Avx2),
}

impl Level {
    /// Runs the work, compiled for this instruction set.
    #[inline]
    pub(crate) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            Self::Baseline => work.run(Baseline),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(isa, _) if W::AVX512 => isa.vectorize(Call(isa, work)),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(isa) | Self::Avx512(_, isa) => isa.run(work),
        }
    }
}

/// Work and the instruction set that it runs on, to be called where code is compiled for that.
#[cfg(target_arch = "x86_64")]
pub(super) struct Call<I, W>(pub(super) I, pub(super) W);

#[cfg(target_arch = "x86_64")]
impl<I: Isa, W: Work> pulp::NullaryFnOnce for Call<I, W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.1.run(self.0)
    }
}

impl From<Backend> for Level {
    /// The instruction set of a table's own loops, or the nearest below it.
    fn from(backend: Backend) -> Self {
        match backend.arch() {
            // Every processor made with AVX2 has F16C.
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V4(v4) => {
                Avx2::new(*v4).map_or(Self::Baseline, |avx2| Self::Avx512(v4, avx2))
            }
            #[cfg(target_arch = "x86_64")]
            pulp::Arch::V3(v3) => Avx2::new(v3).map_or(Self::Baseline, Self::Avx2),
            _ => Self::Baseline,
        }
    }
}
