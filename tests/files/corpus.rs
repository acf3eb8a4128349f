//! What the fuzz targets begin with and what they found worth keeping, once more, without them:
//! each input is given to its target's check.

use std::fs;
use std::path::{Path, PathBuf};

#[path = "../fuzz/checks/config.rs"]
mod config;
#[path = "../fuzz/checks/gguf.rs"]
mod gguf;
#[cfg(feature = "demo")]
#[path = "../fuzz/checks/numbers.rs"]
mod numbers;
#[path = "../fuzz/checks/reader.rs"]
mod reader;
#[path = "../fuzz/checks/specification.rs"]
mod specification;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The inputs of a target: files, and a list of texts in which each character is a byte.
fn inputs(target: &str) -> Vec<Vec<u8>> {
    let mut inputs: Vec<Vec<u8>> = fs::read_dir(folder().join("seeds").join(target))
        .unwrap()
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .collect();
    let kept = folder().join("kept").join(format!("{target}.json"));
    let kept: Vec<String> = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    assert!(kept.len() >= 150, "{target}: {}", kept.len());
    for text in kept {
        inputs.push(text.chars().map(|c| u8::try_from(c).unwrap()).collect());
    }
    inputs
}

#[test]
fn inputs_of_the_reader_are_taken_or_refused() {
    inputs("reader")
        .iter()
        .for_each(|input| reader::check(input));
}

#[test]
fn inputs_of_the_specification_are_taken_or_refused() {
    let inputs = inputs("specification");
    inputs.iter().for_each(|input| specification::check(input));
}

#[test]
fn inputs_of_config_json_are_taken_or_refused() {
    inputs("config")
        .iter()
        .for_each(|input| config::check(input));
}

#[test]
fn inputs_of_gguf_are_taken_or_refused() {
    inputs("gguf").iter().for_each(|input| gguf::check(input));
}

#[cfg(feature = "demo")]
#[test]
fn inputs_of_the_command_lines_numbers_are_taken_or_refused() {
    inputs("numbers")
        .iter()
        .for_each(|input| numbers::check(input));
}
