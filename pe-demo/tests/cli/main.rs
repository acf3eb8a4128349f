//! The real program: exit codes, pipes, files, width, the hub.
// What these tests share is outside of them, where an `expect` would be a defect of the program.
#![allow(clippy::expect_used)]

mod checkpoints;
mod device;
#[cfg(unix)]
mod faults;
#[cfg(feature = "hub")]
mod hub;
mod table;
mod train;
mod width;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Splits a command line at spaces outside of single quotes.
fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.flat_map(|words: Vec<&str>| words).collect()
}

fn pe_demo(directory: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pe-demo"))
        .args(words(line))
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// Standard error holds one line that begins with the program's name.
fn one_line_error(output: &Output) -> &str {
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), "");
    let error = text(&output.stderr);
    assert_eq!(error.lines().count(), 1, "{error}");
    error.strip_prefix("pe-demo: ").expect("the program's name")
}

#[test]
fn runs_print_and_write_the_same_bytes_with_any_number_of_threads() {
    // In one directory: the real path of the table is printed.
    let directory = tempfile::tempdir().expect("a directory");
    let runs: Vec<(Vec<u8>, Vec<u8>)> = ["1", "2", "5"]
        .map(|threads| {
            let output = Command::new(env!("CARGO_BIN_EXE_pe-demo"))
                .current_dir(&directory)
                .env("RAYON_NUM_THREADS", threads)
                .stdin(Stdio::null())
                .output()
                .expect("the program starts");
            assert!(output.status.success(), "{}", text(&output.stderr));
            assert_eq!(text(&output.stderr), "");
            let path = directory.path().join("pe-demo-table.safetensors");
            let table = std::fs::read(&path).expect("the table was written");
            std::fs::remove_file(&path).expect("removed");
            (output.stdout, table)
        })
        .into();
    assert!(runs[0] == runs[1] && runs[0] == runs[2]);
}

#[test]
fn closed_pipe_ends_the_program_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pe-demo"))
        .args(["--no-table", "--json", "--d-model", "32", "--file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // More output than a pipe holds, so that the program must notice.
    let mut stdin = child.stdin.take().expect("a pipe");
    for line in 0..900 {
        writeln!(stdin, "sentence number {line} of a long text").expect("the program reads");
    }
    drop(stdin);
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut first = String::new();
    stdout.read_line(&mut first).expect("a first line");
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(first, "{\n");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

/// The reader of a file on standard output goes away after a byte.
#[test]
fn closed_pipe_ends_an_export_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pe-demo"))
        .args(words("export --d-model 256 --max-seq-len 4096 -o -"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdout = child.stdout.take().expect("a pipe");
    let mut first = [0; 1];
    stdout.read_exact(&mut first).expect("a first byte");
    drop(stdout);
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn bad_usage_is_exit_code_2() {
    let directory = tempfile::tempdir().expect("a directory");
    for line in [
        "--no-such-option",
        "export --d-model 8",
        "export --preset nobody --d-model 8 --max-seq-len 3 -o t",
        "--table t --no-table",
        "sentence --file text.txt",
        "inspect",
        "--d-model -5",
        "--d-model 250",
        "export --d-model 7 --max-seq-len 3 -o t",
        "export --d-model 512 --max-seq-len 1000000000000 -o t",
        "export --d-model 512 --max-seq-len 18446744073709551615 -o t",
    ] {
        let output = pe_demo(directory.path(), line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert_eq!(text(&output.stdout), "", "{line}");
        assert!(text(&output.stderr).starts_with("error: "), "{line}");
    }
    let nothing = std::fs::read_dir(&directory).expect("a directory").next();
    assert!(nothing.is_none(), "{nothing:?}");
}

#[test]
fn run_time_errors_are_one_line_and_exit_code_1() {
    let directory = tempfile::tempdir().expect("a directory");
    for (line, words) in [
        ("inspect nothing.safetensors", "nothing.safetensors: "),
        ("--file nothing.txt", "nothing.txt: "),
        ("--tokenizer no.json", "there is no file no.json"),
        ("--table nowhere/table.safetensors", "nowhere/"),
        ("--max-seq-len 5", "sentence 1 has 12 tokens, at most 5"),
        ("--max-seq-len 4294967296", "exceeds the limit"),
        // Rejected before anything is computed.
        (
            "export --d-model 512 --max-seq-len 4000000000 -o t",
            "4000000000",
        ),
        (
            "export --d-model 512 --max-seq-len 4294967296 -o t",
            "4294967296",
        ),
    ] {
        let output = pe_demo(directory.path(), line);
        let error = one_line_error(&output);
        assert!(error.contains(words), "{line}: {error}");
    }
}

#[test]
fn directory_that_cannot_be_written_only_costs_the_table() {
    let directory = tempfile::tempdir().expect("a directory");
    // Whoever runs the tests as root may write anywhere: a directory of the table's
    // name cannot be replaced by anybody.
    std::fs::create_dir(directory.path().join("pe-demo-table.safetensors")).expect("made");
    let output = pe_demo(directory.path(), "");
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("not written: "));
}
