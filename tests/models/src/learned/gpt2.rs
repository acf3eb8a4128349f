//! GPT-2: a row per position. Its matrices are stored transposed.

use candle_core::Result;
use candle_nn::{Linear, VarBuilder, embedding};
use pe_candle::{LearnedPositional, LearnedPositionalConfig};
use serde_json::Value;

use super::LearnedDecoder;
use crate::blocks::{Attention, LayerNorm, Mlp};
use crate::{Config, PreNorm};

/// A stored matrix `[inputs, outputs]`.
fn transposed(inputs: usize, outputs: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    let weight = vb.get((inputs, outputs), "weight")?.t()?.contiguous()?;
    Ok(Linear::new(weight, Some(vb.get(outputs, "bias")?)))
}

/// Loads a model by its `config.json`.
pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<LearnedDecoder> {
    let cfg = Config::new(config)?;
    let (hidden, inner) = (cfg.hidden_size, cfg.intermediate_size());
    let vb = vb.pp("transformer");
    let norm = |vb: VarBuilder<'_>| LayerNorm::new(hidden, cfg.norm_eps, vb);
    let layer = |index| {
        let vb = vb.pp(format!("h.{index}"));
        let qkv = transposed(hidden, 3 * hidden, vb.pp("attn.c_attn"))?;
        let part = |index: usize| -> Result<Linear> {
            let [weight, bias] = [Some(qkv.weight()), qkv.bias()]
                .map(|all| all.expect("both").narrow(0, index * hidden, hidden));
            Ok(Linear::new(weight?, Some(bias?)))
        };
        let qkv = (0..3).map(part).collect::<Result<_>>()?;
        let output = transposed(hidden, hidden, vb.pp("attn.c_proj"))?;
        let maps = [
            transposed(hidden, inner, vb.pp("mlp.c_fc"))?,
            transposed(inner, hidden, vb.pp("mlp.c_proj"))?,
        ];
        Ok(PreNorm {
            attention: Attention::from_parts(&cfg, qkv, output)?,
            mlp: Mlp::from_parts(&cfg, maps),
            norms: [norm(vb.pp("ln_1"))?, norm(vb.pp("ln_2"))?],
        })
    };
    let positions = LearnedPositionalConfig::from_hf_config(config)?;
    Ok(LearnedDecoder {
        tokens: embedding(cfg.vocab_size, hidden, vb.pp("wte"))?,
        positions: LearnedPositional::new(positions, vb.clone())?,
        layers: (0..cfg.num_hidden_layers)
            .map(layer)
            .collect::<Result<_>>()?,
        norm: norm(vb.pp("ln_f"))?,
    })
}
