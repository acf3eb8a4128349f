//! Command R: interleaved pairs.

use candle_core::Result;
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;
use serde::Deserialize;
use serde_json::Value;

use super::Parallel;
use crate::blocks::{Attention, GatedMlp, LayerNorm};
use crate::{Config, Decoder, config};

#[derive(Deserialize)]
struct Keys {
    logit_scale: f64,
}

/// Loads a model by its `config.json`.
pub fn load(json: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Parallel<GatedMlp>, LayerNorm>> {
    let (cfg, keys): (Config, Keys) = (Config::new(json)?, config::read(json)?);
    let rotary = RotaryEmbedding::from_hf_config(json, None, vb.dtype(), vb.device())?;
    let norm = |vb: VarBuilder<'_>| LayerNorm::new(cfg.hidden_size, cfg.norm_eps, vb);
    let layer = |_, vb: VarBuilder<'_>| {
        Ok(Parallel {
            rotary: rotary.clone(),
            attention: Attention::new(&cfg, "o_proj", vb.pp("self_attn"))?,
            mlp: GatedMlp::new(&cfg, vb.pp("mlp"))?,
            norm: norm(vb.pp("input_layernorm"))?,
        })
    };
    Ok(Decoder {
        logit_scale: keys.logit_scale,
        ..Decoder::new(&cfg, norm(vb.pp("model.norm"))?, layer, &vb)?
    })
}
