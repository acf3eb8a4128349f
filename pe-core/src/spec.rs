//! The parts of a specification.

pub(crate) mod direction;
pub(crate) mod layout;
pub(crate) mod pair_layout;
pub(crate) mod recipe;
pub(crate) mod spacing;
