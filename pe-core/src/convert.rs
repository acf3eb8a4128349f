//! From the conventions of other libraries to specifications.

pub(crate) mod permute;
pub(crate) mod preset;
