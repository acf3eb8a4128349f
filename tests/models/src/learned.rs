//! Models with learned tables.

pub mod bert;
pub mod gpt2;
pub mod opt;

use candle_core::{Module, Result, Tensor};
use candle_nn::Embedding;
use pe_candle::LearnedPositional;

use crate::blocks::LayerNorm;
use crate::pre_norm::tied_logits;
use crate::{Batch, PreNorm};

/// A decoder with a row per position.
#[derive(Debug, Clone)]
pub struct LearnedDecoder {
    tokens: Embedding,
    positions: LearnedPositional,
    layers: Vec<PreNorm>,
    norm: LayerNorm,
}

impl LearnedDecoder {
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
