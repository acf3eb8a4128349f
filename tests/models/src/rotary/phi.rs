//! Phi 1 and 2: the first part of each head is rotated.

use candle_core::Result;
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;
use serde_json::Value;

use super::Parallel;
use crate::blocks::{Attention, LayerNorm, Mlp};
use crate::{Config, Decoder};

/// Loads a model by its `config.json`.
pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Parallel<Mlp>, LayerNorm>> {
    let cfg = Config::new(config)?;
    let rotary = RotaryEmbedding::from_hf_config(config, None, vb.dtype(), vb.device())?;
    let norm = |vb: VarBuilder<'_>| LayerNorm::new(cfg.hidden_size, cfg.norm_eps, vb);
    let layer = |_, vb: VarBuilder<'_>| {
        Ok(Parallel {
            rotary: rotary.clone(),
            attention: Attention::new(&cfg, "dense", vb.pp("self_attn"))?,
            mlp: Mlp::new(&cfg, ["fc1", "fc2"], vb.pp("mlp"))?,
            norm: norm(vb.pp("input_layernorm"))?,
        })
    };
    Decoder::new(&cfg, norm(vb.pp("model.final_layernorm"))?, layer, &vb)
}
