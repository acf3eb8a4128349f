//! The keys of `config.json` that most models share.

use candle_core::{Error, Result};
use candle_nn::Activation;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The keys of `config.json` that most models share. Positions are read by pe-candle, and rarer keys by the model.
#[derive(Debug, Clone, Deserialize)]
pub struct Config {
    pub vocab_size: usize,
    #[serde(alias = "d_model", alias = "n_embd")]
    pub hidden_size: usize,
    #[serde(alias = "d_ff", alias = "ffn_dim")]
    intermediate_size: Option<usize>,
    #[serde(alias = "num_layers", alias = "n_layer", alias = "n_layers")]
    pub num_hidden_layers: usize,
    #[serde(alias = "num_heads", alias = "n_head", alias = "n_heads")]
    pub num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    #[serde(alias = "d_kv")]
    head_dim: Option<usize>,
    #[serde(default = "norm_eps")]
    #[serde(
        alias = "rms_norm_eps",
        alias = "layer_norm_eps",
        alias = "layer_norm_epsilon"
    )]
    pub norm_eps: f64,
    #[serde(default)]
    #[serde(
        alias = "hidden_activation",
        alias = "activation_function",
        alias = "feed_forward_proj"
    )]
    pub hidden_act: Activation,
    pub sliding_window: Option<usize>,
    #[serde(default)]
    pub tie_word_embeddings: bool,
}

/// The default of most model types.
fn norm_eps() -> f64 {
    1e-5
}

impl Config {
    /// Reads a `config.json`.
    pub fn new(json: &Value) -> Result<Self> {
        read(json)
    }

    pub fn intermediate_size(&self) -> usize {
        self.intermediate_size.unwrap_or(4 * self.hidden_size)
    }

    pub fn num_kv_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    pub fn head_dim(&self) -> usize {
        self.head_dim
            .unwrap_or(self.hidden_size / self.num_attention_heads)
    }

    /// Width of all heads of queries.
    pub fn q_width(&self) -> usize {
        self.num_attention_heads * self.head_dim()
    }

    /// Width of all heads of keys.
    pub fn kv_width(&self) -> usize {
        self.num_kv_heads() * self.head_dim()
    }
}

/// Reads some keys of a `config.json`.
pub fn read<T: DeserializeOwned>(json: &Value) -> Result<T> {
    T::deserialize(json).map_err(Error::wrap)
}
