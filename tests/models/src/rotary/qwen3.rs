//! Qwen 3: a norm of each head before the rotation.

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
        let head_norm = |name| RmsNorm::new(cfg.head_dim(), cfg.norm_eps, vb.pp(name));
        let head_norms = [
            head_norm("self_attn.q_norm")?,
            head_norm("self_attn.k_norm")?,
        ];
        let mut layer = Serial::new(&cfg, Some(rotary.clone()), vb)?;
        layer.attention.head_norms = Some(head_norms);
        Ok(layer)
    };
    Decoder::new(&cfg, norm, layer, &vb)
}
