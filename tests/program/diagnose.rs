//! `pe-demo diagnose`: its numbers are those of other software, and its words say them.

use pe_tests::golden;
use pe_tests::golden::assert_near;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tolerance::{BF16_ENTRY, REACH, RECIPE_ERROR};
use crate::util::{arg, file, run, run_error, run_json, run_usage, run_with};

/// Diagnoses a config.json, as text and as JSON.
fn diagnose(config: &Value, options: &str) -> (String, Value) {
    let (_guard, path) = config_file(config);
    let line = format!("diagnose --config {} {options}", arg(&path));
    let text = run(&line);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (flat, run_json(&line))
}

fn config_file(config: &Value) -> (TempDir, std::path::PathBuf) {
    let (guard, path) = file("config.json");
    std::fs::write(&path, config.to_string()).unwrap();
    (guard, path)
}

#[track_caller]
fn assert_says(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

/// The recipe of a way in a report.
fn way<'a>(waves: &'a Value, name: &str) -> &'a Value {
    let mut recipes = waves["recipes"].as_array().unwrap().iter();
    recipes.find(|recipe| recipe["way"] == name).unwrap()
}

/// Compares the waves of a report with a case of NumPy, torch, and mpmath.
fn assert_waves(case: &Value, report: &Value, waves: &Value) {
    let name = &case["name"];
    assert_eq!(report["positions"]["distinct"], case["distinct"], "{name}");
    assert_eq!(waves["never_turn"], case["never_turn"], "{name}");
    let trained = &waves["trained"]["never_turn"];
    assert_eq!(*trained, case["never_turn_in_training"], "{name}");
    assert_eq!(waves["unseen"], case["unseen"], "{name}");
    assert_eq!(waves["compared"], case["length"], "{name}");
    for (kind, expected) in case["recipes"].as_object().unwrap() {
        let found = way(waves, kind);
        let worst = &found["largest_error"];
        let number = |value: &Value| value.as_f64().unwrap();
        let (error, expected_error) = (number(&worst["error"]), number(&expected["error"]));
        assert_near(error, expected_error, RECIPE_ERROR);
        for key in ["position", "pair", "function"] {
            assert_eq!(worst[key], expected[key], "{name} {kind} {key}");
        }
        for key in ["first_large", "not_finite"] {
            assert_eq!(found[key], expected[key], "{name} {kind} {key}");
        }
    }
}

#[test]
fn rotary_numbers_are_those_of_numpy_torch_and_mpmath() {
    let golden: Value = golden::json("diagnoses.json");
    for case in golden["rotary"].as_array().unwrap() {
        let options = format!("--length {} --dtype {}", case["length"], case["dtype"]);
        let options = options.replace('"', "");
        let (_, report) = diagnose(&case["config"], &options);
        assert_waves(case, &report, &report["layers"][0]);
    }
}

#[test]
fn sinusoidal_numbers_are_those_of_numpy_torch_and_mpmath() {
    let golden: Value = golden::json("diagnoses.json");
    let case = &golden["sinusoidal"];
    let (text, report) = diagnose(&case["config"], "");
    let waves = &report["schemes"][0]["sinusoidal"];
    assert_waves(case, &report, waves);
    assert_eq!(
        (&waves["preset"], &waves["d_model"]),
        (&json!("marian"), &json!(512))
    );
    assert_says(
        &text,
        &[
            "No rotary embedding: fixed sines and cosines",
            "The convention marian with 512 columns; the table has 512 KiB in bf16",
        ],
    );
}

/// The formulas of the papers decide, not the ratio of two wavelengths.
#[test]
fn effects_of_a_scaling_are_those_of_its_formula() {
    let golden: Value = golden::json("diagnoses.json");
    for case in golden["effects"].as_array().unwrap() {
        let (_, report) = diagnose(&case["config"], "--length 64");
        let changes = report["layers"][0]["changes"].as_array().unwrap();
        let effects: Vec<&Value> = changes.iter().map(|change| &change["effect"]).collect();
        let expected: Vec<&Value> = case["effects"].as_array().unwrap().iter().collect();
        assert_eq!(effects, expected, "{}", case["config"]);
    }
}

