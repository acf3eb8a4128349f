//! Reader of `golden/rotary.json` and `golden/rotary_edges.json`.

use serde_json::Value;

use crate::golden::{self, patterns};

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

/// Cosines and sines by a model's own forward pass in f32.
pub struct Tables {
    pub name: String,
    pub positions: Vec<u32>,
    pub inv_freq: Vec<f32>,
    pub attention_factor: f64,
    /// One row per position.
    pub cos: Vec<Vec<f32>>,
    pub sin: Vec<Vec<f32>>,
}

fn all(file: &str, key: &str) -> Vec<Value> {
    let all: Value = golden::json(file);
    all[key].as_array().unwrap().clone()
}

/// All sets of released models.
pub fn cases() -> Vec<Case> {
    all("rotary.json", "cases").iter().map(case).collect()
}

/// Sets of no released model, where a scaling's formula turns.
pub fn edges() -> Vec<Case> {
    let edges = all("rotary_edges.json", "cases");
    assert!(edges.len() > 10, "{}", edges.len());
    edges.iter().map(case).collect()
}

/// All tables.
pub fn tables() -> Vec<Tables> {
    let table = |value: &Value| Tables {
        name: value["name"].as_str().unwrap().to_owned(),
        positions: serde_json::from_value(value["positions"].clone()).unwrap(),
        inv_freq: f32s(&value["inv_freq_f32"]),
        attention_factor: value["attention_factor"].as_f64().unwrap(),
        cos: value["cos_f32"]
            .as_array()
            .unwrap()
            .iter()
            .map(f32s)
            .collect(),
        sin: value["sin_f32"]
            .as_array()
            .unwrap()
            .iter()
            .map(f32s)
            .collect(),
    };
    all("rotary.json", "tables").iter().map(table).collect()
}

fn f32s(value: &Value) -> Vec<f32> {
    let of = |bits: u64| f32::from_bits(bits as u32);
    patterns(value).into_iter().map(of).collect()
}

fn case(value: &Value) -> Case {
    let text = |key: &str| value[key].as_str().map(str::to_owned);
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
        inv_freq_f32: f32s(&value["inv_freq_f32"]),
        attention_factor: value["attention_factor"].as_f64().unwrap(),
        inv_freq_exact: patterns(&value["inv_freq_exact"])
            .into_iter()
            .map(f64::from_bits)
            .collect(),
        attention_factor_exact: value["attention_factor_exact"].as_f64().unwrap(),
    }
}
