//! The instruction sets, chosen at run time and forced by tests and benchmarks.

use std::sync::OnceLock;

use pulp::Arch;

/// The set that [`Backend::best`] returns.
static BEST: OnceLock<Backend> = OnceLock::new();

/// An instruction set.
#[derive(Debug, Clone, Copy)]
pub struct Backend(Arch);

impl Backend {
    /// Returns the widest instruction set of this machine, or the forced one.
    pub fn best() -> Self {
        *BEST.get_or_init(|| Self(Arch::new()))
    }

    /// Makes [`best`](Self::best) return this set for the rest of the process. Returns whether it
    /// did: after the first `best` it is too late.
    pub fn force(self) -> bool {
        BEST.set(self).is_ok()
    }

    /// Returns the set for [`Arch::dispatch`].
    pub fn arch(self) -> Arch {
        self.0
    }

    /// Lists all instruction sets of this machine with their names.
    pub fn available() -> Vec<(&'static str, Self)> {
        #[allow(unused_mut)]
        let mut list = vec![("scalar", Self(Arch::Scalar))];
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        {
            if let Some(simd) = pulp::x86::V3::try_new() {
                list.push(("x86-64-v3 (AVX2, FMA)", Self(Arch::V3(simd))));
            }
            if let Some(simd) = pulp::x86::V4::try_new() {
                list.push(("x86-64-v4 (AVX-512)", Self(Arch::V4(simd))));
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(simd) = pulp::aarch64::Neon::try_new() {
            list.push(("NEON", Self(Arch::Neon(simd))));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_forced_before_the_first_use_or_not_at_all() {
        // Other tests of this process may have asked before, or ask while this one runs.
        let before = Backend::best();
        assert!(!Backend(Arch::Scalar).force());
        let after = Backend::best();
        assert_eq!(
            std::mem::discriminant(&after.arch()),
            std::mem::discriminant(&before.arch())
        );
    }

    /// The tests iterate over this list, so a missing instruction set is never tested.
    #[test]
    fn all_instruction_sets_of_this_machine_are_listed() {
        let mut expected = vec!["scalar"];
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        {
            use std::is_x86_feature_detected as has;
            // CPUs with AVX2 and FMA have the rest of x86-64-v3, CPUs with AVX-512VL the rest of
            // v4.
            if has!("avx2") && has!("fma") {
                expected.push("x86-64-v3 (AVX2, FMA)");
            }
            if has!("avx512f") && has!("avx512vl") {
                expected.push("x86-64-v4 (AVX-512)");
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            expected.push("NEON");
        }
        let list = Backend::available();
        let names: Vec<_> = list.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, expected);
        // Each set matches its name, and the best comes last.
        for (name, backend) in &list {
            let found = match backend.arch() {
                Arch::Scalar => "scalar",
                #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
                Arch::V3(_) => "x86-64-v3 (AVX2, FMA)",
                #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
                Arch::V4(_) => "x86-64-v4 (AVX-512)",
                #[cfg(target_arch = "aarch64")]
                Arch::Neon(_) => "NEON",
                #[allow(unreachable_patterns)]
                other => panic!("{other:?} has no name"),
            };
            assert_eq!(found, *name);
        }
        let same = |a: Backend, b: Backend| {
            std::mem::discriminant(&a.arch()) == std::mem::discriminant(&b.arch())
        };
        assert!(
            list.last()
                .is_some_and(|last| same(last.1, Backend::best()))
        );
    }
}
