//! What users build: configurations, checked, and their tables.

pub(crate) mod sinusoidal;
