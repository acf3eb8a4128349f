//! Models with rotary embeddings.

pub mod cohere;
pub mod deepseek2;
pub mod gemma3;
pub mod glm4;
pub mod granite;
pub mod llama;
pub mod mistral;
pub mod phi;
pub mod phi3;
pub mod qwen2;
pub mod qwen2_vl;
pub mod qwen3;
pub mod smollm3;

mod layer;

pub use layer::{Parallel, Serial};
