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

fn warnings(more: &Value) -> Vec<String> {
    hf_config::read(&text(more), UnknownKeys::Warn)
        .unwrap()
        .warnings
}

fn error(more: &Value) -> String {
    hf_config::read(&text(more), UnknownKeys::Reject)
        .unwrap_err()
        .to_string()
}

/// Every even width of every head is read back as it stands: no rounding loses a column, and the whole
/// head may turn.
#[test]
fn every_rotary_dim_is_kept() {
    for head_dim in 2..=200 {
        for rotary_dim in (2..=head_dim).step_by(2) {
            let model = read(&json!({"head_dim": head_dim, "rotary_dim": rotary_dim}));
            let layer = &model.layers[0];
            assert_eq!(
                (layer.head_dim, layer.rotary.rotary_dim),
                (head_dim, rotary_dim)
            );
        }
    }
    let beyond = error(&json!({"head_dim": 64, "rotary_dim": 66}));
    assert_eq!(beyond, "config.json: rotary_dim 66 exceeds head_dim 64");
}

#[test]
fn parts_of_a_head_end_at_the_whole() {
    for part in [1.5, 2.0, -0.25] {
        let message = error(&json!({"partial_rotary_factor": part}));
        assert!(message.contains("is not within 0..=1"), "{message}");
    }
    // A whole head more by one column would be the next even width.
    let message = error(&json!({"head_dim": 4, "partial_rotary_factor": 1.25}));
    assert!(message.contains("1.25 is not within 0..=1"), "{message}");
    let whole = read(&json!({"partial_rotary_factor": 1.0}));
    assert_eq!(whole.layers[0].rotary.rotary_dim, 128);
}

#[test]
fn heads_that_are_none() {
    let none = error(&json!({"num_attention_heads": 0}));
    assert_eq!(none, "config.json: num_attention_heads is 0");
    let missing =
        error(&json!({"model_type": "minicpm", "hidden_size": null, "num_attention_heads": 0}));
    assert!(missing.contains("head_dim is missing"), "{missing}");
}

/// `kv_channels` is another name of `head_dim`: with both, a different value is reported.
#[test]
fn two_widths_of_a_head() {
    let one = read(&json!({"kv_channels": 96}));
    assert_eq!(one.layers[0].head_dim, 96);
    let same = read(&json!({"head_dim": 64, "kv_channels": 64.0}));
    assert_eq!(same.layers[0].head_dim, 64);
    assert!(same.keys.iter().any(|key| key.path == "kv_channels"));
    let both = json!({"head_dim": 64, "kv_channels": 96});
    assert_eq!(warnings(&both), ["kv_channels (differs from head_dim)"]);
    assert_eq!(
        error(&both),
        "config.json: has keys that would be ignored: kv_channels (differs from head_dim)"
    );
}

/// The same dictionary under both names is one; another is reported.
#[test]
fn two_dictionaries() {
    let linear = |factor: f64| json!({"rope_type": "linear", "factor": factor});
    let same = json!({"rope_scaling": linear(2.0), "rope_parameters": linear(2.0)});
    assert_eq!(warnings(&same), Vec::<String>::new());
    assert_eq!(
        read(&same).layers[0].rotary.scaling,
        RopeScaling::Linear { factor: 2.0 }
    );
    let other = json!({"rope_scaling": linear(2.0), "rope_parameters": linear(4.0)});
    assert!(warnings(&other)[0].contains("rope_scaling is there too"));
    assert!(error(&other).contains("rope_parameters"));
}

