//! From one phase to its sine and cosine.

pub(crate) mod backend;
pub(crate) mod double_f64;
pub(crate) mod hi_lo;
pub(crate) mod ladder;
pub(crate) mod scaled;

pub use ladder::Rungs;
pub(crate) use ladder::{COS_2, Position, SIN_2, full_values, narrow, sin_cos};
