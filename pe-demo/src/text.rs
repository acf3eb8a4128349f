//! Sentences and their tokens.

pub mod sentences;
pub mod tokenizer;
