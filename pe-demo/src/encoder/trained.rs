//! Encoders that were trained: the classifier around one, and its file.

pub(crate) mod checkpoint;
pub(crate) mod classifier;
