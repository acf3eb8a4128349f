//! Rotary embeddings: frequencies, tables, configurations, layouts.

mod tables;
