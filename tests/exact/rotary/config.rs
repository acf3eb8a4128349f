//! Reading `config.json`: what each key does, and what is reported.

use pe_core::hf_config::{self, HfRotary, UnknownKeys};
use pe_core::{MropeArrangement, PairLayout, RopeScaling, Rotary, RotaryConfig, YarnScaling};
use pe_tests::rotary::cases;
use serde_json::{Value, json};

fn read(value: &Value) -> HfRotary {
    hf_config::read(&value.to_string(), UnknownKeys::Reject).unwrap()
}

fn error(value: &Value) -> String {
    hf_config::read(&value.to_string(), UnknownKeys::Reject)
        .unwrap_err()
        .to_string()
}

fn with(more: Value) -> Value {
    let mut base = json!({
        "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
        "max_position_embeddings": 8192, "vocab_size": 32000
    });
    let map = base.as_object_mut().unwrap();
    map.extend(more.as_object().unwrap().clone());
    base
}

/// Every model of the golden file is understood without a warning (the frequencies are
/// compared elsewhere), and every key about rotary embeddings has a line in the trace.
#[test]
fn released_models_are_understood_wholly() {
    for case in cases() {
        let model = hf_config::read(&case.config, UnknownKeys::Reject).unwrap();
        assert!(model.warnings.is_empty(), "{}", case.name);
        let config: Value = serde_json::from_str(&case.config).unwrap();
        let text = config.get("text_config").unwrap_or(&config);
        for (key, value) in text.as_object().unwrap() {
            let about = key.contains("rope") || key.contains("rotary") || key.contains("theta");
            if about && !value.is_null() {
                let found = model.keys.iter().any(|k| k.path.ends_with(key.as_str()));
                assert!(found, "{}: {key}", case.name);
            }
        }
    }
}

