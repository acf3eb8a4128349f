//! What users build: configurations, checked, and their tables.

pub(crate) mod rotary;
pub(crate) mod sinusoidal;
