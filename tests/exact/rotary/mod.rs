//! Rotary embeddings: frequencies, tables, configurations, layouts.

mod axes;
mod axial;
mod classes;
mod config;
mod direction;
mod errors;
mod families;
mod frequencies;
mod golden;
mod hostile;
mod keys;
mod permute;
mod rerotate;
mod schemes;
mod specification;
mod tables;
