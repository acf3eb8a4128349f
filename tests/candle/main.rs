//! Tests of pe-candle.

mod allocations;
mod checkpoint;
mod dropout;
mod hub;
mod kernel;
mod layer;
mod rotary;
mod util;
