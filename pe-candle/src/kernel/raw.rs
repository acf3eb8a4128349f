//! The only unsafe code of the crate: what safe code cannot ask for.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod f16c;
mod fresh;
mod helpers;
mod pages;
mod stream;

#[cfg(target_arch = "x86_64")]
pub(crate) use f16c::{narrow_f16, outlined_avx2, run_avx2, widen_f16};
pub(crate) use fresh::{Zeros, fresh, has_memory, zeros};
pub(crate) use helpers::{share_out, threads, together};
pub(crate) use pages::LARGE;
pub(crate) use stream::{Run, Stream};
