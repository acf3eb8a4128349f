//! Helpers of the test binaries: golden files, the one table of tolerances, tensors, the program without a process.

pub mod again;
pub mod configs;
pub mod golden;
#[cfg(feature = "candle")]
pub mod isa;
#[cfg(feature = "candle")]
pub mod layers;
#[cfg(feature = "candle")]
pub mod peers;
#[cfg(feature = "demo")]
pub mod program;
pub mod resize;
pub mod rotary;
pub mod server;
pub mod snapshot;
pub mod table;
#[cfg(feature = "candle")]
pub mod tensors;
pub mod tolerance;
pub mod watchdog;

/// The examples of the README at the root, compiled and run with the documentation tests.
#[cfg(all(doctest, feature = "candle"))]
#[doc = include_str!("../../README.md")]
struct Readme;
