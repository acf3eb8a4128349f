//! SmolLM 3: some layers have no positions (NoPE).

use candle_core::Result;
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;
use pe_candle::hf_config::{self, UnknownKeys};
use serde_json::Value;

use super::Serial;
use crate::blocks::RmsNorm;
use crate::{Config, Decoder};

/// Loads a model by its `config.json`.
pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Decoder<Serial, RmsNorm>> {
    let cfg = Config::new(config)?;
    let layers = hf_config::read(config, UnknownKeys::Reject)?;
    let rotary = RotaryEmbedding::from_hf_config(config, None, vb.dtype(), vb.device())?;
    let norm = RmsNorm::new(cfg.hidden_size, cfg.norm_eps, vb.pp("model.norm"))?;
    let layer = |index, vb: VarBuilder<'_>| {
        let rotary = layers.layer_at(index)?.map(|_| rotary.clone());
        Serial::new(&cfg, rotary, vb)
    };
    Decoder::new(&cfg, norm, layer, &vb)
}
