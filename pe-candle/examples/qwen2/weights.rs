//! Small random weights, the same on every run and in every type: values that `bf16` represents exactly.

use std::collections::HashMap;

use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;

use super::model::Config;

/// The weights of a model in a type.
pub(crate) fn weights(cfg: &Config, dtype: DType) -> Result<VarBuilder<'static>> {
    let mut random = Random(1);
    let mut tensors = HashMap::new();
    let (hidden, inner) = (cfg.hidden_size, cfg.intermediate_size);
    let kv = hidden / cfg.num_attention_heads * cfg.num_key_value_heads;
    let mut add = |name: String, shape: &[usize], scale: f64, around: f64| -> Result<()> {
        let count = shape.iter().product();
        let values: Vec<f64> = (0..count).map(|_| around + scale * random.next()).collect();
        let values = Tensor::from_vec(values, shape, &Device::Cpu)?.to_dtype(DType::BF16)?;
        tensors.insert(name, values);
        Ok(())
    };
    add(
        "model.embed_tokens.weight".into(),
        &[cfg.vocab_size, hidden],
        1.0,
        0.0,
    )?;
    add("model.norm.weight".into(), &[hidden], 0.1, 1.0)?;
    let usual = 1.7 / (hidden as f64).sqrt();
    for layer in 0..cfg.num_hidden_layers {
        let mut add = |name: &str, shape: &[usize], scale, around| {
            add(format!("model.layers.{layer}.{name}"), shape, scale, around)
        };
        // Sharp attention, so that the attended positions depend on the angles.
        add(
            "self_attn.q_proj.weight",
            &[hidden, hidden],
            1.5 * usual,
            0.0,
        )?;
        add("self_attn.k_proj.weight", &[kv, hidden], 1.5 * usual, 0.0)?;
        add("self_attn.v_proj.weight", &[kv, hidden], usual, 0.0)?;
        add("self_attn.o_proj.weight", &[hidden, hidden], usual, 0.0)?;
        add("self_attn.q_proj.bias", &[hidden], 0.5, 0.0)?;
        add("self_attn.k_proj.bias", &[kv], 0.5, 0.0)?;
        add("self_attn.v_proj.bias", &[kv], 0.5, 0.0)?;
        add("mlp.gate_proj.weight", &[inner, hidden], usual, 0.0)?;
        add("mlp.up_proj.weight", &[inner, hidden], usual, 0.0)?;
        add("mlp.down_proj.weight", &[hidden, inner], usual, 0.0)?;
        add("input_layernorm.weight", &[hidden], 0.1, 1.0)?;
        add("post_attention_layernorm.weight", &[hidden], 0.1, 1.0)?;
    }
    Ok(VarBuilder::from_tensors(tensors, dtype, &Device::Cpu))
}

/// Tokens without a pattern.
pub(crate) fn tokens(cfg: &Config, count: usize) -> Result<Tensor> {
    let mut random = Random(2);
    let limit = cfg.vocab_size as f64;
    let tokens: Vec<u32> = (0..count)
        .map(|_| ((random.next() + 1.0) / 2.0 * limit) as u32)
        .collect();
    Tensor::from_vec(tokens, (1, count), &Device::Cpu)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// A number in [-1, 1).
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}