#[test]
fn biases_reach_as_far_as_their_formulas() {
    let golden: Value = golden::json("diagnoses.json");
    for case in golden["alibi"].as_array().unwrap() {
        let bloom = json!({"model_type": "bloom", "n_head": case["heads"]});
        let (text, report) = diagnose(&bloom, "--length 1025");
        let heads = report["schemes"][0]["alibi"].as_array().unwrap();
        let reach: Vec<f64> = heads
            .iter()
            .map(|head| head["reach"].as_f64().unwrap())
            .collect();
        for (found, expected) in reach.iter().zip(golden::numbers(&case["reach"])) {
            assert_near(*found / expected, 1.0, REACH);
        }
        assert_eq!(reach.len() as u64, case["heads"]);
        // 0 to 256, every second one to 512, every fourth to 1,024.
        let words = ["distance of -10", "513 of 1,025 positions are distinct"];
        assert_says(&text, &words);
    }
    let expected = &golden["buckets"];
    let (text, report) = diagnose(
        &json!({"model_type": "t5", "num_heads": 8, "relative_attention_num_buckets": 32}),
        "",
    );
    let stacks = report["schemes"][0]["buckets"].as_array().unwrap();
    for (found, name) in stacks.iter().zip(["t5 encoder", "t5 decoder"]) {
        for key in ["buckets", "exact_below", "last_from"] {
            assert_eq!(found[key], expected[name][key], "{name} {key}");
        }
    }
    assert_says(
        &text,
        &[
            "encoder: 16 buckets for keys before the query. Distances below 8 have one each, distances \
             of 91 and more share the last",
            "decoder: 32 buckets",
        ],
    );
    let deberta = json!({
        "model_type": "deberta-v2", "num_attention_heads": 12, "relative_attention": true,
        "position_buckets": 256, "max_relative_positions": -1, "max_position_embeddings": 512,
        "position_biased_input": false, "pos_att_type": "p2c|c2p"
    });
    let (_, report) = diagnose(&deberta, "");
    let found = &report["schemes"][0]["buckets"][0];
    for key in ["buckets", "exact_below", "last_from"] {
        assert_eq!(found[key], expected["deberta"][key], "{key}");
    }
}

fn llama_3_1() -> Value {
    golden::json::<Value>("diagnoses.json")["effects"][0]["config"].clone()
}

#[test]
fn llama_3_1_in_words() {
    let (text, report) = diagnose(&llama_3_1(), "--length 8192");
    assert_says(
        &text,
        &[
            "model_type llama; 8,192 positions (--length), in bf16",
            "897 of 8,192 positions are distinct: 257 becomes 256, and so on.",
            "in training, within 8,192 positions (original_max_position_embeddings): pairs 35 to 63 \
             (29 of 64)",
            "with the scaling, within 8,192 positions: pairs 32 to 63 (32 of 64)",
            "No pair reaches an angle that training did not show.",
            "exactly, rounded once to bf16 (pe) 0.002",
            "all in bf16 (Candle's qwen2, gemma, phi3) 2.000",
            "errors first exceed 0.1 at position",
            "llama3 scaling (factor 8",
            "1, kept",
            ", blended",
            "8.00, interpolated",
            "cosines and sines of 8,192 positions in bf16, shared 2.00 MiB",
            "The file does not state the number of layers.",
        ],
    );
    assert_eq!(report["length_key"], Value::Null);
    assert_eq!(report["layers"][0]["memory"]["table"], 8192 * 64 * 2 * 2);

    let mut config = llama_3_1();
    config["num_hidden_layers"] = 32.into();
    let (text, report) = diagnose(&config, "--length 8192 --dtype f32");
    assert_says(
        &text,
        &[
            "all 8,192 positions are distinct",
            "the same in each of 32 layers 128 MiB",
            "falcon and phi one in each layer",
        ],
    );
    assert_eq!(report["layers"][0]["memory"]["layers"], 32);
    assert!(!text.contains("all in f32"), "{text}");
}

#[test]
fn lengths_beyond_training_name_the_pairs_that_go_further() {
    let config = golden::json::<Value>("diagnoses.json")["rotary"][0]["config"].clone();
    let (text, _) = diagnose(&config, "--length 8192");
    assert_says(
        &text,
        &["Beyond the angles that training showed: pairs 46 to 63 (18 of 64)."],
    );
    let linear = json!({
        "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
        "max_position_embeddings": 4096, "rope_scaling": {"rope_type": "linear", "factor": 4.0}
    });
    let (text, report) = diagnose(&linear, "--length 64");
    assert_says(
        &text,
        &[
            "The file does not state the trained length.",
            "0 to 63",
            "4.00, interpolated",
        ],
    );
    assert_eq!(report["layers"][0]["trained"], Value::Null);
}

