//! The table of tolerances: every entry has a reason and a test that uses it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_tolerance_has_a_reason_and_is_used() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeSet::new();
    for promise in ["exact", "layers", "files", "hub", "program"] {
        crate::index::files(&root.join(promise), root, &mut files);
    }
    let tests: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(root.join(file)).unwrap())
        .collect();
    let table = fs::read_to_string(root.join("kit/tolerance.rs")).unwrap();
    let (mut before, mut count) = ("", 0);
    for line in table.lines() {
        if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, _) = rest.split_once(':').unwrap();
            assert!(before.starts_with("/// "), "{name} has no reason");
            let used = |text: &String| {
                let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                words.any(|word| word == name)
            };
            assert!(tests.iter().any(used), "no test uses {name}");
            count += 1;
        }
        before = line;
    }
    assert!(count > 20, "{count}");
}
