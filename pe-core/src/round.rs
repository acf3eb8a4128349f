//! One rounding to `f32`, `f16`, `bf16` or `f64`, and the rounding test.

mod nearest;
mod wide;

pub use nearest::Element;
pub(crate) use nearest::{Magnitude, decided, nearest};
pub(crate) use wide::{magnitude, to_f32, to_f64};
