//! Gemma 3: two bases and two scalings, by the type of the layer.

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
    query_pre_attn_scalar: f64,
    sliding_window_pattern: usize,
}

/// Loads a model by its `config.json`.
pub fn load(json: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Serial, RmsNorm>> {
    let (cfg, keys): (Config, Keys) = (Config::new(json)?, config::read(json)?);
    let rotary = |layer_type| {
        RotaryEmbedding::from_hf_config(json, Some(layer_type), vb.dtype(), vb.device())
    };
    let (full, sliding) = (rotary("full_attention")?, rotary("sliding_attention")?);
    let norm = |vb: VarBuilder<'_>, name| {
        RmsNorm::new_around_one(cfg.hidden_size, cfg.norm_eps, vb.pp(name))
    };
    let layer = |index: usize, vb: VarBuilder<'_>| {
        let (rotary, window) = match (index + 1) % keys.sliding_window_pattern {
            0 => (full.clone(), None),
            _ => (sliding.clone(), cfg.sliding_window),
        };
        let norms = ["input_layernorm", "pre_feedforward_layernorm"];
        let norms = norms.map(|name| norm(vb.clone(), name));
        let head_norm = |name| {
            RmsNorm::new_around_one(cfg.head_dim(), cfg.norm_eps, vb.pp("self_attn").pp(name))
        };
        let mut layer = Serial {
            window,
            norms_after: Some([
                norm(vb.clone(), "post_attention_layernorm")?,
                norm(vb.clone(), "post_feedforward_layernorm")?,
            ]),
            ..Serial::with_norms(&cfg, Some(rotary), norms, vb.clone())?
        };
        layer.attention.scale = 1.0 / keys.query_pre_attn_scalar.sqrt();
        layer.attention.head_norms = Some([head_norm("q_norm")?, head_norm("k_norm")?]);
        Ok(layer)
    };
    Ok(Decoder {
        embed_scale: (cfg.hidden_size as f64).sqrt(),
        ..Decoder::new(&cfg, norm(vb.pp("model"), "norm")?, layer, &vb)?
    })
}
