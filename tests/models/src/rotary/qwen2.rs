//! Qwen 2 and 2.5: Llama with biases of queries, keys, and values. Long contexts by `rope_scaling` of type `yarn`.

pub use super::llama::load;
