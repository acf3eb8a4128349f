//! Fused kernels for the CPU: one pass over the activations.
//!
//! Each kernel has a reference composed of Candle's own operations (`layers/reference.rs`, `reference.rs` in the folders of
//! the other layers, and the path of GPUs in `layers/dropout/op.rs`), and gives the same bits, on every instruction set and
//! for any number of threads. Two kernels differ from their references in the last bits: the softmax with a bias has an
//! exponential of its own, and the rotation by angles has the exact cosines and sines.
//!
//! The instruction set is chosen at run time (`isa/level.rs`). All unsafe code is in `raw/`, which imports nothing of the
//! crate.
//!
//! # Large results
//! From 32 MiB on glibc maps each result again, and the operating system zeroes it page by page while it is written:
//! 16,384 faults for 64 MiB. That is the limit of every operation with a result of its own. Four things are done about
//! it:
//!
//! - A call has one result where a composition has three to five.
//! - The thread that computes a piece of it writes it once. The memory is neither zeroed nor copied
//!   (`raw/stream.rs`, `raw/fresh.rs`).
//! - Results of 4 MiB or more ask for huge pages of 2 MiB (`raw/pages.rs`). On one thread 64 MiB of `f32` then take
//!   15 ms of CPU time instead of 46, and 32 MiB of `bf16` 8 instead of 21, where copies into small pages take 38 and
//!   19. Below 32 MiB the allocator keeps its memory, and huge pages change nothing. The tables of
//!   layers and of [`sinusoidal_tensor`](crate::sinusoidal_tensor) ask for them too.
//! - [`forward_inplace`](crate::PositionalEncoding::forward_inplace) needs no result. It is bound by the number of cache
//!   lines in flight, so it handles four batches in parallel where the table is larger than the L2 cache (`view.rs`).
//!
//! The advice names only pages that lie within a result as a whole, and all of them are written: a result uses no more
//! memory than without it. Linux has two switches for it: `/sys/kernel/mm/transparent_hugepage/enabled` (with `never`
//! the advice is ignored) and, for a process, `prctl(PR_SET_THP_DISABLE)`. An allocator that keeps large blocks, such as
//! mimalloc, needs no new pages at all.
//!
//! # Cost of the work
//! Per element in the L1 cache, on one thread, with AVX-512 at 3.6 GHz: an addition takes 0.07 ns in `f32`, 0.1 in
//! `f16`, 0.12 in `bf16`; with dropout 0.42, 0.48, and 0.55. Ten rounds of Philox take at least 0.26 of these: 110 vector
//! instructions for 64 words, of which the CPU executes two at a time. AVX2 needs 292 instructions for 64 words. So
//! additions are bound by memory, and dropout in the caches is bound by the generator.
//!
//! # Cost of having it
//! A kernel is compiled for each pair of element types and each instruction set, so what multiplies stays small: the
//! random words are computed by a function of their own for each instruction set, a pass writes in place and elsewhere by
//! the same code (`raw/stream.rs`), threads and strides are handled once per element type (`view.rs`,
//! `ops/rotation/rows.rs`), and AVX-512 is compiled where it pays: for dropout, for additions in `bf16`, and for rotations
//! below 64 bits.

mod dispatch;
mod element;
mod half_bits;
mod isa;
mod join;
mod mask;
mod ops;
pub(crate) mod philox;
mod plan;
pub(crate) mod raw;
mod token_rows;
mod view;
mod words;

pub(crate) use dispatch::Fused;
pub(crate) use isa::Level;
pub(crate) use join::join;
pub(crate) use mask::{Mask, Masking};
pub(crate) use ops::{
    AddEncoding, AddTrained, AngleRotation, Direction, GatherSum, Gathering, Outcome, Packed, Read,
    Rotation, Rules, ScaledDropout, Side, SoftmaxBias, Term, bias_dtype,
};
pub use plan::{Plan, Route};
pub(crate) use raw::threads;
pub(crate) use token_rows::TokenRows;
