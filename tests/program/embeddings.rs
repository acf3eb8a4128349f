//! `--embeddings`, with made-up checkpoints that are built as BERT's are.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use serde_json::Value;

use crate::tolerance;
use crate::tolerance::NORMS_F64;
use crate::util::{arg, run, run_error, run_json, run_with};

/// Words and their ids; no tokens are put around a sentence.
pub const WORDS: &str = r#"{
  "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"?": 0, "order": 1, "matters": 2, "much": 3, "twin": 4},
            "unk_token": "?"}
}"#;

const WIDTH: usize = 8;

/// Vectors for six words, of which the second and the fifth are the same and the last is zero.
fn words() -> Tensor {
    let mut rows: Vec<Vec<f32>> = (0..6u8)
        .map(|row| {
            (0..8u8)
                .map(|at| f32::from(row) - 0.25 * f32::from(at))
                .collect()
        })
        .collect();
    rows[4] = rows[1].clone();
    rows[5].fill(0.0);
    Tensor::new(rows, &Device::Cpu).unwrap()
}

fn positions() -> Tensor {
    let values = (0..5u8).flat_map(|row| (0..8u8).map(move |at| f32::from(row * 8 + at) / 16.0));
    Tensor::from_iter(values, &Device::Cpu)
        .unwrap()
        .reshape((5, WIDTH))
        .unwrap()
}

/// A checkpoint next to its tokenizer.
fn checkpoint(directory: &Path, tensors: &[(&str, Tensor)]) -> PathBuf {
    let path = directory.join("bert.safetensors");
    let named = tensors
        .iter()
        .map(|(name, tensor)| ((*name).to_owned(), tensor.clone()));
    candle_core::safetensors::save(&named.collect::<HashMap<_, _>>(), &path).unwrap();
    std::fs::write(directory.join("tokenizer.json"), WORDS).unwrap();
    path
}

/// As a small BERT has them.
pub fn bert(directory: &Path) -> PathBuf {
    let layer = Tensor::ones((WIDTH, WIDTH), DType::F32, &Device::Cpu).unwrap();
    checkpoint(
        directory,
        &[
            ("bert.embeddings.word_embeddings.weight", words()),
            ("bert.embeddings.position_embeddings.weight", positions()),
            ("bert.encoder.layer.0.output.dense.weight", layer),
        ],
    )
}

fn encode(path: &Path, more: &str) -> String {
    let path = arg(path);
    format!("encode --no-table --layers 1 --heads 2 --embeddings {path} {more}")
}

/// Lengths of the rows that are not zero: mean, least, largest.
fn lengths(rows: &Tensor) -> [f64; 3] {
    let rows = rows.to_dtype(DType::F64).unwrap().to_vec2::<f64>().unwrap();
    let length = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let all: Vec<f64> = rows
        .iter()
        .map(length)
        .filter(|length| *length > 0.0)
        .collect();
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = all.iter().copied().fold(0.0, f64::max);
    [all.iter().sum::<f64>() / all.len() as f64, least, largest]
}

fn assert_lengths(found: &Value, rows: &Tensor) {
    for (name, expected) in ["mean", "min", "max"].into_iter().zip(lengths(rows)) {
        let found = found[name].as_f64().unwrap();
        assert!(
            (found - expected).abs() <= NORMS_F64 * expected,
            "{name}: {found} {expected}"
        );
    }
}

#[test]
fn sizes_of_words_and_positions_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = bert(directory.path());
    let report = run_json(&encode(&path, "'order matters' --max-seq-len 50"));
    assert_eq!(report["model"]["d_model"], 8);
    assert_eq!(report["model"]["scheme"], "sinusoidal");
    let sizes = &report["sizes"];
    assert_lengths(&sizes["words"], &words());
    assert_eq!(
        sizes["words"]["tensor"],
        "bert.embeddings.word_embeddings.weight"
    );
    assert_eq!(sizes["words"]["dtype"], "f32");
    assert_eq!(sizes["words"]["vectors"], 6);
    assert_eq!(sizes["words"]["zeros"], 1);
    // Four pairs of a sine and a cosine.
    let mean = sizes["positions"]["mean"].as_f64().unwrap();
    assert!((mean - 2.0).abs() < tolerance::F32_NORM, "{mean}");
    let ratio = sizes["ratio"].as_f64().unwrap();
    assert!((ratio - lengths(&words())[0] / mean).abs() < tolerance::NORM_RATIO);

    let report = run_json(&encode(&path, "--position-embeddings 'order matters'"));
    assert_eq!(report["model"]["scheme"], "learned");
    assert_lengths(&report["sizes"]["positions"], &positions());
    let report = run_json(&encode(
        &path,
        "--position-embeddings --position-offset 2 'order matters'",
    ));
    let rest = positions().narrow(0, 2, 3).unwrap();
    assert_lengths(&report["sizes"]["positions"], &rest);
    assert_eq!(report["sizes"]["positions"]["vectors"], 3);

    let text = run(&encode(&path, "'order matters'"));
    assert!(text.contains("Norms of the vectors"), "{text}");
    assert!(text.contains("1 of them zero"), "{text}");
    let report = run_json(&encode(&path, "--scheme rotary 'order matters'"));
    assert!(report["sizes"]["positions"].is_null());
}

