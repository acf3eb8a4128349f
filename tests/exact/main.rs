//! Tests of pe-core.

mod bias;
mod errors;
mod fourier;
mod frequencies;
mod golden;
mod grid;
mod identify;
mod midpoints;
mod parity;
mod presets;
mod properties;
mod recipes;
mod resize;
mod rotary;
mod seeds;
mod shifts;
mod timestep;
