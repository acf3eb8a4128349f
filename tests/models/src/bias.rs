//! Models with biases of their attention scores.

pub mod deberta;
pub mod jina_bert;
pub mod mpt;
pub mod t5;

use candle_core::{Result, bail};
use candle_nn::VarBuilder;
use pe_candle::Alibi;
use pe_candle::hf_config::{self, HfBias};
use serde_json::Value;

/// The slopes of a model by its `config.json`.
fn alibi(config: &Value, vb: &VarBuilder<'_>) -> Result<Alibi> {
    match hf_config::read_bias(config)? {
        Some(HfBias::Alibi(alibi)) => Alibi::new(alibi, vb.dtype(), vb.device()),
        other => bail!("config.json states {other:?}, not ALiBi"),
    }
}
