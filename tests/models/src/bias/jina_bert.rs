//! Jina-BERT v2: BERT with ALiBi in both directions, and a gated feed-forward part.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, Linear, VarBuilder, embedding};
use pe_candle::Alibi;
use serde_json::Value;

use crate::blocks::{LayerNorm, linear, parts};
use crate::{Batch, Config, PostNorm};

#[derive(Debug, Clone)]
pub struct GatedMlp {
    gated: Vec<Linear>,
    wo: Linear,
}

impl Module for GatedMlp {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let gate = xs.apply(&self.gated[0])?.gelu_erf()?;
        (gate * xs.apply(&self.gated[1])?)?.apply(&self.wo)
    }
}

#[derive(Debug, Clone)]
pub struct JinaBert {
    words: Embedding,
    /// Token type of all tokens.
    token_type: Tensor,
    norm: LayerNorm,
    alibi: Alibi,
    layers: Vec<PostNorm<GatedMlp>>,
}

impl JinaBert {
    /// Loads a model by its `config.json`.
    pub fn new(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg = Config::new(config)?;
        let (hidden, inner) = (cfg.hidden_size, cfg.intermediate_size());
        let at = vb.pp("embeddings");
        let layer = |index| {
            let vb = vb.pp(format!("encoder.layer.{index}"));
            let mlp = GatedMlp {
                gated: parts(hidden, &[inner, inner], vb.pp("mlp.gated_layers"))?,
                wo: linear(inner, hidden, vb.pp("mlp.wo"))?,
            };
            PostNorm::with_mlp(&cfg, ["query", "key", "value"], mlp, "mlp.layernorm", vb)
        };
        Ok(Self {
            words: embedding(cfg.vocab_size, hidden, at.pp("word_embeddings"))?,
            token_type: at
                .get((2, hidden), "token_type_embeddings.weight")?
                .get(0)?,
            norm: LayerNorm::new(hidden, cfg.norm_eps, at.pp("LayerNorm"))?,
            alibi: Alibi::from_hf_config(config, vb.dtype(), vb.device())?,
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
        let mut xs = xs.apply(&self.norm)?;
        let time = tokens.dim(1)?;
        let (bias, mask) = (self.alibi.bias(time, time, 0)?, batch.whole()?);
        for layer in &self.layers {
            xs = layer.forward(&xs, &mask, |_, _| Ok(Some(bias.clone())))?;
        }
        Ok(xs)
    }
}
