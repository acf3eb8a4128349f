//! Sine and cosine of one phase.
//!
//! [`ladder`] computes single entries by its three rungs, [`single_f64`] and the two of [`fixed`]. [`double_f64`] computes the
//! seeds of a recurrence, and [`summed`] entries with a phase that is a sum of products.

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
