//! Reading `config.json`: the effect of each key, and the reports.

use pe_core::hf_config::{self, HfLayer, HfModel, HfPositions, HfRotary, UnknownKeys};
use pe_core::{Error, MropeArrangement, Result, RopeScaling, Rotary, RotaryConfig, YarnScaling};
use pe_tests::configs;
use pe_tests::rotary::cases;
use pe_tests::table::matches;
use serde_json::{Value, json};

fn read(value: &Value) -> HfRotary {
    hf_config::read(&value.to_string(), UnknownKeys::Reject).unwrap()
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

/// The facts of `kit/configs.txt`.
#[test]
fn config_json_cases_have_their_facts() {
    let cases = configs::all();
    for case in &cases {
        let [warn, reject] = [UnknownKeys::Warn, UnknownKeys::Reject]
            .map(|unknown| hf_config::read_model(case.text.as_str(), unknown));
        for (name, wanted) in &case.facts {
            let about = format!("{} => {name} {wanted}", case.text);
            if *name == "error" {
                for read in [&warn, &reject] {
                    let error = read.as_ref().expect_err(&about).to_string();
                    assert!(matches(&error, wanted), "{about}\n{error}");
                }
                continue;
            }
            // Of `inspect`: `program/rotary/config.rs`.
            if *name == "says" {
                continue;
            }
            let found = match warn.as_ref().expect(&about) {
                HfModel::Rotary(model) => rotary_fact(model, name, &reject),
                HfModel::Other(model) => other_fact(model, name, &case.text),
            };
            assert!(matches(&found, wanted), "{about}\n{found}");
            let strict = !["ignored", "rotary", "schemes", "warns"].contains(name)
                && case.facts("ignored").next().is_none();
            assert!(!strict || reject.is_ok(), "{about}");
        }
    }
    assert_eq!(cases.len(), 210);
}

fn rotary_fact(model: &HfRotary, name: &str, reject: &Result<HfModel>) -> String {
    let each = |fact: fn(&HfLayer) -> String| {
        let facts: Vec<String> = model.layers.iter().map(fact).collect();
        facts.join(", ")
    };
    match name {
        "head_dim" => each(|layer| layer.head_dim.to_string()),
        "rotary_dim" => each(|layer| layer.rotary.rotary_dim.to_string()),
        "layout" => each(|layer| layer.layout.name().to_owned()),
        "types" => each(|layer| layer.layer_type.clone().unwrap_or("none".to_owned())),
        "base" => each(|layer| layer.rotary.base.to_string()),
        "scaling" => {
            for layer in &model.layers {
                Rotary::new(layer.rotary.clone()).unwrap();
            }
            each(|layer| format!("{:?}", layer.rotary.scaling))
        }
        "original" => each(|layer| match &layer.rotary.scaling {
            RopeScaling::Yarn(yarn) => yarn.original_max_position_embeddings.to_string(),
            other => panic!("{other:?}"),
        }),
        "key" => {
            let keys = model.keys.iter();
            let keys = keys.map(|key| format!("{}: {}", key.path, key.meaning));
            keys.collect::<Vec<_>>().join(", ")
        }
        "rotary" => String::new(),
        "unrotated" => {
            for index in 0..model.layer_types.len() {
                let layer = model.layer_at(index).unwrap();
                assert_eq!(layer.is_none(), model.unrotated.contains(&index), "{index}");
            }
            let error = model.layer(Some("invented")).unwrap_err().to_string();
            let unknown = "unknown layer type \"invented\"; known: ";
            assert!(error.starts_with(unknown), "{error}");
            let indices = model.unrotated.iter().map(usize::to_string);
            indices.collect::<Vec<_>>().join(" ")
        }
        "unrotated_types" => {
            for name in &model.unrotated_types {
                let error = model.layer(Some(name)).unwrap_err().to_string();
                assert_eq!(error, format!("{name} layers have no rotary embedding"));
            }
            model.unrotated_types.join(" ")
        }
        // Reported with every key that would be ignored.
        "ignored" => {
            let ignored = model.warnings.join(", ");
            let error = reject.as_ref().unwrap_err().to_string();
            let wanted = format!("config.json: has keys that would be ignored: {ignored}");
            assert_eq!(error, wanted);
            ignored
        }
        other => panic!("{other}"),
    }
}

fn other_fact(model: &HfPositions, name: &str, text: &str) -> String {
    match name {
        "schemes" => {
            let error = hf_config::read(text, UnknownKeys::Warn).unwrap_err();
            let Error::NotRotary { scheme, .. } = &error else {
                panic!("{text}: {error}");
            };
            assert_eq!(*scheme, model.name());
            let schemes = model.schemes.iter().map(|scheme| format!("{scheme:?}"));
            schemes.collect::<Vec<_>>().join(", ")
        }
        "warns" => model.warnings.join(", "),
        other => panic!("{other}"),
    }
}

#[test]
fn config_json_of_both_generations_means_the_same() {
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
