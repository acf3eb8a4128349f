//! Sentences and their tokens.

pub(crate) mod scripts;
pub mod sentences;
pub mod tokenizer;
