//! Layers without a rotary embedding, files that leave out what the class of the model states, and
//! numbers that JSON does not have.

use pe_core::hf_config::{self, HfModel, HfRotary, HfScheme, UnknownKeys};
use pe_core::{Rotary, RotaryConfig};
use serde_json::{Value, json};

fn read(config: &Value) -> HfRotary {
    hf_config::read(config, UnknownKeys::Reject).unwrap_or_else(|error| panic!("{config}: {error}"))
}

fn error(config: &Value) -> String {
    hf_config::read(config, UnknownKeys::Reject)
        .unwrap_err()
        .to_string()
}

fn small(model_type: &str, more: &Value) -> Value {
    let mut config = json!({"model_type": model_type, "hidden_size": 64, "num_attention_heads": 4});
    let more = more.as_object().unwrap().clone();
    config.as_object_mut().unwrap().extend(more);
    config
}

/// Layers of models with several sets are found by their index.
#[test]
fn layers_are_found_by_their_index() {
    let theta = |theta: f64| json!({"rope_type": "default", "rope_theta": theta});
    let config = small(
        "beam",
        &json!({
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_parameters": {"sliding_attention": theta(7.0), "full_attention": null},
        }),
    );
    let model = read(&config);
    assert_eq!(model.layer_at(0).unwrap().unwrap().rotary.base, 7.0);
    assert!(model.layer_at(1).unwrap().is_none());
    let error = model.layer_at(2).unwrap_err().to_string();
    assert!(error.contains("a layer type is needed"), "{error}");
    let plain = read(&small("llama", &json!({})));
    assert!(plain.layer_at(1000).unwrap().is_some());
}

/// transformers gives DeepSeek V4's layers with a window alone the set `main`, and all others `compress`.
#[test]
fn layers_of_deepseek_v4_have_a_set_each() {
    let bases = |more: Value| -> Vec<f64> {
        let mut config = json!({"model_type": "deepseek_v4", "num_hidden_layers": 4});
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let model = read(&config);
        let base = |index| model.layer_at(index).unwrap().unwrap().rotary.base;
        assert!(model.layer_at(4).is_err());
        (0..4).map(base).collect()
    };
    let (main, compress) = (1e4, 160_000.0);
    // Without either key, no layer attends to a window alone.
    assert_eq!(bases(json!({})), [compress; 4]);
    let wanted = [compress, main, compress, compress];
    // Released files number a layer for several tokens at a time too.
    assert_eq!(
        bases(json!({"compress_ratios": [128, 0, 4, 128, 0]})),
        wanted
    );
    let types = json!([
        "heavily_compressed_attention",
        "sliding_attention",
        "compressed_sparse_attention",
        "heavily_compressed_attention"
    ]);
    assert_eq!(bases(json!({"layer_types": types})), wanted);
    for (more, expected) in [
        (
            json!({"compress_ratios": [2]}),
            "compress_ratios 2 is none of 0, 4, and 128",
        ),
        (
            json!({"compress_ratios": 4}),
            "compress_ratios is not a list of numbers",
        ),
        (
            json!({"layer_types": ["full_attention"]}),
            "layer_types \"full_attention\" is not a type of this model's layers",
        ),
    ] {
        assert_eq!(
            error(&small("deepseek_v4", &more)),
            format!("config.json: {expected}")
        );
    }
}

#[test]
fn models_of_patches_are_refused_by_name() {
    for model_type in [
        "pixtral",
        "dinov3_vit",
        "qwen2_vl_vision",
        "llama4_vision_model",
    ] {
        let config = small(model_type, &json!({"rope_theta": 100.0}));
        let expected = format!(
            "config.json: model_type \"{model_type}\" rotates by several coordinates: AxialRotary \
             builds such tables"
        );
        assert_eq!(error(&config), expected);
        let HfModel::Other(other) = hf_config::read_model(&config, UnknownKeys::Reject).unwrap()
        else {
            panic!("{model_type}");
        };
        assert_eq!(other.schemes, [HfScheme::RotaryAxes]);
    }
}

