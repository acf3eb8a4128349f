//! Tests of pe-candle.

mod again;
mod allocations;
mod checkpoint;
mod corpus;
mod dropout;
mod grid;
mod hub;
mod isa;
mod kernel;
mod layer;
mod readme;
mod rotary;
mod threads;
mod util;
