//! Reader of `golden/rotary.json`.

use serde_json::Value;

use crate::golden;

/// One set of frequencies of a released model.
pub struct Case {
    /// Model, layer type and sequence length: `model|layer type|length`.
    pub name: String,
    /// The `config.json`.
    pub config: String,
    pub layer_type: Option<String>,
    pub seq_len: Option<usize>,
    pub rope_type: String,
    pub rotary_dim: usize,
    /// What transformers computes.
    pub inv_freq_f32: Vec<f32>,
    pub attention_factor: f64,
    /// The nearest f64 to the formulas in real arithmetic.
    pub inv_freq_exact: Vec<f64>,
    pub attention_factor_exact: f64,
}

/// All sets.
pub fn cases() -> Vec<Case> {
    let all: Value = serde_json::from_str(&golden::text("rotary.json")).unwrap();
    all["cases"].as_array().unwrap().iter().map(case).collect()
}

fn case(value: &Value) -> Case {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
    let patterns = |key: &str| -> Vec<u64> {
        let list = value[key].as_array().unwrap();
        let bits = |item: &Value| u64::from_str_radix(item.as_str().unwrap(), 16).unwrap();
        list.iter().map(bits).collect()
    };
    let (layer_type, seq_len) = (text("layer_type"), value["seq_len"].as_u64());
    Case {
        name: format!(
            "{}|{}|{}",
            text("name").unwrap(),
            layer_type.as_deref().unwrap_or(""),
            seq_len.map_or(String::new(), |n| n.to_string())
        ),
        config: value["config"].to_string(),
        layer_type,
        seq_len: seq_len.map(|n| n as usize),
        rope_type: text("rope_type").unwrap(),
        rotary_dim: value["rotary_dim"].as_u64().unwrap() as usize,
        inv_freq_f32: patterns("inv_freq_f32")
            .into_iter()
            .map(|bits| f32::from_bits(bits as u32))
            .collect(),
        attention_factor: value["attention_factor"].as_f64().unwrap(),
        inv_freq_exact: patterns("inv_freq_exact")
            .into_iter()
            .map(f64::from_bits)
            .collect(),
        attention_factor_exact: value["attention_factor_exact"].as_f64().unwrap(),
    }
}
