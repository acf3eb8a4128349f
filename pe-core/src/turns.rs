//! Frequencies of a specification in turns per position, and their phases.
//!
//! [`frequency`] has the frequencies of a base and a spacing, [`scaling`] those of a rotary scaling, and [`f32_recipe`] those
//! of an f32 recipe. [`phase`] multiplies a frequency by a [`position`].

pub(crate) mod count;
pub(crate) mod f32_recipe;
pub(crate) mod frequency;
pub(crate) mod phase;
pub(crate) mod position;
pub(crate) mod scaling;
