//! Tests of pe-candle.

mod checkpoint;
mod dropout;
mod hub;
mod layer;
mod util;
