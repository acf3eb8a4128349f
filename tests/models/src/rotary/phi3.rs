//! Phi 3: LongRoPE. The frequencies depend on the length of the longest sequence of a call.

pub use super::llama::load;
