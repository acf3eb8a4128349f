//! Shared by the test binaries: golden files, and the one table of tolerances.

pub mod golden;
pub mod isa;
pub mod peers;
pub mod rotary;
pub mod server;
pub mod tolerance;
