//! The hub, from a server on this machine.
//!
//! The environment names the hub and belongs to the process: the tests run this
//! program again, with a test that is the demo.

use std::path::Path;
use std::process::{Command, Output};

use pe_tests::server::{Reply, Server};

use crate::embeddings::{WORDS, bert};
use crate::util::{arg, run_with};

const ARGS: &str = "PE_TEST_DEMO_ARGS";

/// The demo, if the environment has its arguments.
#[test]
fn program_as_a_process() {
    let Ok(args) = std::env::var(ARGS) else {
        return;
    };
    let run = run_with(&args, "");
    std::fs::write("out", run.out).unwrap();
    std::fs::write("err", run.err).unwrap();
}

/// Runs it in a directory and returns its output and its errors.
fn demo(directory: &Path, endpoint: &str, offline: &str, args: &str) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "hub::program_as_a_process"])
        .current_dir(directory)
        .env(ARGS, args)
        .env("HF_HOME", directory.join("hf"))
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HUB_OFFLINE", offline)
        .env_remove("HF_TOKEN");
    let output: Output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let read = |name| std::fs::read_to_string(directory.join(name)).unwrap();
    (read("out"), read("err"))
}

fn path(repo: &str, file: &str) -> String {
    format!("/owner/{repo}/resolve/main/{file}")
}

/// A hub with a small BERT and with the files of a training run.
fn server(directory: &Path) -> Server {
    let model = std::fs::read(bert(directory)).unwrap();
    let trained = directory.join("trained");
    let sizes = "--steps 1 --d-model 8 --heads 1 --layers 1 --length 8";
    let out = arg(&trained);
    run_with(
        &format!("train --scheme rotary --task order --seeds 1 {sizes} -o {out}"),
        "",
    );
    let weights = std::fs::read(trained.join("order-rotary-0.safetensors")).unwrap();
    Server::with_files(vec![
        (
            path("bert", "model.safetensors"),
            Reply::file(&model).with("ETag", "\"model\""),
        ),
        (
            path("bert", "tokenizer.json"),
            Reply::file(WORDS.as_bytes()).with("ETag", "\"words\""),
        ),
        (
            path("bert", "other.json"),
            Reply::file(WORDS.as_bytes()).with("ETag", "\"words2\""),
        ),
        (
            path("trained", "order-rotary-0.safetensors"),
            Reply::file(&weights).with("ETag", "\"weights\""),
        ),
    ])
}

#[test]
fn checkpoints_tokenizers_and_weights_come_from_the_hub_and_then_from_the_cache() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path());
    let runs: [&str; 4] = [
        "--no-table --embeddings owner/bert --position-embeddings 'order matters'",
        "--no-table --heads 2 --embeddings owner/bert:model.safetensors:bert.embeddings.word_embeddings.weight 'order matters'",
        "--no-table --d-model 8 --tokenizer owner/bert:other.json 'order matters'",
        "--weights owner/trained:order-rotary-0.safetensors",
    ];
    let online = runs.map(|args| demo(directory.path(), &server.address, "0", args));
    for ((out, err), args) in online.iter().zip(runs) {
        assert_eq!(err, "", "{args:?}");
        assert!(out.contains("owner/"), "{args:?}: {out}");
    }
    assert_eq!(server.requests().len(), 4);
    // Offline, and with a server that answers nobody.
    let offline = runs.map(|args| demo(directory.path(), "http://127.0.0.1:9", "1", args));
    assert!(online == offline);

    let (_, err) = demo(
        directory.path(),
        &server.address,
        "1",
        "--tokenizer owner/new",
    );
    assert!(
        err.contains("HF_HUB_OFFLINE") && err.contains("there is no file owner/new here"),
        "{err}"
    );
    let (_, err) = demo(
        directory.path(),
        "http://127.0.0.1:9",
        "",
        "--embeddings owner/new",
    );
    assert!(err.contains("is there a network?"), "{err}");
    assert_eq!(err.lines().count(), 1);
    let (_, err) = demo(
        directory.path(),
        &server.address,
        "",
        "--weights owner/trained",
    );
    assert!(
        err.contains("\"model.safetensors\" in \"owner/trained\""),
        "{err}"
    );
    assert!(
        err.contains("no such repository, revision or file"),
        "{err}"
    );
    let said = demo(
        directory.path(),
        &server.address,
        "",
        "-v --no-table --embeddings owner/bert a",
    );
    assert!(
        said.1.contains("model.safetensors of owner/bert is "),
        "{}",
        said.1
    );
}

#[test]
fn file_of_that_name_wins() {
    let directory = tempfile::tempdir().unwrap();
    let server = server(directory.path());
    std::fs::create_dir_all(directory.path().join("owner")).unwrap();
    std::fs::copy(
        directory.path().join("bert.safetensors"),
        directory.path().join("owner/bert"),
    )
    .unwrap();
    std::fs::copy(
        directory.path().join("tokenizer.json"),
        directory.path().join("owner/tokenizer.json"),
    )
    .unwrap();
    for name in [
        "owner/bert",
        "owner/bert:bert.embeddings.word_embeddings.weight",
    ] {
        let args = &format!("--no-table --embeddings {name} 'order matters'");
        let (out, err) = demo(directory.path(), &server.address, "", args);
        assert_eq!(err, "");
        let line = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            line.contains("tokenizer owner/tokenizer.json with 5 entries"),
            "{line}"
        );
    }
    assert!(server.requests().is_empty());
}
