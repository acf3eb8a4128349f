//! Tests of pe-core.

mod errors;
mod frequencies;
mod golden;
mod midpoints;
mod parity;
mod presets;
mod properties;
mod public_api;
mod recipes;
mod rooms;
mod rotary;
mod seeds;
mod shifts;
