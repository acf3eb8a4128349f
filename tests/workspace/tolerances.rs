//! The table of tolerances: every entry has a reason and a test that uses it, and no test compares with a literal.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns the sources of all tests by their paths.
fn tests() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = BTreeSet::new();
    for promise in ["exact", "layers", "files", "hub", "program"] {
        crate::index::files(&root.join(promise), root, &mut files);
    }
    let read = |file: String| (fs::read_to_string(root.join(&file)).unwrap(), file);
    let sources = files.into_iter().map(read);
    sources.map(|(text, file)| (file, text)).collect()
}

/// Returns whether a line compares with a small literal: `x < 1e-9`, `x <= 2.5e-16 * y`, `near(x, y, 1e-15)`.
fn compares(line: &str) -> bool {
    let number = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    line.match_indices("e-").any(|(at, _)| {
        let before = line[..at].trim_end_matches(number);
        let digits = before.len() < at && line[at + 2..].starts_with(|c: char| c.is_ascii_digit());
        let rest = line[at + 2..].trim_start_matches(number);
        let before = before.trim_end();
        let upper = before.ends_with('<') || before.ends_with("<=");
        digits && (upper || line.contains("near(") && rest.starts_with(')'))
    })
}

/// Returns whether a line is the last argument of a call, and a small literal.
fn ends_a_call(line: &str, next: &str) -> bool {
    let literal = line.trim().trim_end_matches(',');
    let small = literal.contains("e-") && literal.parse::<f64>().is_ok();
    small && next.trim_start().starts_with(')')
}

#[test]
fn tolerances_have_a_reason_and_a_test_that_uses_them() {
    let tests = tests();
    let table = include_str!("../kit/tolerance.rs");
    let (mut before, mut count) = ("", 0);
    for line in table.lines() {
        if let Some(rest) = line.strip_prefix("pub const ") {
            let (name, _) = rest.split_once(':').unwrap();
            assert!(before.starts_with("/// "), "{name} has no reason");
            let used = |(_, text): &(String, String)| {
                let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
                words.any(|word| word == name)
            };
            assert!(tests.iter().any(used), "no test uses {name}");
            count += 1;
        }
        before = line;
    }
    assert!(count > 70, "{count}");
}

#[test]
fn tolerances_are_in_the_table() {
    let mut literals = Vec::new();
    for (file, text) in tests() {
        let next = text.lines().skip(1).chain([""]);
        for (number, (line, next)) in text.lines().zip(next).enumerate() {
            if compares(line) || ends_a_call(line, next) {
                literals.push(format!("{file}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(
        literals.is_empty(),
        "not in kit/tolerance.rs: {literals:#?}"
    );
}

#[test]
fn comparisons_with_literals_are_found() {
    for line in [
        "(a - b).abs() < 1e-9",
        "x <= 2.5e-16 * y",
        "assert_near(x, y, 4e-16);",
    ] {
        assert!(compares(line), "{line}");
    }
    assert!(ends_a_call("    1e-15,", ");") && !ends_a_call("    1e-15,", "    2e-15,"));
    for line in [
        "p < 1e9",
        "let h = 1e-5;",
        "\"rms_norm_eps\": 1e-6",
        "near(x, 1e-4, LIMIT)",
        "x < LIMIT",
    ] {
        assert!(!compares(line), "{line}");
    }
}
