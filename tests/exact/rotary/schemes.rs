//! Models without a rotary embedding: which scheme they have, from their `config.json`.

use pe_core::Result;
use pe_core::hf_config::{self, HfModel, HfPositions, HfScheme, UnknownKeys};
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
    let rotary: Value = golden::json("rotary_classes.json");
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
    let opt = other(&of_type("opt"));
    assert_eq!(opt.keys[1].path, "max_position_embeddings");
    assert_eq!(
        opt.note,
        Some("row 2 of the table is position 0 (an offset of 2)")
    );
}
