//! Granite 3: Llama with factors of embeddings, scores, residuals, and logits.

use candle_core::Result;
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;
use serde::Deserialize;
use serde_json::Value;

use super::Serial;
use crate::blocks::RmsNorm;
use crate::{Config, Decoder, config};

#[derive(Deserialize)]
struct Keys {
    embedding_multiplier: f64,
    attention_multiplier: f64,
    residual_multiplier: f64,
    logits_scaling: f64,
}

/// Loads a model by its `config.json`.
pub fn load(json: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Serial, RmsNorm>> {
    let (cfg, keys): (Config, Keys) = (Config::new(json)?, config::read(json)?);
    let rotary = RotaryEmbedding::from_hf_config(json, None, vb.dtype(), vb.device())?;
    let norm = RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb.pp("model.norm"))?;
    let layer = |_, vb: VarBuilder<'_>| {
        let mut layer = Serial::new(&cfg, Some(rotary.clone()), vb)?;
        layer.attention.scale = keys.attention_multiplier;
        layer.residual = keys.residual_multiplier;
        Ok(layer)
    };
    Ok(Decoder {
        embed_scale: keys.embedding_multiplier,
        logit_scale: 1.0 / keys.logits_scaling,
        ..Decoder::new(&cfg, norm, layer, &vb)?
    })
}
