//! The choice of an instruction set.

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::Call;
use super::Work;
#[cfg(target_arch = "x86_64")]
use super::avx2::Avx2;
use super::baseline::Baseline;

/// The instruction set that is to be used.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Level {
    /// The instructions that every CPU of the architecture has. On aarch64 they include NEON.
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

    /// Does the same for large work that is run from several places, each of which would compile it again.
    #[inline(never)]
    pub(crate) fn run_apart<W: Work>(self, work: W) -> W::Output {
        self.run(work)
    }
}

/// The set that [`Level::best`] returns.
static BEST: OnceLock<Level> = OnceLock::new();

impl Level {
    /// Returns the best instruction set of this machine, or the forced one.
    pub(crate) fn best() -> Self {
        *BEST.get_or_init(|| Self::available().pop().unwrap_or(Self::Baseline))
    }

    /// Makes [`best`](Self::best) return this set for the rest of the process. Returns whether it did: after the first
    /// `best` it is too late.
    pub(crate) fn force(self) -> bool {
        BEST.set(self).is_ok()
    }

    /// Lists the instruction sets of this machine, the best one last.
    pub(crate) fn available() -> Vec<Self> {
        #[allow(unused_mut)]
        let mut levels = vec![Self::Baseline];
        // Every CPU with AVX2 has F16C.
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = pulp::x86::V3::try_new().and_then(Avx2::new) {
            levels.push(Self::Avx2(avx2));
            levels.extend(pulp::x86::V4::try_new().map(|v4| Self::Avx512(v4, avx2)));
        }
        levels
    }

    /// Returns the name of the set.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(..) => "avx512",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_forced_before_the_first_use_or_not_at_all() {
        // Other tests of this process may have asked before, or ask while this one runs.
        let before = Level::best();
        assert!(!Level::Baseline.force());
        assert_eq!(Level::best().name(), before.name());
    }

    /// The tests iterate over this list, so a missing instruction set is never tested.
    #[test]
    fn all_instruction_sets_of_this_machine_are_listed() {
        let mut expected = vec!["baseline"];
        #[cfg(target_arch = "x86_64")]
        {
            use std::is_x86_feature_detected as has;
            if has!("avx2") && has!("fma") && has!("f16c") {
                expected.push("avx2");
            }
            if has!("avx512f") && has!("avx512vl") {
                expected.push("avx512");
            }
        }
        let names: Vec<_> = Level::available().into_iter().map(Level::name).collect();
        assert_eq!(names, expected);
    }
}
