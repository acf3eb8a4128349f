//! Models without a rotary embedding: which scheme they have, from their `config.json`.

use pe_core::hf_config::{self, HfModel, HfPositions, HfScheme, UnknownKeys};
use pe_core::{Error, Result};
use pe_tests::golden;
use serde_json::{Value, json};

fn read(value: &Value) -> Result<HfModel> {
    hf_config::read_model(&value.to_string(), UnknownKeys::Warn)
}

fn other(value: &Value) -> HfPositions {
    match read(value) {
        Ok(HfModel::Other(positions)) => positions,
        found => panic!("{value}: {found:?}"),
    }
}

fn of_type(model_type: &str) -> Value {
    // 80 columns in a head: even for every part that rotates by default.
    json!({"model_type": model_type, "hidden_size": 960, "num_attention_heads": 12,
           "max_position_embeddings": 512})
}

/// The mark of a scheme in `schemes.csv`.
fn mark(scheme: HfScheme) -> Option<&'static str> {
    Some(match scheme {
        HfScheme::Learned => "learned",
        HfScheme::LearnedGrid => "learned-grid",
        HfScheme::Sinusoidal => "sinusoidal",
        HfScheme::Alibi => "alibi",
        HfScheme::RelativeBuckets => "relative-buckets",
        HfScheme::RelativeVectors => "relative-vectors",
        HfScheme::Disentangled => "disentangled",
        HfScheme::RelativeSinusoidal => "relative-sinusoidal",
        HfScheme::RelativeGrid => "relative-grid",
        HfScheme::Convolution => "convolution",
        HfScheme::RotaryAxes => "rotary",
        HfScheme::None => return None,
        _ => panic!("{scheme:?} has no mark"),
    })
}

/// Every model type of transformers: its scheme is one that its modeling code mentions, and none
/// gets a rotation whose code has none.
#[test]
fn schemes_are_those_of_the_modeling_code() {
    let rotary: Value = serde_json::from_str(&golden::text("rotary_classes.json")).unwrap();
    let classes = rotary["classes"].as_array().unwrap();
    let mut named = 0;
    for row in golden::rows("schemes.csv") {
        let (model_type, marks) = (row[0].as_str(), row[1].as_str());
        let has = |mark: &str| marks.split(' ').any(|found| found == mark);
        match read(&of_type(model_type)) {
            Ok(HfModel::Other(positions)) => {
                named += 1;
                assert!(!positions.schemes.is_empty(), "{model_type}");
                for scheme in &positions.schemes {
                    match mark(*scheme) {
                        Some(mark) => assert!(has(mark), "{model_type}: {mark} in {marks}"),
                        // These rotate if they are asked to.
                        None => assert!(
                            marks.is_empty()
                                || ["granitemoehybrid", "zamba2"].contains(&model_type),
                            "{model_type}"
                        ),
                    }
                }
            }
            Ok(HfModel::Rotary(_)) => {
                // RoFormer's code calls its rotation sinusoidal.
                let known = has("rotary")
                    || model_type == "roformer"
                    || classes
                        .iter()
                        .any(|class| class["model_type"] == model_type);
                assert!(known, "{model_type}: {marks}");
            }
            Err(error) => {
                let expected = format!(
                    "config.json: model_type \"{model_type}\" is unknown, and no rotary key (such \
                     as rope_theta) was found"
                );
                assert_eq!(error.to_string(), expected);
            }
        }
    }
    assert_eq!(named, 187);
}