/// Bases of sliding and full attention: stated, from the family, at the model's level.
#[test]
fn bases_of_two_types_of_layers() {
    let bases = |more: &Value| -> Vec<(Option<String>, f64)> {
        let layers = read(more).layers;
        layers
            .into_iter()
            .map(|layer| (layer.layer_type, layer.rotary.base))
            .collect()
    };
    let (full, sliding) = (
        Some("full_attention".to_owned()),
        Some("sliding_attention".to_owned()),
    );
    // One key alone makes two sets of a model that has one.
    let local = json!({"rope_theta": 5e5, "rope_local_base_freq": 1e4});
    assert_eq!(bases(&local), [(full.clone(), 5e5), (sliding.clone(), 1e4)]);
    let global = json!({"rope_theta": 5e5, "global_rope_theta": 7e5});
    assert_eq!(
        bases(&global),
        [(full.clone(), 7e5), (sliding.clone(), 5e5)]
    );
    assert_eq!(bases(&json!({"rope_theta": 5e5})), [(None, 5e5)]);
    // Named dictionaries without a base: the family's slow one for sliding attention alone ...
    let named = json!({
        "model_type": "modernbert",
        "rope_parameters": {
            "full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}
        }
    });
    assert_eq!(
        bases(&named),
        [(full.clone(), 160_000.0), (sliding.clone(), 10_000.0)]
    );
    // ... unless the model states one for all.
    let mut stated = named.clone();
    stated["rope_theta"] = json!(3e5);
    assert_eq!(
        bases(&stated),
        [(full.clone(), 3e5), (sliding.clone(), 3e5)]
    );
    let mut plain = named;
    plain["model_type"] = json!("llama");
    assert_eq!(bases(&plain), [(full.clone(), 1e4), (sliding.clone(), 1e4)]);
    // Sliding layers of Gemma are not scaled, those of ModernBERT are.
    let scaled = |model_type: &str| {
        let more = json!({
            "model_type": model_type, "rope_scaling": {"rope_type": "linear", "factor": 8.0}
        });
        let layers = read(&more).layers;
        layers
            .iter()
            .map(|layer| layer.rotary.scaling.name())
            .collect::<Vec<_>>()
    };
    assert_eq!(scaled("gemma3_text"), ["linear", "default"]);
    assert_eq!(scaled("modernbert"), ["linear", "linear"]);
}

#[test]
fn names_of_the_scaling() {
    let named = |rope_type: &str, other: &str| {
        json!({
            "rope_scaling": {"rope_type": rope_type, "type": other, "factor": 2.0}
        })
    };
    assert!(error(&named("linear", "dynamic")).contains("contradicts"));
    assert!(error(&named("default", "linear")).contains("contradicts"));
    assert!(error(&named("linear", "mrope")).contains("contradicts"));
    assert_eq!(
        read(&named("linear", "linear")).layers[0]
            .rotary
            .scaling
            .name(),
        "linear"
    );
    let both = json!({"rope_scaling": {"rope_type": "default", "type": "mrope"}});
    assert_eq!(read(&both).layers[0].rotary.scaling, RopeScaling::Default);
}

#[test]
fn lengths_at_two_levels() {
    const KEY: &str = "original_max_position_embeddings";
    let of = |inner: usize| {
        json!({
            KEY: 1024, "rope_scaling": {"rope_type": "yarn", "factor": 2.0, KEY: inner}
        })
    };
    // The same twice is no contradiction.
    assert_eq!(warnings(&of(1024)), Vec::<String>::new());
    assert!(warnings(&of(2048))[0].contains("is 2048, but 1024 at the model's level, which wins"));
}

#[test]
fn every_field_of_longrope_and_yarn_arrives() {
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
    // 0 stands for the default, as in transformers.
    let found = scaling(&json!({
        "rope_type": "yarn", "factor": 4.0, "beta_fast": 0.0, "beta_slow": 0.0
    }));
    assert_eq!(found, RopeScaling::Yarn(YarnScaling::new(4.0, 4096)));
}

/// Without a factor YaRN's is the longest sequence over that trained with.
#[test]
fn yarn_without_a_factor() {
    const KEY: &str = "original_max_position_embeddings";
    let of = |length: usize| json!({"rope_scaling": {"rope_type": "yarn", KEY: length}});
    let found = read(&of(3072)).layers.remove(0).rotary.scaling;
    assert_eq!(
        found,
        RopeScaling::Yarn(YarnScaling::new(8192.0 / 3072.0, 3072))
    );
    assert!(error(&of(0)).contains("rope_scaling.factor is missing"));
}

/// Layers of full attention may have wider heads: by a key, and by default in Gemma 4.
#[test]
fn wider_heads_in_layers_of_full_attention() {
    let heads = |more: &Value| -> Vec<usize> {
        read(more)
            .layers
            .iter()
            .map(|layer| layer.head_dim)
            .collect()
    };
    assert_eq!(heads(&json!({"model_type": "gemma4_text"})), [512, 256]);
    let stated = json!({"model_type": "gemma4_text", "global_head_dim": 384, "head_dim": 128});
    assert_eq!(heads(&stated), [384, 128]);
    let other = json!({"model_type": "gemma3_text", "global_head_dim": 320});
    assert_eq!(heads(&other), [320, 256]);
    assert_eq!(heads(&json!({"model_type": "gemma3_text"})), [256, 256]);
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
