//! Rejected command lines, `refusals.txt`: the exit code, the words of the message, and nothing written.

use std::path::Path;

use pe_tests::table::{Row, matches, rows};

use crate::util::{arg, file, run_error, run_usage, run_with};

/// Returns the cases of a kind with the beginning of their command lines.
fn cases(kind: &str) -> Vec<(String, Row<'static>)> {
    let rows = rows(include_str!("refusals.txt"));
    let of_kind = |row: Row<'static>| {
        let (found, line) = row.heading.split_once(' ').unwrap_or((row.heading, ""));
        let space = if line.is_empty() { "" } else { " " };
        (found == kind).then(|| (format!("{line}{space}"), row))
    };
    rows.into_iter().filter_map(of_kind).collect()
}

/// Runs a command line over the file `OUT`, which must keep its content, and `NEW`, which must not appear.
pub fn refused(line: &str, run: fn(&str) -> String) -> String {
    let (guard, path) = file("out.safetensors");
    std::fs::write(&path, "precious").unwrap();
    let new = guard.path().join("new");
    let line = line.replace("OUT", arg(&path)).replace("NEW", arg(&new));
    let error = run(&line);
    assert_eq!(std::fs::read(&path).unwrap(), b"precious", "{line}");
    assert!(!new.exists(), "{line}");
    error
}

/// Returns the complete message, with the reason after the value.
fn usage(line: &str) -> String {
    run_usage(line);
    run_with(line, "").err
}

#[test]
fn values_that_are_wrong_in_themselves_are_bad_usage() {
    let mut count = 0;
    for (line, row) in cases("values") {
        let (option, values) = row.left.split_once(' ').unwrap();
        for value in values.split(' ') {
            let error = refused(&format!("{line}{option} {value}"), usage);
            let value = value.trim_matches('\'');
            let words = format!("error: invalid value '{value}' for '{option}");
            let rest = error.strip_prefix(&words);
            assert!(
                rest.is_some_and(|rest| matches(rest, row.right)),
                "{line}{}: {error}",
                row.left
            );
            count += 1;
        }
    }
    assert_eq!(count, 121);
    assert!(!Path::new("-").exists());
}

#[test]
fn values_that_are_wrong_together_are_bad_usage_in_the_options_words() {
    let cases = cases("lines");
    for (line, row) in &cases {
        let line = line.clone() + row.left;
        let error = refused(&line, run_usage);
        assert!(matches(&error, row.right), "{line}: {error}");
    }
    assert_eq!(cases.len(), 102);
}

/// What cannot be known before the options are read is a failure and not bad usage.
#[test]
fn sizes_that_are_too_large_are_a_failure_before_the_file_is_touched() {
    let cases = cases("sizes");
    for (_, row) in &cases {
        let error = refused(row.left, run_error);
        assert!(
            matches(error.trim_end(), row.right),
            "{}: {error}",
            row.left
        );
    }
    assert_eq!(cases.len(), 6);
}
