//! The files and folders that the documents at the root name exist.

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

#[test]
fn paths_are_found_in_code_and_links() {
    let text = "`a/b.rs`, `cargo run x/y.py`, `NAME/z.rs`, `x · y`, [w](c/d.png) [v](https://e/f.rs) `/proc`";
    assert_eq!(paths(text), ["a/b.rs", "x/y.py", "c/d.png"]);
}
