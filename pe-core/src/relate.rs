//! How encodings of different positions are related.

pub(crate) mod binary;
pub(crate) mod rerotate;
pub(crate) mod shift;
pub(crate) mod similarity;
