//! Tests of pe-candle.

mod checkpoint;
mod dropout;
mod grid;
mod hub;
mod kernel;
mod layer;
mod rotary;
mod threads;
mod util;
