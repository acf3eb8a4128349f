//! `pe-demo inspect config.json` explains a model's positional encoding.

use std::collections::BTreeSet;

use pe_core::hf_config::{self, HfModel, UnknownKeys};
use pe_tests::configs;
use pe_tests::table::matches;
use serde_json::Value;

use super::{case, config_file};
use crate::refusals::refused;
use crate::util::{arg, run, run_error, run_json};

fn inspect(name: &str) -> (String, Value) {
    let (_guard, config) = config_file(&case(name).config);
    let text = run(&format!("inspect {}", arg(&config)));
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (flat, run_json(&format!("inspect {}", arg(&config))))
}

fn assert_says(text: &str, all: &[&str]) {
    for words in all {
        assert!(text.contains(words), "{words}\n{text}");
    }
}

#[test]
fn llama_3_1() {
    let (text, report) = inspect("Llama-3.1-8B");
    assert_says(
        &text,
        &[
            "model_type llama",
            "128 of the 128 columns of a head turn, in 64 pairs (half-split: pair 1 is columns 1 \
             and 65)",
            "type: llama3: pairs with many turns",
            "base 500000",
            "low_freq_factor 1",
            // 2 pi, and 8 x 2 pi x 500000^(126/128).
            "a turn takes 6.283 positions in pair 0, the fastest, and 20,473,",
            "in pair 63, the slowest",
            "before the scaling, within the trained 8,192 positions \
             (original_max_position_embeddings): pairs 35 to 63 (29 of 64) never complete a turn",
            "attention factor 1) within the trained 8,192 positions \
             (original_max_position_embeddings): pairs 32 to 63 (32 of 64) never complete a turn",
            "within 131,072 positions (max_position_embeddings): pairs 39 to 63 (25 of 64) never",
            "rope_scaling.factor = 8.0: divides the frequencies of slow pairs",
            "Keys not understood ------------------- nothing",
        ],
    );
    let layer = &report["layers"][0];
    assert_eq!(
        (&layer["type"], &layer["head_dim"]),
        (&"llama3".into(), &128.into())
    );
    assert_eq!(layer["config"]["scaling"]["llama3"]["factor"], 8.0);
    let set = &layer["sets"][0];
    assert_eq!(set["within"][0]["positions"], 8192);
    assert_eq!(
        set["within"][0]["incomplete_pairs"]
            .as_array()
            .unwrap()
            .len(),
        32
    );
    let before = &layer["before_scaling"]["incomplete_pairs"];
    assert_eq!(*before, Value::from((35..64).collect::<Vec<_>>()));
    assert_eq!(set["wavelengths"].as_array().unwrap().len(), 64);
    assert_eq!(report["not_understood"], serde_json::json!([]));
}

/// Which pairs are incomplete follows from the golden frequencies, for every model.
#[test]
fn pairs_that_never_complete_a_turn_are_those_of_the_golden_frequencies() {
    let mut checked = 0;
    for case in pe_tests::rotary::cases() {
        if case.seq_len.is_some() {
            continue;
        }
        let (_guard, config) = config_file(&case.config);
        let report = run_json(&format!("inspect {}", arg(&config)));
        let layers = report["layers"].as_array().unwrap();
        let layer = layers
            .iter()
            .find(|layer| layer["layer_type"].as_str() == case.layer_type.as_deref())
            .unwrap();
        let set = &layer["sets"][0];
        let inv_freq: Vec<f64> = serde_json::from_value(set["inv_freq"].clone()).unwrap();
        assert_eq!(inv_freq, case.inv_freq_exact, "{}", case.name);
        assert_eq!(set["attention_factor"], case.attention_factor_exact);
        for within in set["within"].as_array().unwrap() {
            let length = within["positions"].as_f64().unwrap();
            let expected: Vec<usize> = (0..inv_freq.len())
                .filter(|pair| inv_freq[*pair] * length < std::f64::consts::TAU)
                .collect();
            let found: Vec<usize> =
                serde_json::from_value(within["incomplete_pairs"].clone()).unwrap();
            assert_eq!(found, expected, "{}", case.name);
            checked += 1;
        }
    }
    assert!(checked > 80, "{checked}");
}

