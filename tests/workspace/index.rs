//! The index of the tests: every file of a promise has its row in README.md, and every row its files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Collects the Rust files below a folder by their paths from `tests`.
pub(crate) fn files(folder: &Path, root: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, root, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            found.insert(name.replace('\\', "/"));
        }
    }
}

#[test]
fn index_names_every_test_file_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for promise in ["exact", "layers", "files", "hub", "program", "workspace"] {
        files(&root.join(promise), root, &mut found);
    }
    found.retain(|file| !file.ends_with("main.rs") && !file.ends_with("mod.rs"));
    let text = fs::read_to_string(root.join("README.md")).unwrap();
    let named = text.split('`').skip(1).step_by(2);
    let named: BTreeSet<String> = named
        .filter(|name| name.ends_with(".rs"))
        .map(str::to_owned)
        .collect();
    let missing: Vec<_> = found.difference(&named).collect();
    let gone: Vec<_> = named.difference(&found).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "not in README.md: {missing:?}; gone: {gone:?}"
    );
}
