//! ChatGLM and GLM-4, from their config.json to rotated heads, against the definition in real arithmetic.

use super::*;
use pe_candle::hf_config::{self, UnknownKeys};
use pe_tests::golden::{self, patterns};
use serde_json::{Value, json};

/// The keys of a ChatGLM's file about positions and widths, with more of its own.
fn file(more: Value) -> Value {
    let mut file = json!({
        "model_type": "chatglm", "hidden_size": 4096, "num_attention_heads": 32,
        "kv_channels": 128, "seq_length": 131072, "original_rope": true,
        "multi_query_attention": true, "multi_query_group_num": 2
    });
    for (key, value) in more.as_object().unwrap() {
        file[key] = value.clone();
    }
    file
}

#[test]
fn chatglm_rotates_half_of_each_head_in_pairs_of_neighbors_by_the_ratios_base() -> Result<()> {
    let golden: Value = golden::json("chatglm.json");
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let ratio = case["rope_ratio"].as_u64().unwrap();
        let mut more = json!({"kv_channels": case["kv_channels"]});
        if ratio != 1 {
            more["rope_ratio"] = json!(ratio);
        }
        let config = RotaryEmbeddingConfig {
            axis_order: HeadOrder::SequenceFirst,
            ..RotaryEmbeddingConfig::from_hf_config(&file(more), None)?
        };
        assert_eq!(config.rotary.base, 10_000.0 * ratio as f64);
        assert_eq!((config.rotary.rotary_dim, config.head_dim()), (64, 128));
        assert_eq!(config.layout, PairLayout::Interleaved);
        assert_eq!(config.max_seq_len(), 131_072);
        let layer = layer(config, DType::F64);
        let inv_freq = layer.rotary().frequencies(0)?.inv_freq();
        let inv_freq: Vec<u64> = inv_freq.iter().map(|f| f.to_bits()).collect();
        assert_eq!(inv_freq, patterns(&case["inv_freq"]), "{ratio}");
        // A head of 1, 0, 1, 0 ... becomes cosines and sines in turns; its second half stays.
        let head: Vec<f64> = (0..128).map(|column| f64::from(1 - column % 2)).collect();
        let xs =
            Tensor::from_vec(head.clone(), (1, 1, 1, 128), CPU)?.broadcast_as((1, 3, 2, 128))?;
        let positions = case["positions"].as_array().unwrap();
        for (position, row) in positions.iter().zip(case["rows"].as_array().unwrap()) {
            let ys = layer.apply(&xs, position.as_u64().unwrap() as usize)?;
            for ys in f64s(&ys).chunks(128) {
                let found: Vec<u64> = ys[..64].iter().map(|y| y.to_bits()).collect();
                assert_eq!(found, patterns(row), "{ratio} {position}");
                assert_eq!(ys[64..], head[64..]);
            }
        }
    }
    Ok(())
}

#[test]
fn files_own_keys_are_used_or_refused() {
    let read = |more| hf_config::read(&file(more), UnknownKeys::Reject);
    let model = read(json!({"rope_ratio": 500})).unwrap();
    for (path, meaning) in [
        ("rope_ratio", "multiplies the base 10000"),
        ("kv_channels", "the width of a head"),
        ("seq_length", "the longest sequence"),
        ("original_rope", "which columns form a pair"),
    ] {
        let key = model.keys.iter().find(|key| key.path == path);
        assert_eq!(key.unwrap().meaning, meaning, "{path}");
    }
    // CogAgent, the same class with pairs in halves.
    let halves = read(json!({"original_rope": false})).unwrap();
    assert_eq!(halves.layers[0].layout, PairLayout::HalfSplit);
    let widths = read(json!({"kv_channels": null})).unwrap();
    assert_eq!(widths.layers[0].head_dim, 128);
    for (more, wanted) in [
        (
            json!({"rope_ratio": "two"}),
            "rope_ratio is \"two\", not a number",
        ),
        (
            json!({"original_rope": 1}),
            "original_rope is neither true nor false",
        ),
        (
            json!({"position_encoding_2d": true}),
            "position_encoding_2d is true: the two-dimensional rotation of the first ChatGLM is not supported",
        ),
    ] {
        let error = read(more).unwrap_err().to_string();
        assert_eq!(error, format!("config.json: {wanted}"));
    }
    // Another model's file with such a key is not understood.
    let other = json!({"model_type": "llama", "head_dim": 128, "rope_ratio": 2});
    let error = hf_config::read(&other, UnknownKeys::Reject).unwrap_err();
    assert!(error.to_string().contains("rope_ratio (has no effect)"));
}
