//! Fused kernels for the CPU: one pass over the activations.
//!
//! Each has its plain twin in Candle's own operations (`plain.rs`, and the portable
//! route of `dropout.rs`), and gives the same bits.

mod add;
mod mask;
mod number;
mod run;
mod view;

use pulp::Arch;

pub(crate) use add::{AddEncoding, Gradient, Positions};
pub(crate) use mask::{Mask, Masking};

/// An instruction set: for the tests.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct Backend(Arch);

impl Backend {
    /// The widest that this machine has.
    pub fn best() -> Self {
        Self(Arch::new())
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
