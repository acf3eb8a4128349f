//! BERT and RoBERTa: a row per position, from 0 or from the row after that of the padding token.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, VarBuilder, embedding};
use pe_candle::{LearnedPositional, LearnedPositionalConfig};
use serde_json::Value;

use crate::blocks::{LayerNorm, Mlp};
use crate::{Batch, Config, PostNorm};

#[derive(Debug, Clone)]
pub struct Bert {
    words: Embedding,
    /// Token type of all tokens.
    token_type: Tensor,
    positions: LearnedPositional,
    norm: LayerNorm,
    layers: Vec<PostNorm<Mlp>>,
}

impl Bert {
    /// Loads BERT or RoBERTa by its `config.json`.
    pub fn new(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg = Config::new(config)?;
        let positions = LearnedPositionalConfig::from_hf_config(config)?;
        let at = vb.pp("embeddings");
        let projections = ["query", "key", "value"];
        let layer =
            |index| PostNorm::new(&cfg, projections, vb.pp(format!("encoder.layer.{index}")));
        Ok(Self {
            words: embedding(cfg.vocab_size, cfg.hidden_size, at.pp("word_embeddings"))?,
            token_type: at
                .get((2, cfg.hidden_size), "token_type_embeddings.weight")?
                .get(0)?,
            positions: LearnedPositional::new(positions, at.clone())?,
            norm: LayerNorm::new(cfg.hidden_size, cfg.norm_eps, at.pp("LayerNorm"))?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
        })
    }

    /// Returns the last hidden states, `[B, T, hidden_size]`, for token ids `[B, T]`.
    pub fn forward(&self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
        let xs = self
            .words
            .forward(tokens)?
            .broadcast_add(&self.token_type)?;
        let mut xs = batch.add(&self.positions, &xs)?.apply(&self.norm)?;
        let mask = batch.whole()?;
        for layer in &self.layers {
            xs = layer.forward(&xs, &mask, |_, _| Ok(None))?;
        }
        Ok(xs)
    }
}
