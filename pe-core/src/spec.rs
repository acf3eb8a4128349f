//! The words that a specification is made of.

pub(crate) mod layout;
pub(crate) mod pair_layout;
pub(crate) mod recipe;
pub(crate) mod spacing;