#[test]
fn models_of_every_kind_are_explained() {
    for (name, words) in [
        (
            "Llama-2-7b|",
            &[
                "type: default: the frequencies are powers of the base, unchanged",
                "within the trained 4,096 positions (max_position_embeddings)",
                "(attention factor 1)",
            ][..],
        ),
        (
            "vicuna-13b",
            &[
                "type: linear: all frequencies are divided by the factor",
                "factor 4)",
            ],
        ),
        (
            "Llama-2-7b dynamic",
            &[
                "sequences of up to 4,096 positions: a turn",
                "longer sequences, whose base grows with their length; at 8,192 positions: a turn",
            ],
        ),
        (
            "gpt-oss-20b",
            &[
                "type: yarn: fast pairs stay as they are",
                "truncate false",
                "multiplied by the attention factor 1.34657359027997",
            ],
        ),
        (
            "Phi-3.5-mini-instruct",
            &[
                "sequences of up to 4,096 positions: a turn",
                "longer sequences: a turn",
                "long_factor of 48 values",
                "within the trained 4,096 positions (original_max_position_embeddings)",
                "within 131,072 positions (max_position_embeddings)",
                "attention factor 1.190238071423",
            ],
        ),
        (
            "gemma-4 text",
            &[
                "Rotary embedding of full_attention layers",
                "Rotary embedding of sliding_attention layers",
                "128 of the 512 columns of a head turn, in 64 of 256 pairs",
                "pairs 64 to 255 (192 of 256) do not turn at all",
                "type: proportional",
            ],
        ),
        ("gemma-3-27b-it", &["no key says how long sequences become"]),
        (
            "Qwen2-VL-7B",
            &["16 pairs follow time, 24 height and 24 width, one after the other"],
        ),
        (
            "Qwen3-VL-8B",
            &[
                "24 pairs follow time, 20 height and 20 width, in turn",
                "text_config.",
            ],
        ),
        (
            "gpt-neox-20b",
            &[
                "24 of the 96 columns",
                "rotary_pct = 0.25: the rotated fraction of the head",
            ],
        ),
        (
            "DeepSeek-V3",
            &[
                "64 of the 64 columns",
                "(interleaved: pair 1 is columns 2 and 3)",
            ],
        ),
        (
            "ModernBERT-base",
            &["base 160000", "base 10000", "local_rope_theta = 10000.0"],
        ),
    ] {
        let (text, report) = inspect(name);
        assert_says(&text, words);
        assert!(!report["keys"].as_array().unwrap().is_empty());
    }
}