/// LLaVA's files state of the language model only what differs from its class.
#[test]
fn sizes_that_a_file_leaves_out_are_those_of_the_class() {
    let model = read(&json!({
        "model_type": "llava",
        "text_config": {"model_type": "llama", "max_position_embeddings": 4096, "vocab_size": 32064},
        "vision_config": {"model_type": "clip_vision_model", "hidden_size": 1024},
    }));
    let layer = model.layer(None).unwrap();
    assert_eq!(
        (layer.head_dim, layer.rotary.max_position_embeddings),
        (128, Some(4096))
    );
    let dynamic =
        json!({"model_type": "llama", "rope_scaling": {"type": "dynamic", "factor": 2.0}});
    for (text, longest) in [
        (dynamic, Some(2048)),
        (json!({"model_type": "llama"}), None),
    ] {
        let bare = read(&json!({"model_type": "llava", "text_config": text}));
        assert_eq!(bare.layers[0].rotary.max_position_embeddings, longest);
    }
    let unknown = json!({"model_type": "llava", "text_config": {"hidden_size": 64, "num_attention_heads": 4, "rope_theta": 1e4}});
    assert!(error(&unknown).contains("text_config.model_type (is missing: half-split pairs"));
}

/// transformers gives an odd number of rotated columns one more column.
#[test]
fn odd_widths_have_their_own_exponents() {
    let model =
        read(&json!({"model_type": "glm4_moe", "hidden_size": 4096, "num_attention_heads": 96}));
    let config = model.layers[0].rotary.clone();
    assert_eq!((config.rotary_dim, config.exponent_dim), (22, Some(21)));
    let set = |config| {
        Rotary::new(config)
            .unwrap()
            .frequencies(0)
            .unwrap()
            .inv_freq()
    };
    let odd = set(config);
    // 2i / 21 = 2 (2i) / 42.
    let twice: Vec<f64> = set(RotaryConfig::new(42)).into_iter().step_by(2).collect();
    assert_eq!(odd, twice);
    for exponent_dim in [0, pe_core::MAX_D_MODEL + 1] {
        let config = RotaryConfig {
            exponent_dim: Some(exponent_dim),
            ..RotaryConfig::new(8)
        };
        let error = Rotary::new(config).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("exponent_dim {exponent_dim} is not within 1..=1048576")
        );
    }
}

/// Python writes numbers that JSON does not have.
#[test]
fn constants_of_python_are_read_where_they_do_not_matter() {
    let text = |more: &str| {
        format!(
            r#"{{"model_type": "llama", "hidden_size": 64, "note": "Infinity \" NaN",
                     "num_attention_heads": 4, {more}}}"#
        )
    };
    let read = |more: &str| hf_config::read(&text(more), UnknownKeys::Reject);
    for more in [
        r#""time_step_limit": [0.0, Infinity]"#,
        r#""a": NaN, "b": -Infinity"#,
        r#""a": [NaN,NaN]"#,
    ] {
        assert_eq!(read(more).unwrap().layers[0].head_dim, 16, "{more}");
    }
    for (more, expected) in [
        (
            r#""rope_theta": Infinity"#,
            "rope_theta is \"Infinity\", not a number",
        ),
        (
            r#""rope_theta": NaN"#,
            "rope_theta is \"NaN\", not a number",
        ),
        (
            r#""head_dim": -Infinity"#,
            "head_dim is \"-Infinity\", not an integer",
        ),
        (r#""a": NaN, "b": }"#, "the text is not JSON: "),
        (r#""a": Infinit"#, "the text is not JSON: "),
        ("\"a\": NaN, \"b", "the text is not JSON: "),
    ] {
        let error = read(more).unwrap_err().to_string();
        assert!(error.contains(expected), "{more}: {error}");
    }
}