/// Not every position is compared, and the page says so.
#[test]
fn long_sequences_are_sampled() {
    let small = json!({"model_type": "llama", "head_dim": 64, "max_position_embeddings": 4096});
    let (text, report) = diagnose(&small, "--length 1048576 --dtype f16");
    let compared = report["layers"][0]["compared"].as_u64().unwrap();
    assert_eq!(compared, 1 << 19);
    assert_says(
        &text,
        &[
            "Compared: 524,288 of the 1,048,576 positions",
            "From 65,520 on they are infinite.",
            "entries are NaN",
        ],
    );
    // The last position is among them: its error is the largest of angles in f32 for a pair or another.
    let worst = &way(&report["layers"][0], "f32")["largest_error"];
    assert!(worst["position"].as_u64().unwrap() > 1 << 19, "{worst}");
}

#[test]
fn models_without_a_rotary_embedding_have_words_of_their_own() {
    let learned = |more: Value| {
        let mut config = json!({"hidden_size": 768, "max_position_embeddings": 512});
        config
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        config
    };
    for (config, options, words) in [
        (
            learned(json!({"model_type": "bert"})),
            "--length 600",
            &[
                "Learned absolute positions",
                "The longest sequence has 512 positions (max_position_embeddings 512). There is no \
                 extrapolation: position 512 has no row.",
                "88 of the 600 positions have no row.",
                "The table has 768 KiB in bf16.",
            ][..],
        ),
        (
            json!({"model_type": "gpt2", "n_positions": 1024, "n_embd": 768}),
            "--dtype f32",
            &[
                "1,024 positions (n_positions), in f32",
                "The table has 3.00 MiB in f32.",
            ][..],
        ),
        (
            learned(
                json!({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}),
            ),
            "",
            &[
                "The longest sequence has 512 positions (max_position_embeddings 514).",
                "the first position is pad_token_id + 1",
            ][..],
        ),
        (
            learned(json!({"model_type": "opt", "max_position_embeddings": 2048})),
            "",
            &[
                "The longest sequence has 2,048 positions",
                "The table has 3.00 MiB in bf16.",
            ][..],
        ),
        (
            json!({"model_type": "mamba"}),
            "",
            &[
                "No positional encoding",
                "nothing is added or rotated",
                "no key states the longest",
            ][..],
        ),
        (
            json!({"model_type": "whisper", "d_model": 384, "max_source_positions": 1500,
                   "max_target_positions": 448}),
            "",
            &[
                "In this model the encoder's positions are sinusoidal, the decoder's learned.",
                "The convention whisper with 384 columns",
                "The longest sequence has 448 positions (max_target_positions 448)",
            ][..],
        ),
    ] {
        let (text, report) = diagnose(&config, options);
        assert_says(&text, words);
        assert_eq!(report["layers"], json!([]), "{config}");
        assert!(!report["schemes"].as_array().unwrap().is_empty());
    }
}

#[test]
fn every_config_that_can_be_read_can_be_diagnosed() {
    let mut count = 0;
    for case in pe_tests::rotary::cases() {
        let (_guard, path) = file("config.json");
        std::fs::write(&path, &case.config).unwrap();
        let line = format!("diagnose --config {} --length 100 --json", arg(&path));
        let report: Value = serde_json::from_str(&run(&line)).unwrap();
        assert_eq!(report["positions"]["distinct"], 100, "{}", case.name);
        for layer in report["layers"].as_array().unwrap() {
            let exact = way(layer, "exact")["largest_error"]["error"]
                .as_f64()
                .unwrap();
            let factor = layer["attention_factor"].as_f64().unwrap();
            assert!(
                exact <= factor.max(1.0) * BF16_ENTRY,
                "{}: {exact}",
                case.name
            );
        }
        count += 1;
    }
    assert!(count > 80, "{count}");
}

#[test]
fn bad_input_is_named() {
    let (_guard, path) = config_file(&json!({"model_type": "llama", "head_dim": 64}));
    let line = format!("diagnose --config {}", arg(&path));
    assert!(run_usage(&line).contains("--length is needed: no key of"));
    for (config, words) in [
        (
            json!({"model_type": "llama", "head_dim": 64, "rope_theta": -1.0}),
            "base -1",
        ),
        (json!({"model_type": "nobody"}), "\"nobody\" is unknown"),
        (json!({"model_type": "bloom"}), "num_attention_heads"),
        (json!([1]), "is not a JSON object"),
    ] {
        let (_guard, path) = config_file(&config);
        let error = run_error(&format!("diagnose --config {} --length 9", arg(&path)));
        assert!(
            error.contains(words) && error.contains("config.json"),
            "{error}"
        );
    }
    let missing = run_with("diagnose --config nothing.json", "").err;
    assert!(missing.contains("nothing.json"), "{missing}");
}
