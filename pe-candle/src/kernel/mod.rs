//! Fused kernels for the CPU: one pass over the activations.
//!
//! Each has its plain twin in Candle's own operations (`plain.rs`, and the portable
//! route of `dropout.rs`), and gives the same bits, on every instruction set and for any
//! number of threads.
//!
//! # Large results
//! From 32 MiB on glibc maps each result afresh, and the system zeroes it page by page while
//! it is written. That is the limit of every operation with a result of its own: 64 MiB of
//! `f32` take 32 to 36 ms on one thread and 19 to 21 on two, whether they are copied, added by
//! Candle or added here; in place, without new pages, 10 and 5. What a library without unsafe
//! code can do about it:
//!
//! - make one result where a composition makes three to five;
//! - not zero memory a second time: a vector is appended to (one thread), or collected from
//!   blocks (several), and taken as zeroed only where the system has zeroed it
//!   (`view.rs`); zeroing first cost 45 % at 4 MiB on two threads;
//! - offer [`forward_inplace`](crate::PositionalEncoding::forward_inplace).
//!
//! Advice for huge pages is a system call and would need unsafe code; keeping results for
//! later is not possible, since Candle's tensors own plain vectors. Both are matters of the
//! program's allocator: one that keeps large blocks, such as mimalloc, or glibc with a raised
//! `MALLOC_MMAP_THRESHOLD_`, makes results cost what the work in place costs and a copy.

mod add;
mod heads;
#[allow(dead_code)]
pub(crate) mod isa;
mod mask;
#[allow(dead_code)]
pub(crate) mod number;
#[allow(dead_code)]
mod raw;
mod rotate;
mod rotation;
mod run;
mod turn;
mod view;

pub(crate) use add::{AddEncoding, Gradient, Positions};
pub(crate) use mask::{Mask, Masking};
pub(crate) use rotation::{Rotation, Tokens};
pub(crate) use turn::Direction;
