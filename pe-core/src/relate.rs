//! How encodings of different positions are related.

pub(crate) mod binary;
