//! GLM-4 (0414): the first half of each head is rotated, in interleaved pairs.

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
    let norm = |vb: VarBuilder<'_>| RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb);
    let layer = |_, vb: VarBuilder<'_>| {
        Ok(Serial {
            norms_after: Some([
                norm(vb.pp("post_self_attn_layernorm"))?,
                norm(vb.pp("post_mlp_layernorm"))?,
            ]),
            ..Serial::new(&cfg, Some(rotary.clone()), vb)?
        })
    };
    Decoder::new(&cfg, norm(vb.pp("model.norm"))?, layer, &vb)
}
