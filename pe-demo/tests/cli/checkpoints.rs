//! Checkpoints in shards on this machine.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{DType, Device, Tensor};

use crate::{one_line_error, pe_demo, text};

pub(crate) const WORDS: &str = "bert.embeddings.word_embeddings.weight";
const POSITIONS: &str = "bert.embeddings.position_embeddings.weight";

/// Whole words; no tokens are put around a sentence.
pub(crate) const TOKENIZER: &str = r#"{
  "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"?": 0, "order": 1, "matters": 2}, "unk_token": "?"}
}"#;

/// Saves a safetensors file with one matrix of different entries.
fn save(path: &Path, name: &str, rows: usize) {
    let values = (0..rows * 8).map(|at| at as f32 - 7.5).collect::<Vec<_>>();
    let tensor = Tensor::from_vec(values, (rows, 8), &Device::Cpu).expect("a tensor");
    let tensors = HashMap::from([(name.to_owned(), tensor.to_dtype(DType::F16).expect("f16"))]);
    candle_core::safetensors::save(&tensors, path).expect("saved");
}

/// The index of [`shards`].
pub(crate) fn index() -> String {
    format!(
        r#"{{"metadata": {{"total_size": 1}}, "weight_map": {{
            "{WORDS}": "model-2.safetensors", "{POSITIONS}": "model-1.safetensors",
            "bert.other": "model-3.safetensors"}}}}"#
    )
}

/// A folder with a tokenizer, an index and two of the three shards that it names.
pub(crate) fn shards(folder: &Path) {
    std::fs::create_dir(folder).expect("a folder");
    save(&folder.join("model-1.safetensors"), POSITIONS, 5);
    save(&folder.join("model-2.safetensors"), WORDS, 3);
    for (name, content) in [
        ("model.safetensors.index.json", index()),
        ("tokenizer.json", TOKENIZER.to_owned()),
    ] {
        std::fs::write(folder.join(name), content).expect("written");
    }
}

fn encode(folder: &Path, options: &str) -> std::process::Output {
    let line = format!("encode --json --heads 2 --layers 1 {options} 'order matters'");
    pe_demo(folder, &line)
}

