//! Tests of pe-candle.

mod checkpoint;
mod dropout;
mod hub;
mod kernel;
mod layer;
mod rotary;
mod util;
