//! Specifications in words.

pub(crate) mod model;