#[test]
fn tensor_comes_from_its_shard_as_from_one_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    shards(&here.join("bert"));
    let json = |options: &str| -> serde_json::Value {
        let output = encode(here, options);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    std::fs::create_dir(here.join("whole")).expect("a folder");
    for name in ["model-2.safetensors", "tokenizer.json"] {
        let from = here.join("bert").join(name);
        std::fs::copy(from, here.join("whole").join(name)).expect("copied");
    }
    let whole = json("--embeddings whole/model-2.safetensors");
    for named in [
        "bert",
        "bert/",
        "bert/model.safetensors.index.json",
        &format!("bert:{WORDS}"),
        &format!("bert/model.safetensors.index.json:{WORDS}"),
    ] {
        let sharded = json(&format!("--embeddings {named}"));
        assert_eq!(sharded["sizes"], whole["sizes"], "{named}");
        assert_eq!(sharded["order"], whole["order"], "{named}");
        assert_eq!(sharded["sizes"]["words"]["tensor"], WORDS);
    }
    // The positions are in the other shard, and none of this needs the third.
    for more in ["--position-embeddings", "--position-embeddings=bert"] {
        let both = json(&format!("--embeddings bert {more}"));
        assert_eq!(both["sizes"]["positions"]["tensor"], POSITIONS);
        assert_eq!(both["sizes"]["positions"]["vectors"], 5);
    }
    // A whole checkpoint wins over an index next to it.
    std::fs::rename(
        here.join("whole/model-2.safetensors"),
        here.join("whole/model.safetensors"),
    )
    .expect("renamed");
    std::fs::write(here.join("whole/model.safetensors.index.json"), "no index").expect("written");
    assert_eq!(
        json("--embeddings whole")["sizes"]["words"],
        whole["sizes"]["words"]
    );
    // -v names the shard.
    let output = encode(here, "-v --embeddings bert");
    let said = format!("{WORDS} is in model-2.safetensors");
    assert!(
        text(&output.stderr).contains(&said),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn shards_that_do_not_hold_what_the_index_says_are_named_with_the_tensor() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let folder = here.join("bert");
    shards(&folder);
    let error = |name: &str| {
        let output = encode(here, &format!("--embeddings {name}"));
        one_line_error(&output).to_owned()
    };
    let missing = error("bert:bert.other");
    for part in [
        "--embeddings: bert/model.safetensors.index.json: tensor bert.other: ",
        "bert/model-3.safetensors: No such file",
    ] {
        assert!(missing.contains(part), "{missing}");
    }
    let unknown = error("bert:nothing");
    let expected = "bert/model.safetensors.index.json: no tensor nothing among 3";
    assert!(unknown.contains(expected), "{unknown}");
    // The other tensor's shard.
    std::fs::copy(
        folder.join("model-1.safetensors"),
        folder.join("model-2.safetensors"),
    )
    .expect("copied");
    let wrong = error("bert");
    for part in [
        format!("index.json: tensor {WORDS}: bert/model-2.safetensors: no tensor {WORDS}"),
        format!("its matrices are {POSITIONS}"),
    ] {
        assert!(wrong.contains(&part), "{wrong}");
    }
    std::fs::write(folder.join("model-2.safetensors"), "cut").expect("written");
    let cut = error("bert");
    assert!(
        cut.contains("bert/model-2.safetensors: the file has 3 bytes"),
        "{cut}"
    );
}

#[test]
fn index_is_read_strictly() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    shards(&here.join("bert"));
    // Where a path would lead to.
    save(&here.join("outside.safetensors"), WORDS, 3);
    let absolute = here.join("outside.safetensors");
    let absolute = absolute.to_str().expect("text");
    let long = format!("{}.safetensors", "x".repeat(1 << 20));
    let names = [
        "../outside.safetensors",
        absolute,
        "bert/../outside.safetensors",
        "..",
        "",
        "a/b.safetensors",
        "a\\b.safetensors",
        "./model-2.safetensors",
        ".hidden.safetensors",
        "model-2.bin",
        "model-2.safetensors\n",
        "m\u{202e}odel.safetensors",
        &long,
    ];
    let mut indexes: Vec<(String, String)> = names
        .iter()
        .map(|name| {
            let index = serde_json::json!({ "weight_map": { WORDS: name } });
            (
                index.to_string(),
                "is not the plain name of a .safetensors file".to_owned(),
            )
        })
        .collect();
    // A wrong name counts wherever it is.
    let other = serde_json::json!({
        "weight_map": { WORDS: "model-2.safetensors", "other": "../outside.safetensors" },
    });
    indexes.push((other.to_string(), "is not the plain name".to_owned()));
    for (index, part) in [
        ("", "not a JSON object"),
        ("{}", "missing field `weight_map`"),
        ("[]", "not a JSON object"),
        ("[{\"a\": \"m.safetensors\"}]", "not a JSON object"),
        ("{\"weight_map\": {}}", "names no tensors"),
        (
            "{\"weight_map\": []}",
            "an object of the shard of each tensor",
        ),
        (
            "{\"weight_map\": {\"a\\u202eb\": \"m\\\\n\"}}",
            "the shard \"m\\n\" of tensor \"a\\u{202e}b\" is not the plain name",
        ),
        ("{\"weight_map\": {\"a\": 1}}", "expected a string"),
        ("{\"weight_map\": {\"a\": null}}", "expected a string"),
        (
            "{\"weight_map\": {\"a\": \"m.safetensors\", \"a\": \"n.safetensors\"}}",
            "tensor \"a\" appears there twice",
        ),
        (
            "{\"weight_map\": {\"a\": \"m.safetensors\"}, \"weight_map\": {\"a\": \"n.safetensors\"}}",
            "duplicate field `weight_map`",
        ),
        ("{\"weight_map\": {\"a\": \"m.safetensors\"}} x", "trailing"),
        (
            "{\"weight_map\": {\"a\": \"m.safetensors\"}}",
            "no tensor among 1 with a name that ends in embeddings.word_embeddings.weight",
        ),
        (
            "{\"weight_map\": {\"a.embeddings.word_embeddings.weight\": \"m.safetensors\", \
             \"b.embeddings.word_embeddings.weight\": \"m.safetensors\"}}",
            "2 tensors have names that end in",
        ),
    ] {
        indexes.push((index.to_owned(), part.to_owned()));
    }
    let deep = format!("{{\"weight_map\": {}", "[".repeat(1 << 20));
    indexes.push((deep, "an object of the shard of each tensor".to_owned()));
    for (index, part) in indexes {
        let path = here.join("bert/model.safetensors.index.json");
        std::fs::write(path, &index).expect("written");
        let output = encode(here, "--embeddings bert");
        let error = one_line_error(&output);
        let start = "--embeddings: bert/model.safetensors.index.json: ";
        let shown: String = index.chars().take(100).collect();
        assert!(error.starts_with(start), "{shown}: {error}");
        assert!(error.contains(&part), "{shown}: {error}");
        assert!(error.len() < 900, "{shown}: {} bytes", error.len());
    }
}
