//! Models with biases of their attention scores.

pub mod deberta;
pub mod jina_bert;
pub mod mpt;
pub mod t5;
