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

/// The tables of transformers' classes, and the rows that they read for their first token.
#[test]
fn learned_tables_are_those_of_the_classes() {
    let text = golden::text("learned_configs.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.splitn(6, ';').collect();
        let [model_type, tensor, table_rows, width, first_row, keys] = fields[..] else {
            panic!("{row}");
        };
        let mut config: Value = serde_json::from_str(keys).unwrap();
        config["model_type"] = json!(model_type);
        let found =
            hf_config::read_learned(&config).unwrap_or_else(|error| panic!("{row}: {error}"));
        let number = |text: &str| text.parse::<usize>().unwrap();
        assert_eq!(
            (
                found.tensor,
                found.table_rows,
                found.d_model,
                found.first_row
            ),
            (tensor, number(table_rows), number(width), number(first_row)),
            "{row}"
        );
        // The scheme of the same file is a learned table too.
        assert!(other(&config).schemes.contains(&HfScheme::Learned), "{row}");
        count += 1;
    }
    assert_eq!(count, 74);
}

#[test]
fn files_without_a_learned_table_are_refused_with_the_reason() {
    let sizes = json!({"hidden_size": 8, "max_position_embeddings": 6});
    for (more, expected) in [
        (
            json!({}),
            "model_type: is missing, and decides rows and names",
        ),
        (
            json!({"model_type": "llama\n"}),
            "model_type: \"llama\\n\" has no learned table that is known",
        ),
        (
            json!({"model_type": "distilbert", "sinusoidal_pos_embds": true}),
            "model_type: has a table of fixed sines and cosines here",
        ),
        (
            json!({"model_type": "deberta-v2", "position_biased_input": false}),
            "model_type: has no learned table with these settings",
        ),
        (
            json!({"model_type": "bert", "position_embedding_type": "relative_key"}),
            "position_embedding_type: states another scheme than a learned table",
        ),
        (
            json!({"model_type": "bert", "hidden_size": null}),
            "hidden_size: is missing",
        ),
        (
            json!({"model_type": "bert", "max_position_embeddings": 0}),
            "max_position_embeddings: 0: the table would have 0 rows, and position 0 row 0",
        ),
        (
            json!({"model_type": "roberta", "pad_token_id": 5}),
            "max_position_embeddings: 6: the table would have 6 rows, and position 0 row 6",
        ),
        (
            json!({"model_type": "opt", "max_position_embeddings": u64::MAX}),
            "max_position_embeddings: 18446744073709551615: the table would have 18446744073709551615 rows, and \
             position 0 row 2",
        ),
        (
            json!({"model_type": "roberta", "pad_token_id": -1}),
            "pad_token_id: is not a count",
        ),
        (
            json!({"model_type": "roberta", "pad_token_id": 1u64 << 32}),
            "pad_token_id: is not below 4294967296",
        ),
    ] {
        let mut config = sizes.clone();
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let error = hf_config::read_learned(&config).unwrap_err().to_string();
        let expected = expected.replacen(": ", " ", 1);
        assert_eq!(error, format!("config.json: {expected}"));
    }
}
