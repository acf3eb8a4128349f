//! Names of tests begin with their subject.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// First words that are not a subject: articles, pronouns, prepositions, conjunctions, negations.
const NO_SUBJECT: &str = "a an the it there this that these what which who how when where why with without in on of \
    for from to as by at if only no not never and or but is are does can should test tests";

/// Returns the names of the functions below `#[test]`.
fn names(source: &str) -> impl Iterator<Item = &str> {
    let below = source.split("#[test]").skip(1);
    below.filter_map(|rest| rest.split_once("fn ")?.1.split('(').next())
}

#[test]
fn names_begin_with_their_subject() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = BTreeSet::new();
    for folder in ["pe-core/src", "pe-candle/src", "pe-demo", "tests"] {
        crate::index::files(&root.join(folder), root, &mut files);
    }
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in files.iter().filter(|file| !file.contains("/target/")) {
        let source = fs::read_to_string(root.join(file)).unwrap();
        for name in names(&source) {
            let first = name.split('_').next().unwrap();
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            count += usize::from(is_name);
            if is_name && NO_SUBJECT.split_whitespace().any(|word| word == first) {
                wrong.push(format!("{file}: {name}"));
            }
        }
    }
    assert!(count > 500, "{count}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