#[test]
fn float_types_and_prefixes_are_read() {
    for dtype in [DType::F32, DType::F16, DType::BF16, DType::F64] {
        let directory = tempfile::tempdir().unwrap();
        for prefix in ["", "bert.", "distilbert.", "roberta.", "a.b."] {
            let name = format!("{prefix}embeddings.word_embeddings.weight");
            let tensor = words().to_dtype(dtype).unwrap();
            let path = checkpoint(directory.path(), &[(&name, tensor.clone())]);
            let report = run_json(&encode(&path, "'order matters'"));
            assert_lengths(&report["sizes"]["words"], &tensor);
            let told = report["sizes"]["words"]["dtype"].as_str().unwrap();
            assert_eq!(told, dtype.as_str());
        }
    }
}

#[test]
fn words_are_those_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = bert(directory.path());
    let vectors = |sentences: &str| {
        let file = directory.path().join("v.jsonl");
        run_with(
            &encode(&path, &format!("-q -o {} {sentences}", arg(&file))),
            "",
        );
        let text = std::fs::read_to_string(&file).unwrap();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line["vector"].clone()).collect::<Vec<_>>()
    };
    // "order" and "twin" have one vector; "matters" has another.
    let [a, b, c] = vectors("'order much' 'twin much' 'matters much'")
        .try_into()
        .unwrap();
    assert_eq!(a, b);
    assert_ne!(a, c);
}

#[test]
fn tensors_are_found_by_name_or_the_choice_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let (a, b) = (
        "question.embeddings.word_embeddings.weight",
        "answer.embeddings.word_embeddings.weight",
    );
    let path = checkpoint(
        directory.path(),
        &[(a, words()), (b, words()), ("x:y", words())],
    );
    let error = run_error(&encode(&path, "order"));
    for part in ["2 tensors", a, b, "name one of them"] {
        assert!(error.contains(part), "{error}");
    }
    for name in [a, "x:y"] {
        let named = format!("{}:{name}", arg(&path));
        let report = run_json(&encode(Path::new(&named), "'order matters'"));
        assert_eq!(report["sizes"]["words"]["tensor"], name);
    }
    let named = format!("{}:nothing", arg(&path));
    let error = run_error(&encode(Path::new(&named), "order"));
    assert!(
        error.contains("no tensor nothing; its matrices are") && error.contains(a),
        "{error}"
    );
    let error = run_error(&encode(&path, "--position-embeddings order"));
    assert!(error.contains("--embeddings"), "{error}");

    let path = checkpoint(directory.path(), &[("other", words())]);
    let error = run_error(&encode(&path, "order"));
    let expected = "no tensor with a name that ends in embeddings.word_embeddings.weight; its matrices are other";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn misfits_are_rejected() {
    let directory = tempfile::tempdir().unwrap();
    let path = bert(directory.path());
    let error = |more: &str| run_error(&encode(&path, more));
    let long = "order order order order order order";
    let said = error(&format!("--position-embeddings '{long}'"));
    assert!(
        said.contains("at most 5 can be encoded (rows of the learned positions)"),
        "{said}"
    );
    let said = error("--position-embeddings --position-offset 5 order");
    assert!(
        said.contains("has 5 rows, --position-offset is 5"),
        "{said}"
    );
    let other = format!(
        "--position-embeddings={}:bert.encoder.layer.0.output.dense.weight",
        arg(&path)
    );
    run(&encode(&path, &format!("{other} 'order matters'")));
    let said = run_error(&format!("--heads 3 --embeddings {} order", arg(&path)));
    assert!(said.contains("the width 8"), "{said}");

    for (tensor, part) in [
        (
            Tensor::ones(8, DType::F32, &Device::Cpu).unwrap(),
            "not [rows, width]",
        ),
        (
            Tensor::ones((6, 8), DType::I64, &Device::Cpu).unwrap(),
            "has type I64",
        ),
        (
            Tensor::ones((3, 8), DType::F32, &Device::Cpu).unwrap(),
            "has vectors for 3 tokens",
        ),
        (Tensor::full(f32::NAN, (6, 8), &Device::Cpu).unwrap(), "NaN"),
    ] {
        let path = checkpoint(
            directory.path(),
            &[("embeddings.word_embeddings.weight", tensor)],
        );
        let said = run_error(&encode(&path, "order"));
        assert!(said.contains(part), "{part}: {said}");
    }
    let path = bert(directory.path());
    std::fs::remove_file(directory.path().join("tokenizer.json")).unwrap();
    let said = run_error(&encode(&path, "order"));
    assert!(
        said.contains("no tokenizer.json next to it; name its tokenizer"),
        "{said}"
    );
}

/// A file of 1 TiB of which nearly all is a hole, so that nothing can read more than the token embeddings.
#[test]
fn checkpoint_of_any_size_is_read_for_its_word_vectors_only() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tokenizer.json"), WORDS).unwrap();
    let path = directory.path().join("large.safetensors");
    let words = words().flatten_all().unwrap().to_vec1::<f32>().unwrap();
    let (size, large) = (4 * words.len(), 1usize << 40);
    let header = serde_json::json!({
        "embeddings.word_embeddings.weight": {
            "dtype": "F32", "shape": [6, 8], "data_offsets": [0, size]
        },
        "layers": { "dtype": "F32", "shape": [large / 4], "data_offsets": [size, size + large] },
    })
    .to_string();
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes())
        .unwrap();
    file.write_all(header.as_bytes()).unwrap();
    for x in words {
        file.write_all(&x.to_le_bytes()).unwrap();
    }
    // More than any memory. Not every file system has sparse files of this size.
    let length = (8 + header.len() + size + large) as u64;
    if file.set_len(length).is_err() {
        return;
    }
    drop(file);
    let report = run_json(&encode(&path, "'order matters'"));
    assert_lengths(&report["sizes"]["words"], &self::words());
}
