//! Specifications in words.

pub(crate) mod additive;
pub(crate) mod lengths;
pub(crate) mod rotary;
pub(crate) mod tables;
