//! Sine and cosine of one phase.

pub(crate) mod backend;
pub(crate) mod double_f64;
pub(crate) mod factor;
pub(crate) mod fixed;
pub(crate) mod hi_lo;
mod ladder;
pub(crate) mod single_f64;
pub(crate) mod summed;

pub(crate) use fixed::sin_cos_320;
pub use ladder::Rungs;
pub(crate) use ladder::{sin_cos, single_error};
