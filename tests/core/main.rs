//! Tests of pe-core.

mod errors;
mod golden;
mod parity;
mod presets;
mod properties;
mod recipes;
mod seeds;
