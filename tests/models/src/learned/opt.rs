//! OPT: a row per position, from row 2.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, VarBuilder, embedding};
use pe_candle::{LearnedPositional, LearnedPositionalConfig};
use serde_json::Value;

use crate::blocks::{Attention, LayerNorm, Mlp};
use crate::pre_norm::tied_logits;
use crate::{Batch, Config, PreNorm};

#[derive(Debug, Clone)]
pub struct Opt {
    tokens: Embedding,
    positions: LearnedPositional,
    layers: Vec<PreNorm>,
    norm: LayerNorm,
}

impl Opt {
    /// Loads a model by its `config.json`.
    pub fn new(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg = Config::new(config)?;
        let hidden = cfg.hidden_size;
        let vb = vb.pp("model.decoder");
        let norm = |vb: VarBuilder<'_>| LayerNorm::new(hidden, cfg.norm_eps, vb);
        let layer = |index| {
            let vb = vb.pp(format!("layers.{index}"));
            Ok(PreNorm {
                attention: Attention::new(&cfg, "out_proj", vb.pp("self_attn"))?,
                mlp: Mlp::new(&cfg, ["fc1", "fc2"], vb.clone())?,
                norms: [
                    norm(vb.pp("self_attn_layer_norm"))?,
                    norm(vb.pp("final_layer_norm"))?,
                ],
            })
        };
        let positions = LearnedPositionalConfig::from_hf_config(config)?;
        Ok(Self {
            tokens: embedding(cfg.vocab_size, hidden, vb.pp("embed_tokens"))?,
            positions: LearnedPositional::new(positions, vb.clone())?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: norm(vb.pp("final_layer_norm"))?,
        })
    }

    /// Returns the logits of all tokens, `[B, T, vocab_size]`, for token ids `[B, T]`.
    pub fn forward(&mut self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
        let mut xs = batch.add(&self.positions, &self.tokens.forward(tokens)?)?;
        let mask = batch.causal(None)?;
        for layer in &mut self.layers {
            xs = layer.forward(&xs, None, &mask)?;
        }
        tied_logits(&xs.apply(&self.norm)?, &self.tokens)
    }
}
