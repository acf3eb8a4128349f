//! Failures: the right exit code, one line, nothing partly written.
//!
//! Each case runs the real program from a shell in one folder, the folder of [`Ground`], and leaves
//! that folder byte for byte as it was.

// What the cases share is outside of tests.
#![allow(clippy::expect_used, clippy::panic)]

mod ends;
mod ground;
mod inputs;
mod names;

use ground::{Files, Ground};

const TABLE: &str = include_str!("faults/faults.txt");

/// Returns the two sides of each case below a heading.
fn cases(heading: &str) -> Vec<(&'static str, &'static str)> {
    let (_, rest) = TABLE
        .split_once(&format!("\n## {heading}\n"))
        .expect("a heading");
    rest.lines()
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .map(|line| line.split_once(" => ").expect("an arrow"))
        .collect()
}

/// Runs a command line, with backtraces asked for, and checks what every failure has in common.
fn fails(ground: &Ground, before: &Files, line: &str, code: i32, parts: &str) {
    let line = match line.contains("$pe") {
        true => line,
        false => &format!("exec $pe {line}"),
    };
    let output = ground.shell(line);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = format!("{line}: {:?}: {error}", output.status);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for part in parts.split('…') {
        assert!(error.contains(part), "{part:?} is not in {said}");
    }
    let (start, most) = [("", 1), ("pe-demo: ", 1), ("error: ", 9)][code as usize];
    let lines = error.lines().count();
    assert!(lines <= most && error.starts_with(start), "{said}");
    assert!(code == 0 || output.stdout.is_empty(), "{said}");
    for word in ["panicked", "backtrace", "BACKTRACE", "   0: ", "rayon-core"] {
        assert!(!error.contains(word), "{said}");
    }
    let after = ground.files();
    assert!(*before == after, "{said} left {:?}", after.keys());
}

/// Runs the cases of a heading. Their number is a figure of DESIGN.md.
fn all(heading: &str, count: usize) {
    let (ground, cases) = (Ground::new(), cases(heading));
    let before = ground.files();
    assert_eq!(cases.len(), count);
    for (line, right) in cases {
        let (code, parts) = right.split_once(' ').unwrap_or((right, ""));
        fails(
            &ground,
            &before,
            line,
            code.parse().expect("an exit code"),
            parts,
        );
    }
}

macro_rules! headings {
    ($($(#[$when:meta])* $heading:ident $count:literal)+) => {
        $($(#[$when])* #[test] fn $heading() { all(stringify!($heading), $count); })+

        #[test]
        fn every_heading_has_its_test() {
            let headings: Vec<_> = TABLE.lines().filter_map(|line| line.strip_prefix("## ")).collect();
            let tests = [$(stringify!($heading)),+];
            let is_run = |heading: &str| tests.contains(&heading) || heading == NUMBERS;
            assert!(headings.iter().all(|heading| is_run(heading)), "{headings:?}");
        }
    };
}

headings! {
    inputs_that_are_missing_or_not_files 32
    weights_tables_and_tokenizers_that_are_malformed 26
    configs_that_are_malformed 12
    standard_input_of_any_kind 10
    outputs_beyond_the_limit_of_the_process_leave_the_old_files 16
    outputs_replace_files_alone 20
    inputs_are_not_overwritten 14
    numbers_that_contradict_each_other_or_ask_for_too_much 17
    environments_of_any_kind 17
    #[cfg(feature = "hub")]
    repositories_that_are_not_available 11
    options_without_the_option_that_they_need 9
    words_that_are_unknown_with_the_known_ones 20
}

const NUMBERS: &str = "numbers_outside_what_an_option_accepts";

#[test]
fn numbers_outside_what_an_option_accepts_are_named_with_it() {
    let ground = Ground::new();
    let before = ground.files();
    let mut count = 0;
    for (line, values) in cases(NUMBERS) {
        let option = line.rsplit(' ').next().expect("an option");
        for value in values.split(' ') {
            let line = format!("ulimit -v 400000; exec $pe {line}={value}");
            fails(&ground, &before, &line, 2, option);
            count += 1;
        }
    }
    assert_eq!(count, 107);
}
