//! Fused kernels for the CPU: one pass over the activations.
//!
//! Each has its plain twin in Candle's own operations (`layers/reference.rs`, and the portable
//! route of `layers/dropout.rs`), and gives the same bits, on every instruction set and for any
//! number of threads.
//!
//! Instruction sets are chosen at run time (`isa.rs`). All unsafe code stands in `raw/`,
//! which knows nothing of the crate.
//!
//! # Large results
//! From 32 MiB on glibc maps each result afresh, and the system zeroes it page by page while
//! it is written: 16,384 faults for 64 MiB. That is the limit of every operation with a result
//! of its own, and what is done about it is:
//!
//! - one result where a composition makes three to five;
//! - each piece of it written once, by the thread that computes it, without being zeroed,
//!   copied or gone through again (`raw/fresh.rs`);
//! - huge pages of 2 MiB asked for behind results of 4 MiB or more (`raw/pages.rs`). On one thread (time
//!   on the processor) 64 MiB of `f32` take 15 ms instead of 46, and 32 MiB of `bf16` 8 instead
//!   of 21, where plain copies into small pages take 38 and 19. Below 32 MiB the allocator
//!   keeps its memory, and they change nothing. The same is done for the tables that
//!   [`sinusoidal_tensor`](crate::sinusoidal_tensor) makes.
//! - [`forward_inplace`](crate::PositionalEncoding::forward_inplace). It is bound by how many
//!   lines of the cache are on their way at a time, and so walks four batches side by side where
//!   the table is larger than a near cache (`view.rs`).
//!
//! Only pages that lie within a result as a whole are meant by the advice, and all of them
//! are written: no more memory is taken than without it. It has no switch of its own, since the
//! system has two: `/sys/kernel/mm/transparent_hugepage/enabled` (with `never` the advice is
//! ignored) and, for a process, `prctl(PR_SET_THP_DISABLE)`. An allocator that keeps large
//! blocks, such as mimalloc, does without new pages at all.
//!
//! # What the work itself costs
//! Per element in the nearest cache, one thread, AVX-512 at 3.6 GHz: an addition 0.07 ns in
//! `f32`, 0.1 in `f16`, 0.12 in `bf16`; with dropout 0.42, 0.48 and 0.55. Of these 0.26 are the
//! least that ten rounds of Philox can take: 110 vector instructions for 64 words, of which
//! the processor does two at a time. AVX2 needs 292 instructions for 64 words, 1.5 cycles for
//! each where the processor does three at a time. Additions are bound by memory therefore; dropout is in
//! `f32`, and by the generator in half types, whose activations are half as large.

mod dispatch;
mod element;
mod half_bits;
mod isa;
mod mask;
mod ops;
pub(crate) mod philox;
pub(crate) mod raw;
mod token_rows;
mod view;

pub(crate) use mask::{Mask, Masking};
pub(crate) use ops::{AddEncoding, Direction, Rotation, ScaledDropout};
pub(crate) use token_rows::TokenRows;
