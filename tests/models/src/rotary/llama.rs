//! Llama 3: rotary embedding with the scaling `llama3`.

use candle_core::{Module, Result, Tensor};
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;
use serde_json::Value;

use crate::blocks::{Attention, GatedMlp, RmsNorm};
use crate::{Batch, Config, Decoder, decoder};

#[derive(Debug, Clone)]
pub struct Layer {
    rotary: RotaryEmbedding,
    attention: Attention,
    mlp: GatedMlp,
    input_norm: RmsNorm,
    mlp_norm: RmsNorm,
}

impl decoder::Layer for Layer {
    fn forward(&mut self, xs: &Tensor, batch: &Batch) -> Result<Tensor> {
        let (q, k, v) = self.attention.project(&self.input_norm.forward(xs)?)?;
        let (q, k) = batch.rotate(&self.rotary, &q, &k)?;
        let xs = (xs + self.attention.attend((q, k, v), &batch.causal(None)?)?)?;
        &xs + self.mlp_norm.forward(&xs)?.apply(&self.mlp)?
    }
}

/// Loads a model by its `config.json`.
pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Layer, RmsNorm>> {
    let cfg = Config::new(config)?;
    let rotary = RotaryEmbedding::from_hf_config(config, None, vb.dtype(), vb.device())?;
    let norm = |vb: VarBuilder<'_>| RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb);
    let layer = |_, vb: VarBuilder<'_>| {
        Ok(Layer {
            rotary: rotary.clone(),
            attention: Attention::new(&cfg, false, vb.pp("self_attn"))?,
            mlp: GatedMlp::new(&cfg, vb.pp("mlp"))?,
            input_norm: norm(vb.pp("input_layernorm"))?,
            mlp_norm: norm(vb.pp("post_attention_layernorm"))?,
        })
    };
    Decoder::new(&cfg, norm(vb.pp("model.norm"))?, layer, &vb)
}
