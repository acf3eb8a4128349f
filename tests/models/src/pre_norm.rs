//! Decoders with a layer norm before attention and before the feed-forward part, and without rotation: OPT, GPT-2, MPT.

use candle_core::{Module, Result, Tensor};
use candle_nn::Embedding;
use pe_candle::{AttentionBias, ScoreMask};

use crate::blocks::{Attention, LayerNorm, Mlp};

/// Attention, then the feed-forward part, each with a norm before it.
#[derive(Debug, Clone)]
pub struct PreNorm {
    pub attention: Attention,
    pub mlp: Mlp,
    pub norms: [LayerNorm; 2],
}

impl PreNorm {
    /// Returns the activations `[B, T, hidden_size]` after the layer.
    pub fn forward(
        &mut self,
        xs: &Tensor,
        bias: Option<&AttentionBias>,
        mask: &ScoreMask,
    ) -> Result<Tensor> {
        let qkv = self.attention.project(&xs.apply(&self.norms[0])?)?;
        let xs = (xs + self.attention.attend_cached(qkv, bias, mask)?)?;
        &xs + xs.apply(&self.norms[1])?.apply(&self.mlp)?
    }
}

/// Computes logits with the weights of the embeddings.
pub fn tied_logits(xs: &Tensor, embeddings: &Embedding) -> Result<Tensor> {
    candle_nn::Linear::new(embeddings.embeddings().clone(), None).forward(xs)
}
