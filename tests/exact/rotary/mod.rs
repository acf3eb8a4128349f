//! Rotary embeddings: frequencies, tables, configurations, layouts.

mod axes;
mod axial;
mod classes;
mod config;
mod direction;
mod errors;
mod factor;
mod families;
mod frequencies;
mod gguf;
mod golden;
mod hostile;
mod keys;
mod layer_types;
mod permute;
mod recipe;
mod rerotate;
mod schemes;
mod specification;
mod tables;
mod temperature;
mod xpos;
