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
    pub hidden_size: usize,
    pub intermediate_size: usize,
    pub num_hidden_layers: usize,
    pub num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    #[serde(alias = "rms_norm_eps", alias = "layer_norm_eps")]
    pub norm_eps: f64,
    #[serde(alias = "hidden_activation")]
    pub hidden_act: Activation,
    pub sliding_window: Option<usize>,
    #[serde(default)]
    pub tie_word_embeddings: bool,
}

impl Config {
    /// Reads a `config.json`.
    pub fn new(json: &Value) -> Result<Self> {
        read(json)
    }

    pub fn num_kv_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    pub fn head_dim(&self) -> usize {
        self.head_dim
            .unwrap_or(self.hidden_size / self.num_attention_heads)
    }
}

/// Reads some keys of a `config.json`.
pub fn read<T: DeserializeOwned>(json: &Value) -> Result<T> {
    T::deserialize(json).map_err(Error::wrap)
}
