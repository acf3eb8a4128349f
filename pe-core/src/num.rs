//! Numbers wider than `f64`, for computing frequencies and for the hardest entries.

pub(crate) mod elementary;
pub(crate) mod fixed;
pub(crate) mod number;
pub(crate) mod wide;
