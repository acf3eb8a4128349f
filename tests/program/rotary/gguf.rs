//! GGUF files on the command line.

use serde_json::Value;

use super::export;
use crate::util::{arg, run, run_error};

/// A golden file in a directory.
fn file(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let files: Vec<Value> = pe_tests::golden::json("gguf.json");
    let file = files.iter().find(|file| file["name"] == name).unwrap();
    let text = file["bytes"].as_str().unwrap();
    let pairs = (0..text.len()).step_by(2);
    let bytes: Vec<u8> = pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap())
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    (directory, path)
}

#[test]
fn gguf_files_are_explained_and_exported() {
    let (directory, path) = file("llama 3.1, f");
    let text = run(&format!("inspect {}", arg(&path)));
    for words in [
        "model_type llama",
        "interleaved",
        "llama.rope.freq_base = 500000.0: the base",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let document: Value =
        serde_json::from_str(&run(&format!("inspect {} --json", arg(&path)))).unwrap();
    assert_eq!(document["layers"][0]["head_dim"], 64);
    let diagnosis = run(&format!("diagnose --config {} --length 300", arg(&path)));
    // 0 to 256, and every second one.
    assert!(
        diagnosis.contains("279 of 300 positions are distinct"),
        "{diagnosis}"
    );
    assert!(diagnosis.contains("divided scaling"), "{diagnosis}");
    let out = directory.path().join("table.safetensors");
    let (exported, _) = export(&out, &format!("--config {} --max-seq-len 3", arg(&path)));
    assert_eq!(exported.spec.config().scaling.name(), "divided");
    assert_eq!(exported.table.cos.dims(), [3, 32]);
}

#[test]
fn malformed_gguf_files_are_refused() {
    let (_guard, path) = file("llama");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..60]).unwrap();
    let error = run_error(&format!("inspect {}", arg(&path)));
    assert!(error.contains("model.gguf: GGUF: "), "{error}");
}
