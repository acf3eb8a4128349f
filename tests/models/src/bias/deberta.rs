//! DeBERTa v2 and v3: scores of content against position and of position against content, with the projections of content.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, VarBuilder, embedding};
use pe_candle::{DebertaBias, DebertaBiasConfig};
use serde_json::Value;

use crate::blocks::{LayerNorm, Mlp};
use crate::{Batch, Config, PostNorm};

#[derive(Debug, Clone)]
pub struct Deberta {
    words: Embedding,
    norm: LayerNorm,
    bias: DebertaBias,
    /// Normed rows of all distances, `[1, 2 span, hidden_size]`.
    distances: Tensor,
    layers: Vec<PostNorm<Mlp>>,
}

impl Deberta {
    /// Loads a model by its `config.json`.
    pub fn new(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg = Config::new(config)?;
        let bias = DebertaBias::new(DebertaBiasConfig::from_hf_config(config)?)?;
        let (hidden, at) = (cfg.hidden_size, vb.pp("embeddings"));
        let norm = |vb: VarBuilder<'_>| LayerNorm::new(hidden, cfg.norm_eps, vb.pp("LayerNorm"));
        let rows = (2 * bias.buckets().span(), hidden);
        let distances = vb.get(rows, "encoder.rel_embeddings.weight")?;
        let projections = ["query_proj", "key_proj", "value_proj"];
        let layer = |index| {
            let vb = vb.pp(format!("encoder.layer.{index}"));
            let mut layer = PostNorm::new(&cfg, projections, vb)?;
            // Three scores are added: of contents, and two with positions.
            layer.attention.scale = 1.0 / (3.0 * cfg.head_dim() as f64).sqrt();
            Ok(layer)
        };
        Ok(Self {
            words: embedding(cfg.vocab_size, hidden, at.pp("word_embeddings"))?,
            norm: norm(at)?,
            bias,
            distances: distances.apply(&norm(vb.pp("encoder"))?)?.unsqueeze(0)?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
        })
    }

    /// Returns the last hidden states, `[B, T, hidden_size]`, for token ids `[B, T]`.
    pub fn forward(&self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
        let mut xs = self.words.forward(tokens)?.apply(&self.norm)?;
        let mask = batch.whole()?;
        for layer in &self.layers {
            let (pos_query, pos_key, _) = layer.attention.project(&self.distances)?;
            let (pos_query, pos_key) = (pos_query.squeeze(0)?, pos_key.squeeze(0)?);
            let scale = layer.attention.scale;
            let bias = |q: &Tensor, k: &Tensor| {
                self.bias
                    .bias(q, k, Some(&pos_key), Some(&pos_query), scale)
                    .map(Some)
            };
            xs = layer.forward(&xs, &mask, bias)?;
        }
        Ok(xs)
    }
}
