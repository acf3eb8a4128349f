//! `config.json`: what single keys do to the specification, at the edges of their conditions.

use pe_core::hf_config::{self, HfRotary, UnknownKeys};
use pe_core::{LongRopeScaling, RopeScaling, YarnScaling};
use serde_json::{Value, json};

/// A llama of 32 heads of 128 columns, and more keys.
fn text(more: &Value) -> String {
    let mut all = json!({
        "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
        "max_position_embeddings": 8192
    });
    let map = all.as_object_mut().unwrap();
    map.extend(more.as_object().unwrap().clone());
    map.retain(|_, value| !value.is_null());
    all.to_string()
}

fn read(more: &Value) -> HfRotary {
    hf_config::read(&text(more), UnknownKeys::Reject).unwrap()
}

/// Every even width of every head is read back unchanged: no rounding loses a column, and the whole
/// head may turn.
#[test]
fn rotary_dims_are_kept() {
    for head_dim in 2..=200 {
        for rotary_dim in (2..=head_dim).step_by(2) {
            // Classes of transformers with the key have other defaults.
            let keys =
                json!({"model_type": "internlm2", "head_dim": head_dim, "rotary_dim": rotary_dim});
            let model = read(&keys);
            let layer = &model.layers[0];
            assert_eq!(
                (layer.head_dim, layer.rotary.rotary_dim),
                (head_dim, rotary_dim)
            );
        }
    }
}

#[test]
fn fields_of_longrope_and_yarn_are_read() {
    let factors: Vec<f64> = (0..64).map(|pair| 1.0 + f64::from(pair)).collect();
    let scaling = |more: &Value| {
        let mut map = json!({"original_max_position_embeddings": 4096});
        map.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        read(&json!({"rope_scaling": map}))
            .layers
            .remove(0)
            .rotary
            .scaling
    };
    let found = scaling(&json!({
        "rope_type": "longrope", "short_factor": factors, "long_factor": factors, "factor": 3.5,
        "attention_factor": 1.25, "short_mscale": 1.5, "long_mscale": 1.75
    }));
    let wanted = LongRopeScaling {
        factor: Some(3.5),
        attention_factor: Some(1.25),
        short_mscale: Some(1.5),
        long_mscale: Some(1.75),
        ..LongRopeScaling::new(factors.clone(), factors, 4096)
    };
    assert_eq!(found, RopeScaling::LongRope(wanted));
    let found = scaling(&json!({
        "rope_type": "yarn", "factor": 4.0, "beta_fast": 40.0, "beta_slow": 2.0, "mscale": 0.5,
        "mscale_all_dim": 0.75, "attention_factor": 1.125, "truncate": false
    }));
    let wanted = YarnScaling {
        beta_fast: 40.0,
        beta_slow: 2.0,
        mscale: Some(0.5),
        mscale_all_dim: Some(0.75),
        attention_factor: Some(1.125),
        truncate: false,
        ..YarnScaling::new(4.0, 4096)
    };
    assert_eq!(found, RopeScaling::Yarn(wanted));
    // 0 means the default, as in transformers.
    let found = scaling(&json!({
        "rope_type": "yarn", "factor": 4.0, "beta_fast": 0.0, "beta_slow": 0.0
    }));
    assert_eq!(found, RopeScaling::Yarn(YarnScaling::new(4.0, 4096)));
}

/// Values in the trace are those of the file; long lists by their length, long names by their beginning.
#[test]
fn long_values_are_shortened_in_the_trace() {
    let factors = vec![1.5; 64];
    let model = read(&json!({"rope_scaling": {
        "rope_type": "longrope", "short_factor": factors, "long_factor": factors,
        "original_max_position_embeddings": 4096, "factor": 2.0
    }}));
    let value = |path: &str| {
        let key = model.keys.iter().find(|key| key.path == path).unwrap();
        key.value.clone()
    };
    assert_eq!(value("rope_scaling.long_factor"), "[64 values]");
    assert_eq!(value("rope_scaling.factor"), "2.0");
}

/// Found by fuzzing: read as dictionaries by type of layer, these left a model without layers.
#[test]
fn parameters_that_are_all_null_are_none() {
    let plain = read(&json!({}));
    for dictionary in ["rope_scaling", "rope_parameters"] {
        for key in ["type", "factor", "full_attention"] {
            let model = read(&json!({dictionary: {key: null}}));
            assert_eq!(model.layers.len(), 1, "{dictionary} {key}");
            assert_eq!(model.layers[0].rotary, plain.layers[0].rotary);
        }
    }
}
