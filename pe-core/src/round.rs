//! One rounding to `f32`, `f16`, `bf16` or `f64`, and the rounding test.

mod big_float;
mod nearest;
mod ratio;
mod rounding_test;

pub(crate) use big_float::{magnitude, to_f32, to_f64};
pub(crate) use nearest::{Float, Magnitude, nearest};
pub(crate) use ratio::ratio;
pub(crate) use rounding_test::{SINGLE_ERROR, decided, decided_f64};
