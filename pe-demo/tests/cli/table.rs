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

/// Output without line breaks.
fn line(bytes: &[u8]) -> String {
    text(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sentences_leave_no_file_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    std::fs::write(here.join("text.txt"), "a line\n").expect("written");
    for args in [
        &["a b"][..],
        &["encode", "a b", "b a", "--json"],
        &["--file", "text.txt"],
        &["--no-table"],
        &["--scheme", "rotary"],
    ] {
        let output = pe_demo(here, &[&["--d-model", "16"][..], args].concat());
        let output = match args[0] {
            "encode" => pe_demo(here, &[args, &["--d-model", "16"]].concat()),
            _ => output,
        };
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
        assert!(
            !text(&output.stdout).contains("The table of encodings"),
            "{args:?}"
        );
        assert_eq!(names(here), ["text.txt"], "{args:?}");
    }
}

#[test]
fn bare_program_says_that_and_where_it_writes_the_table() {
    for args in [&[][..], &["encode"], &["--d-model", "16"]] {
        let directory = tempfile::tempdir().expect("a directory");
        let output = pe_demo(directory.path(), args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(names(directory.path()), [DEFAULT], "{args:?}");
        let real = directory
            .path()
            .canonicalize()
            .expect("a path")
            .join(DEFAULT);
        let said = line(&output.stdout);
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
        let inspected = pe_demo(directory.path(), &["inspect", real.to_str().expect("text")]);
        assert!(inspected.status.success());
    }
}

#[test]
fn table_is_written_where_it_is_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let output = pe_demo(here, &["a b", "--table", "t.safetensors"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(names(here), ["t.safetensors"]);
    let said = line(&output.stdout);
    let real = here.canonicalize().expect("a path").join("t.safetensors");
    assert!(
        said.contains(&format!("wrote {}", real.display())),
        "{said}"
    );
    assert!(!said.contains("because no sentence"), "{said}");
    // Learned positions have no such table.
    let args = [
        "a",
        "--table",
        "u",
        "--embeddings",
        "e",
        "--position-embeddings",
    ];
    let output = pe_demo(here, &args);
    assert_eq!(output.status.code(), Some(2));
    let expected = "--table writes the table of --scheme sinusoidal, not of learned";
    assert!(
        text(&output.stderr).contains(expected),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn quiet_is_without_a_word_about_files() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let loud = pe_demo(here, &["--d-model", "16"]);
    for args in [
        &["-q", "--d-model", "16"][..],
        &["--d-model", "16", "--quiet"],
        &["-q", "a b", "--table", "t.safetensors"],
    ] {
        let output = pe_demo(here, args);
        assert!(
            output.status.success(),
            "{args:?}: {}",
            text(&output.stderr)
        );
        assert_eq!(text(&output.stderr), "", "{args:?}");
        let said = text(&output.stdout);
        for word in [
            "wrote",
            "The table of encodings",
            "pe-demo inspect",
            "--table",
        ] {
            assert!(!said.contains(word), "{args:?}: {word}");
        }
        // The results are there, and so is the file.
        assert!(said.contains("Masked attention"), "{args:?}");
    }
    assert!(text(&loud.stdout).contains("The table of encodings"));
    assert_eq!(names(here), [DEFAULT, "t.safetensors"]);
    // A file that cannot be written is no matter of course.
    std::fs::remove_file(here.join(DEFAULT)).expect("removed");
    std::fs::create_dir(here.join(DEFAULT)).expect("made");
    let output = pe_demo(here, &["-q", "--d-model", "16"]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("not written: "));
}

/// The file has the name that the table would get without a word.
#[test]
fn checkpoint_is_not_replaced_by_the_table_of_the_bare_program() {
    let directory = tempfile::tempdir().expect("a directory");
    let here = directory.path();
    let export = "export --d-model 8 --max-seq-len 40 --start 7 -o pe-demo-table.safetensors";
    let export: Vec<&str> = export.split(' ').collect();
    assert!(pe_demo(here, &export).status.success());
    std::fs::write(here.join("tokenizer.json"), TOKENIZER).expect("written");
    let before = std::fs::read(here.join(DEFAULT)).expect("a file");
    let embeddings = "pe-demo-table.safetensors:pe";
    let args = ["--heads", "2", "--embeddings", embeddings];
    let output = pe_demo(here, &args);
    let after = std::fs::read(here.join(DEFAULT)).expect("a file");
    assert!(before == after, "the file was replaced");
    assert_eq!(output.status.code(), Some(2));
    let expected = "the table pe-demo-table.safetensors would replace what --embeddings \
                    pe-demo-table.safetensors reads";
    assert!(
        text(&output.stderr).contains(expected),
        "{}",
        text(&output.stderr)
    );
    // With a sentence nothing is written.
    let output = pe_demo(here, &[&args[..], &["order matters"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
}
