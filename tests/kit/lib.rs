//! What the test binaries share: golden files, the one table of tolerances, tensors, the program without a process.

pub mod again;
pub mod golden;
pub mod isa;
pub mod peers;
pub mod program;
pub mod rotary;
pub mod server;
pub mod tensors;
pub mod tolerance;
