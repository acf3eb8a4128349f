//! The two orders of attention and feed-forward part.

use candle_core::{Module, Result, Tensor};
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;

use crate::blocks::{Attention, GatedMlp, LayerNorm, RmsNorm};
use crate::{Batch, Config, decoder};

/// Attention, then the feed-forward part, each with a norm before it: the layer of Llama.
#[derive(Debug, Clone)]
pub struct Serial {
    /// `None` in layers without positions.
    pub rotary: Option<RotaryEmbedding>,
    /// Number of keys that a query sees, if not all.
    pub window: Option<usize>,
    pub attention: Attention,
    pub mlp: GatedMlp,
    /// Norms before attention and before the feed-forward part.
    pub norms: [RmsNorm; 2],
    /// Norms after attention and after the feed-forward part.
    pub norms_after: Option<[RmsNorm; 2]>,
    /// Factor of what is added to the residual, 1 unless a model sets another.
    pub residual: f64,
}

impl Serial {
    /// Loads a layer. The norms before attention and feed-forward part have the given names, those of Llama by default.
    pub fn new(cfg: &Config, rotary: Option<RotaryEmbedding>, vb: VarBuilder<'_>) -> Result<Self> {
        let names = ["input_layernorm", "post_attention_layernorm"];
        let norms = names.map(|name| RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb.pp(name)));
        Self::with_norms(cfg, rotary, norms, vb)
    }

    /// Loads a layer with its own norms.
    pub fn with_norms(
        cfg: &Config,
        rotary: Option<RotaryEmbedding>,
        [before_attention, before_mlp]: [Result<RmsNorm>; 2],
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        Ok(Self {
            rotary,
            window: None,
            attention: Attention::new(cfg, "o_proj", vb.pp("self_attn"))?,
            mlp: GatedMlp::new(cfg, vb.pp("mlp"))?,
            norms: [before_attention?, before_mlp?],
            norms_after: None,
            residual: 1.0,
        })
    }

    fn add(&self, xs: &Tensor, ys: Tensor, part: usize) -> Result<Tensor> {
        let ys = match &self.norms_after {
            None => ys,
            Some(norms) => norms[part].forward(&ys)?,
        };
        xs + (ys * self.residual)?
    }
}

impl decoder::Layer for Serial {
    fn forward(&mut self, xs: &Tensor, batch: &Batch) -> Result<Tensor> {
        let (mut q, mut k, v) = self.attention.project(&xs.apply(&self.norms[0])?)?;
        if let Some(rotary) = &self.rotary {
            (q, k) = batch.rotate(rotary, &q, &k)?;
        }
        let mask = batch.causal(self.window)?;
        let ys = self.attention.attend_cached((q, k, v), None, &mask)?;
        let xs = self.add(xs, ys, 0)?;
        let ys = xs.apply(&self.norms[1])?.apply(&self.mlp)?;
        self.add(&xs, ys, 1)
    }
}

/// Attention and the feed-forward part of one norm, both added: the layer of GPT-J.
#[derive(Debug, Clone)]
pub struct Parallel<M> {
    pub rotary: RotaryEmbedding,
    pub attention: Attention,
    pub mlp: M,
    pub norm: LayerNorm,
}

impl<M: Module> decoder::Layer for Parallel<M> {
    fn forward(&mut self, xs: &Tensor, batch: &Batch) -> Result<Tensor> {
        let normed = xs.apply(&self.norm)?;
        let (q, k, v) = self.attention.project(&normed)?;
        let (q, k) = batch.rotate(&self.rotary, &q, &k)?;
        let ys = self
            .attention
            .attend_cached((q, k, v), None, &batch.causal(None)?)?;
        (xs + ys)? + normed.apply(&self.mlp)?
    }
}