#[test]
fn keys_choose_between_schemes() {
    use HfScheme::{
        Alibi, Disentangled, Learned, None, RelativeBuckets, RelativeSinusoidal, RelativeVectors,
        Sinusoidal,
    };
    for (config, schemes) in [
        (json!({"model_type": "bert"}), &[Learned][..]),
        (
            json!({"model_type": "bert", "position_embedding_type": "absolute"}),
            &[Learned],
        ),
        (
            json!({"model_type": "bert", "position_embedding_type": "alibi"}),
            &[Alibi],
        ),
        (
            json!({"model_type": "bert", "position_embedding_type": "relative_key"}),
            &[RelativeVectors],
        ),
        (json!({"position_embedding_type": "absolute"}), &[Learned]),
        (json!({"model_type": "falcon", "alibi": true}), &[Alibi]),
        (json!({"alibi": true, "head_dim": 8}), &[Alibi]),
        (
            json!({"model_type": "mpt", "attn_config": {"alibi": true, "alibi_bias_max": 8}}),
            &[Alibi],
        ),
        (json!({"model_type": "bloom", "n_head": 16}), &[Alibi]),
        (json!({"model_type": "t5"}), &[RelativeBuckets]),
        (
            json!({"model_type": "new", "relative_attention_num_buckets": 32}),
            &[RelativeBuckets],
        ),
        (json!({"model_type": "whisper"}), &[Sinusoidal, Learned]),
        (json!({"model_type": "distilbert"}), &[Learned]),
        (
            json!({"model_type": "distilbert", "sinusoidal_pos_embds": true}),
            &[Sinusoidal],
        ),
        (
            json!({"model_type": "trocr", "use_learned_position_embeddings": false}),
            &[Sinusoidal],
        ),
        (
            json!({"model_type": "deberta-v2", "relative_attention": true, "position_biased_input": false}),
            &[Disentangled],
        ),
        (
            json!({"model_type": "deberta", "relative_attention": true}),
            &[Disentangled, Learned],
        ),
        (json!({"model_type": "xlnet"}), &[RelativeSinusoidal]),
        // No model of these types reads it.
        (json!({"model_type": "gpt2", "rope_theta": 1e4}), &[Learned]),
        (json!({"model_type": "bert", "rope_theta": 1e4}), &[Learned]),
        (
            json!({"model_type": "t5", "rope_scaling": {"type": "linear", "factor": 2.0}}),
            &[RelativeBuckets],
        ),
        // The default of its configuration class is written out, and not used.
        (
            json!({"model_type": "esm", "position_embedding_type": "absolute", "rope_theta": 1e4}),
            &[Learned],
        ),
        (json!({"model_type": "mamba"}), &[None]),
        (
            json!({"model_type": "kimi_linear", "qk_rope_head_dim": 64, "rope_theta": 1e4}),
            &[None],
        ),
        (
            json!({"model_type": "zamba2", "use_mem_rope": false, "rope_theta": 1e4}),
            &[None],
        ),
        (
            json!({"model_type": "granitemoehybrid", "position_embedding_type": "nope"}),
            &[None],
        ),
        // The text model of several.
        (
            json!({"model_type": "clip", "text_config": {"model_type": "clip_text_model"}}),
            &[Learned],
        ),
    ] {
        let found = other(&config);
        assert_eq!(found.schemes, schemes, "{config}");
        let error = hf_config::read(&config.to_string(), UnknownKeys::Warn).unwrap_err();
        let Error::NotRotary { scheme, .. } = &error else {
            panic!("{config}: {error}");
        };
        assert_eq!(*scheme, found.name());
    }
}

#[test]
fn rotary_keys_win_where_a_model_has_code_of_its_own() {
    for more in [
        json!({"model_type": "bert", "position_embedding_type": "rotary"}),
        json!({"model_type": "xlm-roberta", "rotary_emb_base": 20000}),
        json!({"model_type": "esm", "position_embedding_type": "rotary"}),
        json!({"model_type": "wav2vec2-conformer", "position_embeddings_type": "rotary"}),
        json!({"model_type": "zamba2", "use_mem_rope": true}),
        json!({"model_type": "brand_new", "rope_theta": 10000.0}),
        json!({"rotary_pct": 0.5}),
        // It repeats BERT's key.
        json!({"model_type": "modernbert", "position_embedding_type": "absolute"}),
        json!({"model_type": "falcon", "alibi": false}),
    ] {
        let mut config = json!({"hidden_size": 768, "num_attention_heads": 12});
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        assert!(matches!(read(&config), Ok(HfModel::Rotary(_))), "{config}");
    }
}

#[test]
fn nothing_is_invented_without_keys() {
    for (config, words) in [
        (
            of_type("brand_new"),
            "model_type \"brand_new\" is unknown, and no rotary key",
        ),
        (
            of_type("a\u{1b}[31m\nb"),
            "model_type \"a\\u{1b}[31m\\nb\" is unknown",
        ),
        (
            json!({"head_dim": 8}),
            "the text has no model_type and no rotary key",
        ),
        (
            json!({"model_type": 7, "rope_theta": 1e4}),
            "model_type is 7, not a name",
        ),
        (
            json!({"head_dim": 8, "use_rope": false}),
            "the text has no model_type and no rotary key",
        ),
    ] {
        let error = read(&config).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("config.json: {words}")),
            "{error}"
        );
    }
}

#[test]
fn keys_of_a_scheme_are_explained() {
    let positions = other(&json!({
        "model_type": "mpt", "n_heads": 32, "max_seq_len": 2048,
        "attn_config": {"alibi": true, "alibi_bias_max": 8}
    }));
    let keys: Vec<(&str, &str)> = positions
        .keys
        .iter()
        .map(|key| (key.path.as_str(), key.value.as_str()))
        .collect();
    assert_eq!(
        keys,
        [
            ("model_type", "\"mpt\""),
            ("attn_config.alibi", "true"),
            ("n_heads", "32"),
            ("attn_config.alibi_bias_max", "8"),
        ]
    );
    let mpt = other(&json!({"model_type": "mpt", "attn_config": {"alibi": false}}));
    assert_eq!(mpt.schemes, [HfScheme::Alibi]);
    assert_eq!(mpt.warnings, ["attn_config.alibi (false has no effect)"]);
    for model_type in ["gpt2", "t5", "bert"] {
        let found = other(&json!({"model_type": model_type, "rope_theta": 1e4}));
        assert_eq!(found.warnings, ["rope_theta (has no effect)"]);
    }
    let opt = other(&of_type("opt"));
    assert_eq!(opt.keys[1].path, "max_position_embeddings");
    assert_eq!(
        opt.note,
        Some("row 2 of the table is position 0 (an offset of 2)")
    );
    let esm = other(
        &json!({"model_type": "esm", "position_embedding_type": "absolute", "rope_theta": 1e4}),
    );
    assert_eq!(esm.warnings, ["rope_theta (has no effect)"]);
}
