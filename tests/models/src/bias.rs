//! Models with biases of their attention scores.

pub mod deberta;
pub mod jina_bert;
pub mod mpt;
pub mod t5;

use candle_core::{Result, bail};
use candle_nn::VarBuilder;
use pe_candle::Alibi;
use pe_candle::pe_core::{HfBias, bias_from_hf_config};
use serde_json::Value;

/// The slopes of a model by its `config.json`.
fn alibi(config: &Value, vb: &VarBuilder<'_>) -> Result<Alibi> {
    match bias_from_hf_config(config)? {
        Some(HfBias::Alibi(alibi)) => Alibi::new(alibi, vb.dtype(), vb.device()),
        other => bail!("config.json states {other:?}, not ALiBi"),
    }
}
