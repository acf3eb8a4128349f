//! Rotary embeddings: frequencies, tables, configurations, layouts.

mod frequencies;
mod golden;
mod tables;
