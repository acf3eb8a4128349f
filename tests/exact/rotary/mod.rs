//! Rotary embeddings: frequencies, tables, configurations, layouts.

mod axes;
mod classes;
mod config;
mod direction;
mod errors;
mod families;
mod frequencies;
mod gguf;
mod golden;
mod hostile;
mod keys;
mod layer_types;
mod permute;
mod rerotate;
mod schemes;
mod specification;
mod tables;
