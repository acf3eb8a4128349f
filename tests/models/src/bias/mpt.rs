//! MPT: ALiBi, with a maximum of its own.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Embedding, VarBuilder, embedding};
use pe_candle::Alibi;
use serde_json::Value;

use crate::blocks::{Attention, LayerNorm, Mlp, linear, parts};
use crate::pre_norm::tied_logits;
use crate::{Batch, Config, PreNorm};

#[derive(Debug, Clone)]
pub struct Mpt {
    tokens: Embedding,
    alibi: Alibi,
    layers: Vec<PreNorm>,
    norm: LayerNorm,
}

impl Mpt {
    /// Loads a model by its `config.json`.
    pub fn new(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg = Config::new(config)?;
        let hidden = cfg.hidden_size;
        let vb = vb.pp("transformer");
        let norm = |vb: VarBuilder<'_>| LayerNorm::new(hidden, cfg.norm_eps, vb);
        let layer = |index| {
            let vb = vb.pp(format!("blocks.{index}"));
            let qkv = parts(hidden, &[hidden; 3], vb.pp("attn.Wqkv"))?;
            let output = linear(hidden, hidden, vb.pp("attn.out_proj"))?;
            Ok(PreNorm {
                attention: Attention::from_parts(&cfg, qkv, output)?,
                mlp: Mlp::new(&cfg, ["up_proj", "down_proj"], vb.pp("ffn"))?,
                norms: [norm(vb.pp("norm_1"))?, norm(vb.pp("norm_2"))?],
            })
        };
        Ok(Self {
            tokens: embedding(cfg.vocab_size, hidden, vb.pp("wte"))?,
            alibi: Alibi::from_hf_config(config, vb.dtype(), vb.device())?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: norm(vb.pp("norm_f"))?,
        })
    }

    /// Returns the logits of all tokens, `[B, T, vocab_size]`, for token ids `[B, T]`.
    pub fn forward(&mut self, tokens: &Tensor, batch: &Batch) -> Result<Tensor> {
        let mut xs = self.tokens.forward(tokens)?;
        let time = tokens.dim(1)?;
        let bias = self.alibi.bias(time, batch.offset + time, batch.offset)?;
        let mask = batch.causal(None)?;
        for layer in &mut self.layers {
            xs = layer.forward(&xs, Some(&bias), &mask)?;
        }
        tied_logits(&xs.apply(&self.norm)?, &self.tokens)
    }
}
