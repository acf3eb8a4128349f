//! Frequencies of a specification in turns per position, and their phases.

pub(crate) mod count;
pub(crate) mod f32_recipe;
pub(crate) mod frequency;
pub(crate) mod phase;
pub(crate) mod position;
pub(crate) mod scaling;
