//! Trained encoders: the classifier around one, its description, and its file.

pub(crate) mod checkpoint;
pub(crate) mod classifier;
pub(crate) mod description;
pub(crate) mod task;
