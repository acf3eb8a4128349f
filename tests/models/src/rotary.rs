//! Models with rotary embeddings.

pub mod llama;
