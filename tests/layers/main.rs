//! The layers: every fused path equals its reference, on every input, type, thread, and instruction set.

mod additive;
mod bias;
mod dropout;
mod grid;
mod isa;
mod kernel;
mod learned_grid;
mod rotary;
mod threads;

use pe_tests::{again, tensors as util};