#[test]
fn layouts_follow_the_model_type() {
    for (model_type, layout) in [
        ("llama", PairLayout::HalfSplit),
        ("gpt_neox", PairLayout::HalfSplit),
        ("qwen3", PairLayout::HalfSplit),
        ("gptj", PairLayout::Interleaved),
        ("cohere", PairLayout::Interleaved),
        ("glm4", PairLayout::Interleaved),
        ("llama4_text", PairLayout::Interleaved),
        ("deepseek_v3", PairLayout::Interleaved),
    ] {
        let model = read(&with(json!({"model_type": model_type, "head_dim": 64})));
        assert_eq!(model.layers[0].layout, layout, "{model_type}");
    }
    let stated = with(
        json!({"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "rope_interleave": false}),
    );
    assert_eq!(read(&stated).layers[0].layout, PairLayout::HalfSplit);
}

#[test]
fn widths_come_from_many_keys() {
    for (more, head_dim, rotary_dim) in [
        (json!({}), 128, 128),
        (json!({"head_dim": 64}), 64, 64),
        (json!({"head_dim": null}), 128, 128),
        (json!({"partial_rotary_factor": 0.5}), 128, 64),
        (json!({"rotary_pct": 0.25}), 128, 32),
        (json!({"rotary_dim": 96}), 128, 96),
        (json!({"rotary_dim": 128}), 128, 128),
        (json!({"qk_rope_head_dim": 64, "head_dim": 192}), 64, 64),
        (json!({"model_type": "gpt_neox"}), 128, 32),
        (
            json!({"model_type": "gptj", "n_embd": 4096, "n_head": 16, "rotary_dim": 64, "hidden_size": null,
                "num_attention_heads": null}),
            256,
            64,
        ),
        (
            json!({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.25}}),
            128,
            32,
        ),
    ] {
        let model = read(&with(more.clone()));
        let layer = &model.layers[0];
        assert_eq!(
            (layer.head_dim, layer.rotary.rotary_dim),
            (head_dim, rotary_dim),
            "{more}"
        );
    }
}

#[test]
fn both_generations_of_files_mean_the_same() {
    let old =
        with(json!({"rope_theta": 500000.0, "rope_scaling": {"type": "linear", "factor": 4.0}}));
    let new = with(
        json!({"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500000.0}}),
    );
    let (old, new) = (read(&old), read(&new));
    assert_eq!(old.layers, new.layers);
    assert_eq!(
        old.layers[0].rotary.scaling,
        RopeScaling::Linear { factor: 4.0 }
    );
    assert_eq!(old.layers[0].rotary.base, 500_000.0);
    let path = |model: &HfRotary, path: &str| model.keys.iter().any(|key| key.path == path);
    assert!(path(&old, "rope_scaling.factor") && path(&new, "rope_parameters.factor"));
}

#[test]
fn layers_have_their_own_parameters() {
    let gemma = read(&json!({
        "model_type": "gemma3", "text_config": {
            "model_type": "gemma3_text", "hidden_size": 2560, "num_attention_heads": 8, "head_dim": 256,
            "rope_theta": 1000000, "rope_local_base_freq": 10000,
            "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}}));
    let (full, sliding) = (
        gemma.layer(Some("full_attention")).unwrap(),
        gemma.layer(Some("sliding_attention")).unwrap(),
    );
    assert_eq!((full.rotary.base, sliding.rotary.base), (1e6, 1e4));
    assert_eq!(full.rotary.scaling, RopeScaling::Linear { factor: 8.0 });
    assert_eq!(sliding.rotary.scaling, RopeScaling::Default);
    assert_eq!(
        gemma.layer(None).unwrap_err().to_string(),
        "the layers of this model differ, so a layer type is needed; known: full_attention, sliding_attention"
    );
    assert_eq!(
        gemma.layer(Some("chunked")).unwrap_err().to_string(),
        "unknown layer type \"chunked\"; known: full_attention, sliding_attention"
    );
    assert!(
        gemma
            .keys
            .iter()
            .any(|key| key.path == "text_config.rope_local_base_freq")
    );

    let nested = read(&with(json!({"rope_parameters": {
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "linear_attention": null}})));
    assert_eq!(nested.layers.len(), 2);
    let full = nested.layer(Some("full_attention")).unwrap();
    assert_eq!(full.rotary.rotary_dim, 128);
    assert_eq!(
        full.rotary.scaling,
        RopeScaling::Proportional {
            partial_rotary_factor: 0.25,
            factor: 1.0
        }
    );
    // One set serves any type of layers.
    assert!(
        read(&with(json!({})))
            .layer(Some("sliding_attention"))
            .is_ok()
    );
}

#[test]
fn sections_of_time_height_and_width() {
    let chunked = read(&with(json!({"model_type": "qwen2_vl", "rope_scaling": {
        "type": "mrope", "rope_type": "default", "mrope_section": [16, 24, 24]}})));
    let mrope = chunked.layers[0].mrope.unwrap();
    assert_eq!(
        (mrope.sections, mrope.arrangement),
        ([16, 24, 24], MropeArrangement::Chunked)
    );
    assert_eq!(chunked.layers[0].rotary.scaling, RopeScaling::Default);
    let interleaved = read(&with(
        json!({"model_type": "qwen3_vl_text", "rope_scaling": {
        "mrope_interleaved": true, "mrope_section": [24, 20, 20], "rope_type": "default"}}),
    ));
    assert_eq!(
        interleaved.layers[0].mrope.unwrap().arrangement,
        MropeArrangement::Interleaved
    );
    assert_eq!(
        error(&with(
            json!({"rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 20]}})
        )),
        "mrope_section [16, 24, 20] does not sum to 64 pairs"
    );
    assert_eq!(
        error(&with(
            json!({"rope_scaling": {"type": "mrope", "mrope_section": [32, 32]}})
        )),
        "config.json: rope_scaling.mrope_section has 2 entries, not 3"
    );
}

#[test]
fn unknown_types_are_errors() {
    assert_eq!(
        error(&with(
            json!({"rope_scaling": {"rope_type": "spiral", "factor": 2.0}})
        )),
        "config.json: rope_scaling.rope_type is \"spiral\", which is unknown; known: default, mrope, \
         linear, dynamic, yarn, longrope, su, llama3, proportional"
    );
    assert_eq!(
        error(&with(
            json!({"rope_scaling": {"rope_type": "linear", "type": "yarn", "factor": 2.0}})
        )),
        "config.json: rope_scaling.type \"yarn\" contradicts rope_type \"linear\""
    );
    assert_eq!(
        error(&with(json!({"model_type": "falcon", "alibi": true}))),
        "config.json: model_type \"falcon\" has no rotary embedding (scheme: ALiBi)"
    );
}

#[test]
fn keys_without_effect_are_errors_or_listed() {
    for (more, expected) in [
        (
            json!({"rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_fast": 32}}),
            "rope_scaling.beta_fast (has no effect with this rope type)",
        ),
        (
            json!({"rope_scaling": {"rope_type": "default", "factor": 2.0}}),
            "rope_scaling.factor (has no effect with this rope type)",
        ),
        (json!({"rope_magic": 3}), "rope_magic (has no effect)"),
        (
            json!({"use_rotary_something": true}),
            "use_rotary_something (has no effect)",
        ),
        (
            json!({"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_theta": 5.0}}),
            "rope_parameters (is not used, because rope_scaling is there too)",
        ),
        (
            json!({"model_type": "brand_new", "rotary_pct": 1.0}),
            "model_type (\"brand_new\" is not known: half-split pairs over the whole head, and a \
             base of 10000 where the file has none, are assumed)",
        ),
    ] {
        let config = with(more);
        assert_eq!(
            error(&config),
            format!("config.json: has keys that would be ignored: {expected}")
        );
        let model = hf_config::read(&config.to_string(), UnknownKeys::Warn).unwrap();
        assert_eq!(model.warnings, [expected]);
    }
    let outside = json!({"rope_theta": 5.0, "text_config": with(json!({"rope_theta": 10000.0}))});
    assert!(error(&outside).contains("rope_theta (is outside the text model's settings)"));
    let same = json!({"rope_theta": 10000.0, "text_config": with(json!({"rope_theta": 10000.0}))});
    assert_eq!(
        read(&same).keys[0].meaning,
        "the same as text_config.rope_theta"
    );
}

#[test]
fn wrong_kinds_of_values_are_errors() {
    for (more, expected) in [
        (
            json!({"model_type": "chatglm", "rope_ratio": 0}),
            "rope_ratio is 0: the base would be 0",
        ),
        (
            json!({"rope_theta": "big"}),
            "rope_theta is \"big\", not a number",
        ),
        (
            json!({"head_dim": 64.5}),
            "head_dim is 64.5, not an integer",
        ),
        (
            json!({"num_attention_heads": 0}),
            "num_attention_heads is 0",
        ),
        (
            json!({"rope_scaling": 4}),
            "rope_scaling is not a dictionary",
        ),
        (
            json!({"rope_scaling": {"type": 4}}),
            "rope_scaling.type is not a name",
        ),
        (
            json!({"rope_scaling": {"type": "linear"}}),
            "rope_scaling.factor is missing",
        ),
        (
            json!({"rope_scaling": {"type": "longrope", "short_factor": 3}}),
            "rope_scaling.short_factor is not a list of numbers",
        ),
        (
            json!({"rope_scaling": {"type": "yarn", "factor": 2.0, "truncate": 1}}),
            "rope_scaling.truncate is neither true nor false",
        ),
        (
            json!({"rotary_dim": 256}),
            "rotary_dim 256 exceeds head_dim 128",
        ),
        (json!({"partial_rotary_factor": 0.6}), ""),
        (
            json!({"partial_rotary_factor": 7.0}),
            "partial_rotary_factor 7 is not within 0..=1",
        ),
        (
            // The class of this type is not in transformers, and has no defaults.
            json!({"model_type": "minicpm", "hidden_size": null}),
            "head_dim is missing, and so is hidden_size or num_attention_heads",
        ),
        (
            json!({"head_dim": 130, "partial_rotary_factor": 0.5}),
            "rotary_dim 65 is not an even number above 0 (head_dim 130, partial_rotary_factor 0.5)",
        ),
    ] {
        let config = with(more.clone());
        if expected.is_empty() {
            // int(128 x 0.6) = 76.
            assert_eq!(read(&config).layers[0].rotary.rotary_dim, 76);
            continue;
        }
        assert_eq!(error(&config), format!("config.json: {expected}"), "{more}");
    }
    assert!(error(&json!([1])).contains("is not a JSON object"));
    let broken = hf_config::read("{\"a\": ", UnknownKeys::Warn).unwrap_err();
    assert!(
        broken
            .to_string()
            .starts_with("config.json: the text is not JSON: ")
    );
}

/// The trained length stands at the model's level, in the dictionary, or nowhere.
#[test]
fn the_trained_length_comes_from_three_places() {
    let original = |more: Value| {
        let model = hf_config::read(&with(more).to_string(), UnknownKeys::Warn).unwrap();
        let RopeScaling::Yarn(yarn) = model.layers[0].rotary.scaling else {
            panic!("not yarn");
        };
        (yarn.original_max_position_embeddings, model.warnings.len())
    };
    let inner = json!({"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 2048});
    let bare = json!({"type": "yarn", "factor": 2.0});
    assert_eq!(original(json!({"rope_scaling": inner})), (2048, 0));
    assert_eq!(original(json!({"rope_scaling": bare})), (8192, 0));
    let outer = json!({"rope_scaling": bare, "original_max_position_embeddings": 1024});
    assert_eq!(original(outer), (1024, 0));
    let both = json!({"rope_scaling": inner, "original_max_position_embeddings": 1024});
    assert_eq!(original(both), (1024, 1));
}

/// A specification survives JSON, and unknown fields do not pass.
#[test]
fn specifications_come_back_from_json() {
    for case in cases() {
        let model = hf_config::read(&case.config, UnknownKeys::Reject).unwrap();
        let rotary = &model.layer(case.layer_type.as_deref()).unwrap().rotary;
        let text = serde_json::to_string(rotary).unwrap();
        let back: RotaryConfig = serde_json::from_str(&text).unwrap();
        assert_eq!(&back, rotary, "{text}");
    }
    let minimal: RotaryConfig =
        serde_json::from_str(r#"{"rotary_dim": 64, "base": 10000.0}"#).unwrap();
    assert_eq!(minimal, RotaryConfig::new(64));
    let yarn = r#"{"rotary_dim": 64, "base": 1e4, "scaling": {"yarn":
        {"factor": 4.0, "original_max_position_embeddings": 4096}}}"#;
    let yarn: RotaryConfig = serde_json::from_str(yarn).unwrap();
    assert_eq!(yarn.scaling, RopeScaling::Yarn(YarnScaling::new(4.0, 4096)));
    for wrong in [
        r#"{"rotary_dim": 64, "base": 1e4, "theta": 5}"#,
        r#"{"rotary_dim": 64, "base": 1e4, "scaling": "spiral"}"#,
        r#"{"rotary_dim": 64, "base": 1e4, "scaling": {"yarn": {"factor": 4.0, "beta": 1,
            "original_max_position_embeddings": 4096}}}"#,
    ] {
        assert!(
            serde_json::from_str::<RotaryConfig>(wrong).is_err(),
            "{wrong}"
        );
    }
}

/// A whole head that turns is a part of 1, no more, also where the part goes on into the scaling.
#[test]
fn a_rotary_dim_of_the_whole_head_is_a_part_of_one() {
    let whole = with(json!({"rotary_dim": 128, "rope_scaling": {"rope_type": "proportional"}}));
    let rotary = read(&whole).layers[0].rotary.clone();
    assert_eq!(
        rotary.scaling,
        RopeScaling::Proportional {
            partial_rotary_factor: 1.0,
            factor: 1.0
        }
    );
    Rotary::new(rotary).unwrap();
}
