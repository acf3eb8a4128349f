//! Relations between the encodings of different positions.

pub(crate) mod binary;
pub(crate) mod rerotate;
pub(crate) mod shift;
pub(crate) mod similarity;
