//! Mistral: a sliding window.

use candle_core::Result;
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;
use serde_json::Value;

use super::Serial;
use crate::blocks::RmsNorm;
use crate::{Config, Decoder};

/// Loads a model by its `config.json`.
pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Serial, RmsNorm>> {
    let cfg = Config::new(config)?;
    let rotary = RotaryEmbedding::from_hf_config(config, None, vb.dtype(), vb.device())?;
    let norm = RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb.pp("model.norm"))?;
    let layer = |_, vb: VarBuilder<'_>| {
        Ok(Serial {
            window: cfg.sliding_window,
            ..Serial::new(&cfg, Some(rotary.clone()), vb)?
        })
    };
    Decoder::new(&cfg, norm, layer, &vb)
}
