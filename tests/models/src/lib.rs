//! Released models with the positional part of pe-candle, each as small as its architecture allows.
//!
//! The configuration is read from the `config.json` of the model, the weights have the names of its files, and everything but the
//! positions comes from candle-nn. `tests/agree` compares each model with PyTorch. What models share is in [`blocks`] (heads, caches,
//! norms, feed-forward parts), [`Batch`] (where the tokens of a call are), and [`Decoder`] (embedding, layers, logits).
//!
//! None of these models uses an operation that drops gradients: `blocks` names the replacements.

pub mod audio;
pub mod batch;
pub mod blocks;
pub mod config;
pub mod decoder;
pub mod diffusion;
pub mod rotary;
pub mod tiny;
pub mod vision;

pub use batch::Batch;
pub use config::Config;
pub use decoder::Decoder;
