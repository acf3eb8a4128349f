//! The words that a specification is made of.

pub(crate) mod pair_layout;
