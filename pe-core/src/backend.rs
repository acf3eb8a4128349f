//! The instruction sets: chosen at run time, and forced by the tests.

use pulp::Arch;

/// An instruction set: for the tests.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Backend(Arch);

impl Backend {
    /// The widest that this machine has.
    pub fn best() -> Self {
        Self(Arch::new())
    }

    /// For [`Arch::dispatch`].
    pub fn arch(self) -> Arch {
        self.0
    }

    /// All that this machine has, with their names.
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
        if !matches!(Arch::new(), Arch::Scalar) {
            list.push(("NEON", Self::best()));
        }
        list
    }
}