/// `inspect` prints what the reader of `kit/configs.txt` finds. For a model without a rotary embedding it names the
/// scheme, and nothing is drawn or exported.
#[test]
fn config_json_cases_are_explained_or_rejected() {
    let mut seen = BTreeSet::new();
    for case in configs::all() {
        let (guard, path) = config_file(&case.text);
        let path = arg(&path);
        if let Some(wanted) = case.facts("error").next() {
            for line in [
                &format!("inspect {path}"),
                &format!("export -o OUT --scheme rotary --max-seq-len 3 --config {path}"),
                &format!(
                    "export -o OUT --scheme rotary --max-seq-len 3 --unknown-keys warn --config {path}"
                ),
                &format!("plot -o NEW rotary-wavelengths --config {path}"),
            ] {
                let error = refused(line, run_error);
                let wanted = wanted.trim_start_matches("config.json: ");
                assert!(
                    matches(error.trim_end(), &format!("…{wanted}")),
                    "{wanted}\n{error}"
                );
                assert!(error.contains("config.json: "), "{error}");
                assert_eq!(error.lines().count(), 1, "{error}");
            }
            continue;
        }
        let text = run(&format!("inspect {path}"));
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let report = run_json(&format!("inspect {path}"));
        for ignored in case.facts("ignored").chain(case.facts("warns")) {
            let found = report["not_understood"].as_array().unwrap();
            assert_eq!(found.len(), 1, "{ignored}: {found:?}");
            assert!(matches(found[0].as_str().unwrap(), ignored), "{found:?}");
        }
        assert_says(&flat, &case.facts("says").collect::<Vec<_>>());
        let Ok(HfModel::Other(positions)) =
            hf_config::read_model(case.text.as_str(), UnknownKeys::Warn)
        else {
            assert!(report["layers"][0]["head_dim"].is_u64(), "{report}");
            continue;
        };
        assert_says(&flat, &["Positions --------- no rotary embedding"]);
        assert!(!flat.contains("turn takes"), "{flat}");
        assert_eq!(report["layers"], serde_json::json!([]));
        let schemes = report["schemes"].as_array().unwrap();
        let names: Vec<_> = schemes
            .iter()
            .map(|s| s["name"].as_str().unwrap())
            .collect();
        assert_eq!(names.join(" and "), positions.name());
        let refusal = format!("has no rotary embedding (scheme: {})", positions.name());
        // Figures come before the one that is refused, so that all of them are drawn for one model of each scheme.
        let all = match seen.insert(positions.name()) {
            true => &format!("plot -o NEW --config {path}"),
            false => &format!("plot -o NEW rotary-wavelengths --config {path}"),
        };
        for line in [
            &format!("export -o OUT --scheme rotary --config {path}"),
            &format!("plot -o NEW rotary-frequencies --config {path}"),
            all,
        ] {
            let error = refused(line, run_error);
            assert!(error.contains(&refusal), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        drop(guard);
    }
}

#[test]
fn keys_that_were_not_understood_are_listed() {
    let (_guard, config) = config_file(
        r#"{"model_type": "llama", "head_dim": 8, "rope_theta": 1e4,
            "rope_wobble\u001b[31m": 3, "vocab_size": 7}"#,
    );
    let text = run(&format!("inspect {}", arg(&config)));
    let (_, end) = text.split_once("Keys not understood").unwrap();
    assert!(
        end.contains("rope_wobble\\u{1b}[31m (has no effect)"),
        "{text}"
    );
    assert!(
        !text.contains('\u{1b}') && !text.contains("vocab_size"),
        "{text}"
    );
    let report = run_json(&format!("inspect {}", arg(&config)));
    assert_eq!(report["not_understood"].as_array().unwrap().len(), 1);
}

/// JSON by its first character or its name; safetensors by a zero among the first eight bytes.
#[test]
fn config_is_distinguished_from_a_table_by_its_first_bytes() {
    let (guard, _) = config_file("");
    let at = |name: &str, content: &[u8]| {
        let path = guard.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let config = b"\n  {\"model_type\": \"llama\", \"head_dim\": 8}";
    for name in ["config.json", "config", "model.safetensors"] {
        assert!(
            run(&["inspect", arg(&at(name, config))]).contains("Rotary embedding"),
            "{name}"
        );
    }
    let table = guard.path().join("table.safetensors");
    run(&format!(
        "export --scheme rotary --head-dim 8 --max-seq-len 3 -o {}",
        arg(&table)
    ));
    let bytes = std::fs::read(&table).unwrap();
    assert!(run(&["inspect", arg(&at("table.json", &bytes))]).contains("right: all 28 entries"));
    // A header of 123 bytes: its length begins with the byte of `{`.
    let mut odd = 123u64.to_le_bytes().to_vec();
    odd.extend(format!("{:123}", "{}").as_bytes());
    assert_eq!(odd[0], b'{');
    assert!(run(&["inspect", arg(&at("odd.safetensors", &odd))]).contains("0 tensors"));
    assert!(run_error(&["inspect", arg(&at("noise", b"noise"))]).contains("safetensors"));
}
