//! Tests of pe-candle.

mod allocations;
mod checkpoint;
mod corpus;
mod dropout;
mod hub;
mod kernel;
mod layer;
mod rotary;
mod util;
