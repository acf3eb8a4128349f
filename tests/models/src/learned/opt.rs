//! OPT: a row per position, from row 2.

use candle_core::Result;
use candle_nn::{VarBuilder, embedding};
use pe_candle::{LearnedPositional, LearnedPositionalConfig};
use serde_json::Value;

use super::LearnedDecoder;
use crate::blocks::{Attention, LayerNorm, Mlp};
use crate::{Config, PreNorm};

/// Loads a model by its `config.json`.
pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<LearnedDecoder> {
    let cfg = Config::new(config)?;
    let hidden = cfg.hidden_size;
    let vb = vb.pp("model.decoder");
    let norm = |vb: VarBuilder<'_>| LayerNorm::new(hidden, cfg.norm_eps, vb);
    let layer = |index| {
        let vb = vb.pp(format!("layers.{index}"));
        Ok(PreNorm {
            attention: Attention::new(&cfg, "out_proj", vb.pp("self_attn"))?,
            mlp: Mlp::new(&cfg, ["fc1", "fc2"], vb.clone())?,
            norms: [
                norm(vb.pp("self_attn_layer_norm"))?,
                norm(vb.pp("final_layer_norm"))?,
            ],
        })
    };
    let positions = LearnedPositionalConfig::from_hf_config(config)?;
    Ok(LearnedDecoder {
        tokens: embedding(cfg.vocab_size, hidden, vb.pp("embed_tokens"))?,
        positions: LearnedPositional::new(positions, vb.clone())?,
        layers: (0..cfg.num_hidden_layers)
            .map(layer)
            .collect::<Result<_>>()?,
        norm: norm(vb.pp("final_layer_norm"))?,
    })
}
