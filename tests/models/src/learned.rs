//! Models with learned tables.

pub mod bert;
pub mod gpt2;
pub mod opt;
