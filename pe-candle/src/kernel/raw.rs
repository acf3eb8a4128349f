//! The only unsafe code of the crate: what the processor can do and safe code cannot ask for.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod f16c;

#[cfg(target_arch = "x86_64")]
pub(crate) use f16c::{narrow_f16, run_avx2, widen_f16};
