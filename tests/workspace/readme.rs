//! Code that users copy compiles with the crates that the README names.

use std::path::{Path, PathBuf};

/// The crates that README's `cargo add` brings, next to Candle.
const ADDED: [&str; 3] = ["candle_core", "candle_nn", "pe_candle"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All files below a folder with this ending.
fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, end, found);
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
}

/// The crates that pe-candle itself depends on, as code names them. Documentation tests see them all, and
/// so do not notice what a user lacks.
fn dependencies() -> Vec<String> {
    let manifest = std::fs::read_to_string(root().join("pe-candle/Cargo.toml")).unwrap();
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.contains("dependencies]");
        } else if let Some((name, _)) = line.split_once(" = ").filter(|_| inside) {
            names.push(name.replace('-', "_"));
        }
    }
    assert!(names.len() > 8, "{names:?}");
    names
}

/// The lines of Rust code in a document, with their numbers; of a Rust file, those in its documentation.
fn code(path: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(path).unwrap();
    let rust = path.extension().is_some_and(|end| end == "rs");
    let mut lines = Vec::new();
    let mut inside: Option<bool> = None;
    for (number, line) in text.lines().enumerate() {
        let line = match rust {
            false => line,
            true => {
                let line = line.trim_start();
                let doc = line.strip_prefix("///").or(line.strip_prefix("//!"));
                let Some(doc) = doc else { continue };
                doc.strip_prefix(' ').unwrap_or(doc)
            }
        };
        if let Some(kind) = line.strip_prefix("```") {
            inside = match inside {
                Some(_) => None,
                None => Some(kind.starts_with("rust") || rust && kind.is_empty()),
            };
        } else if inside == Some(true) {
            // Hidden lines are compiled too, but nobody copies them.
            let hidden = rust && (line == "#" || line.starts_with("# "));
            if !hidden {
                lines.push((number + 1, line.to_owned()));
            }
        }
    }
    lines
}

/// Whether a line names a crate: as the root of a path, not as a part of another one.
fn names(line: &str, krate: &str) -> bool {
    line.match_indices(krate).any(|(at, _)| {
        let part = |c: char| c.is_alphanumeric() || c == '_';
        let before = &line[..at];
        let after = &line[at + krate.len()..];
        let own = !before.ends_with("::") && !before.ends_with(part);
        own && after.starts_with("::") || own && before.ends_with("use ") && after.starts_with(';')
    })
}

/// The documentation tests compile this code with all that pe-candle depends on; here it is seen to name
/// nothing but what a user has after the one `cargo add` of the README.
#[test]
fn examples_need_no_crate_but_those_that_the_readme_adds() {
    let readme = root().join("README.md");
    let text = std::fs::read_to_string(&readme).unwrap();
    assert!(text.contains("cargo add pe-candle --path"));
    let others: Vec<String> = dependencies()
        .into_iter()
        .filter(|name| !ADDED.contains(&name.as_str()))
        .collect();
    assert!(others.contains(&"pe_core".to_owned()));
    let mut sources = vec![readme];
    files(&root().join("pe-candle/src"), ".rs", &mut sources);
    let (mut lines, mut faults) = (0, Vec::new());
    for path in sources {
        for (number, line) in code(&path) {
            lines += 1;
            // Tests of files make their folder so.
            for krate in others.iter().filter(|name| *name != "tempfile") {
                if names(&line, krate) {
                    faults.push(format!("{}:{number}: {krate}: {line}", path.display()));
                }
            }
        }
    }
    assert!(lines > 150, "{lines}");
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The same for the programs in pe-candle/examples.
#[test]
fn example_programs_need_no_other_crate_either() {
    let mut sources = Vec::new();
    files(&root().join("pe-candle/examples"), ".rs", &mut sources);
    assert!(!sources.is_empty());
    for path in sources {
        let text = std::fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            assert!(
                line.trim_start().starts_with("//") || !names(line, "pe_core"),
                "{}:{}: {line}",
                path.display(),
                number + 1
            );
        }
    }
}
