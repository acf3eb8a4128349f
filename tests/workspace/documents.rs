//! The files and folders that the documents at the root name exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders that names in the documents are relative to.
const FOLDERS: [&str; 5] = ["", "pe-core/src", "pe-candle/src", "pe-demo/src", "tests"];

/// Ends of names of files, and of folders.
const ENDS: [&str; 10] = [
    ".rs", ".py", ".sh", ".md", ".toml", ".json", ".csv", ".png", ".svg", "/",
];

/// Returns the paths in backticks and in links. Upper-case words such as `NAME` are placeholders.
fn paths(text: &str) -> Vec<&str> {
    let code = text.split('`').skip(1).step_by(2);
    let inline = code.filter(|code| !code.contains('\n'));
    let links = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .filter(|link| !link.starts_with("http"));
    let path = |word: &&str| {
        let plain = word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
        let placeholder = word.split(['/', '.']).any(|part| {
            part.len() > 3
                && part.chars().all(|c| c.is_ascii_uppercase() || c == '_')
                && part != "ROWS"
        });
        plain && word.contains('/') && ENDS.iter().any(|end| word.ends_with(end)) && !placeholder
    };
    inline
        .flat_map(str::split_whitespace)
        .filter(path)
        .chain(links)
        .collect()
}

#[test]
fn documents_name_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let exists = |path: &str| {
        let at = |folder: &str| root.join(folder).join(path).exists();
        FOLDERS.into_iter().any(at)
    };
    let mut missing: Vec<(PathBuf, String)> = Vec::new();
    let mut count = 0;
    for document in ["README.md", "CONTRIBUTING.md", "DESIGN.md"] {
        let Ok(text) = std::fs::read_to_string(root.join(document)) else {
            continue;
        };
        for path in paths(&text) {
            count += 1;
            if !exists(path) {
                missing.push((document.into(), path.to_owned()));
            }
        }
    }
    assert!(count > 40, "{count}");
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Returns the names of files in a folder, without what is around `…` in the pattern.
fn names(folder: &Path, pattern: &str) -> BTreeSet<String> {
    let (start, end) = pattern.split_once('…').unwrap();
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let middle = |name: String| {
        name.strip_prefix(start)?
            .strip_suffix(end)
            .map(str::to_owned)
    };
    names.filter_map(middle).collect()
}

/// Returns the words of a text between two others.
fn between(text: &str, start: &str, end: &str) -> BTreeSet<String> {
    let (_, rest) = text.split_once(start).unwrap();
    let words = rest.split_once(end).unwrap().0;
    let words = words.split(|c: char| c == ',' || c.is_whitespace());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[test]
fn scripts_and_workflows_name_all_that_they_run() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(tests.join(path)).unwrap();
    let generators = names(&tests.join("golden"), "make_….py");
    let make = read("golden/make.sh");
    assert_eq!(between(&make, "|| names=(", ")"), generators);
    let targets = names(&tests.join("fuzz/targets"), "….rs");
    let weekly = read("../.github/workflows/weekly.yml");
    assert_eq!(between(&weekly, "target: [", "]"), targets);
    let cargo = read("fuzz/Cargo.toml");
    let binaries = cargo.split("[[bin]]\nname = \"").skip(1);
    let binaries = binaries.map(|rest| rest.split('"').next().unwrap().to_owned());
    assert_eq!(binaries.collect::<BTreeSet<_>>(), targets);
}

#[test]
fn paths_are_found_in_code_and_links() {
    let text = "`a/b.rs`, `cargo run x/y.py`, `NAME/z.rs`, `x · y`, [w](c/d.png) [v](https://e/f.rs) `/proc`";
    assert_eq!(paths(text), ["a/b.rs", "x/y.py", "c/d.png"]);
}

/// A moved or rewritten line would leave the reason for its surviving mutant behind. `mutants.py --check` looks at the
/// functions as well.
#[test]
fn argued_mutants_name_files_and_lines_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let list = std::fs::read_to_string(root.join("tests/scripts/equivalent.toml")).unwrap();
    let value = |entry: &str, key: &str| -> String {
        let start = format!("\n{key} = ");
        let line = entry.split(&start).nth(1).unwrap().lines().next().unwrap();
        let inside = line.trim_matches(|c| c == '"' || c == '\'').to_owned();
        match line.starts_with('"') {
            true => inside.replace("\\\"", "\""),
            false => inside,
        }
    };
    let mut stale = Vec::new();
    for entry in list.split("\n[[mutant]]").skip(1) {
        let (file, line) = (value(entry, "file"), value(entry, "line"));
        let code = std::fs::read_to_string(root.join(&file)).unwrap_or_default();
        if !code.lines().any(|of| of.trim() == line) {
            stale.push(format!("{file}: {line}"));
        }
    }
    assert!(stale.is_empty(), "{stale:#?}");
}
