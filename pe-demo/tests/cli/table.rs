//! The table of encodings: where it is written, and where it is not.

use std::path::Path;

use crate::checkpoints::TOKENIZER;
use crate::{pe_demo, text};

const DEFAULT: &str = "pe-demo-table.safetensors";

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Returns a text without line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the output of a command line.
fn succeeds(here: &Path, line: &str) -> String {
    let output = pe_demo(here, line);
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{line}: {error}");
    out.to_owned()
}

/// Asserts that a command line is bad usage, in these words.
fn refused(here: &Path, line: &str, words: &str) {
    let output = pe_demo(here, line);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{line}: {error}");
    assert!(error.contains(words), "{line}: {error}");
}

#[test]
fn sentences_leave_no_file_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    std::fs::write(here.join("text.txt"), "a line\n").expect("written");
    for line in [
        "--d-model 16 'a b'",
        "encode 'a b' 'b a' --json --d-model 16",
        "--d-model 16 --file text.txt",
        "--d-model 16 --no-table",
        "--d-model 16 --scheme rotary",
    ] {
        let said = succeeds(here, line);
        assert!(!said.contains("The table of encodings"), "{line}");
        assert_eq!(names(here), ["text.txt"], "{line}");
    }
}

#[test]
fn bare_program_says_that_and_where_it_writes_the_table() {
    for line in ["", "encode", "--d-model 16"] {
        let directory = tempfile::tempdir().expect("a directory");
        let here = directory.path();
        let said = one_line(&succeeds(here, line));
        assert_eq!(names(here), [DEFAULT], "{line}");
        let real = here.canonicalize().expect("a path").join(DEFAULT);
        for part in [
            format!("wrote {}", real.display()),
            format!("pe-demo inspect {}", real.display()),
            "written because no sentence was given: --table FILE writes it elsewhere, --no-table \
             not at all"
                .to_owned(),
        ] {
            assert!(said.contains(&part), "{part}: {said}");
        }
        // The command that it names.
        succeeds(here, &format!("inspect '{}'", real.display()));
    }
}

#[test]
fn table_is_written_where_it_is_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let said = one_line(&succeeds(here, "'a b' --table t.safetensors"));
    assert_eq!(names(here), ["t.safetensors"]);
    let real = here.canonicalize().expect("a path").join("t.safetensors");
    assert!(
        said.contains(&format!("wrote {}", real.display())),
        "{said}"
    );
    assert!(!said.contains("because no sentence"), "{said}");
    // Learned positions have no such table.
    refused(
        here,
        "a --table u --embeddings e --position-embeddings",
        "--table writes the table of --scheme sinusoidal, not of learned",
    );
}

#[test]
fn quiet_is_without_a_word_about_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let loud = succeeds(here, "--d-model 16");
    for line in [
        "-q --d-model 16",
        "--d-model 16 --quiet",
        "-q 'a b' --table t.safetensors",
    ] {
        let output = pe_demo(here, line);
        assert!(output.status.success(), "{line}");
        assert_eq!(text(&output.stderr), "", "{line}");
        let said = text(&output.stdout);
        for word in [
            "wrote",
            "The table of encodings",
            "pe-demo inspect",
            "--table",
        ] {
            assert!(!said.contains(word), "{line}: {word}");
        }
        // The results are there, and so is the file.
        assert!(said.contains("Masked attention"), "{line}");
    }
    assert!(loud.contains("The table of encodings"));
    assert_eq!(names(here), [DEFAULT, "t.safetensors"]);
    // A file that cannot be written is no matter of course.
    std::fs::remove_file(here.join(DEFAULT)).expect("removed");
    std::fs::create_dir(here.join(DEFAULT)).expect("made");
    assert!(succeeds(here, "-q --d-model 16").contains("not written: "));
}

/// The file has the name that the table would get without a word.
#[test]
fn checkpoint_is_not_replaced_by_the_table_of_the_bare_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let export = "export --d-model 8 --max-seq-len 40 --start 7 -o pe-demo-table.safetensors";
    succeeds(here, export);
    std::fs::write(here.join("tokenizer.json"), TOKENIZER).expect("written");
    let before = std::fs::read(here.join(DEFAULT)).expect("a file");
    let line = "--heads 2 --embeddings pe-demo-table.safetensors:pe";
    refused(
        here,
        line,
        "the table pe-demo-table.safetensors would replace what --embeddings \
         pe-demo-table.safetensors reads",
    );
    let after = std::fs::read(here.join(DEFAULT)).expect("a file");
    assert!(before == after, "the file was replaced");
    // With a sentence nothing is written.
    succeeds(here, &format!("{line} 'order matters'"));
}
