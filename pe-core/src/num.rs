//! Numbers wider than `f64`, for computing frequencies and for the hardest entries.

pub(crate) mod elementary;
pub(crate) mod fixed;
pub(crate) mod float;
pub(crate) mod real;
pub(crate) mod unit;
