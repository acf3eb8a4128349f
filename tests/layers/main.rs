//! The layers: every fused path equals its reference, on every input, type, thread, and instruction set.

mod additive;
mod bias;
mod dropout;
mod fourier;
mod grid;
mod grid_encoding;
mod isa;
mod kernel;
mod learned;
mod learned_grid;
mod rotary;
mod threads;
mod timestep;

use pe_tests::{again, tensors as util};
