//! The outline of a decoder: token embeddings, layers, a norm, and logits.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, Linear, VarBuilder, embedding};

use crate::blocks::linear;
use crate::{Batch, Config};

/// A layer of a decoder: attention with its cache, and a feed-forward part.
pub trait Layer {
    /// Returns the activations `[B, T, hidden_size]` after the layer.
    fn forward(&mut self, xs: &Tensor, batch: &Batch) -> Result<Tensor>;
}

/// Token embeddings, layers, a norm, and logits.
#[derive(Debug, Clone)]
pub struct Decoder<L, N> {
    pub embed_tokens: Embedding,
    pub layers: Vec<L>,
    pub norm: N,
    pub lm_head: Linear,
    /// Factor of the embeddings, 1 unless a model sets another.
    pub embed_scale: f64,
    /// Factor of the logits, 1 unless a model sets another.
    pub logit_scale: f64,
}

impl<L: Layer, N: Module> Decoder<L, N> {
    /// Loads the embeddings and the logits' weights. `layer` makes a layer of its index and its weights.
    pub fn new(
        cfg: &Config,
        norm: N,
        layer: impl Fn(usize, VarBuilder<'_>) -> Result<L>,
        vb: &VarBuilder<'_>,
    ) -> Result<Self> {
        let (vocab, hidden) = (cfg.vocab_size, cfg.hidden_size);
        let embed_tokens = embedding(vocab, hidden, vb.pp("model.embed_tokens"))?;
        let lm_head = match cfg.tie_word_embeddings {
            true => Linear::new(embed_tokens.embeddings().clone(), None),
            false => linear(hidden, vocab, vb.pp("lm_head"))?,
        };
        Ok(Self {
            embed_tokens,
            layers: (0..cfg.num_hidden_layers)
                .map(|index| layer(index, vb.pp(format!("model.layers.{index}"))))
                .collect::<Result<_>>()?,
            norm,
            lm_head,
            embed_scale: 1.0,
            logit_scale: 1.0,
        })
    }

    /// Returns the logits of all tokens, `[B, T, vocab_size]`, for token ids `[B, T]`.
    pub fn forward(&mut self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
        let mut xs = (self.embed_tokens.forward(tokens)? * self.embed_scale)?;
        for layer in &mut self.layers {
            xs = layer.forward(&xs, batch)?;
        }
        xs.apply(&self.norm)?.apply(&self.lm_head)? * self.logit_scale
    }
}
