//! How encodings of different positions are related.

pub(crate) mod binary;
pub(crate) mod similarity;
