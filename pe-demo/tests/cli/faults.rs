//! Whatever goes wrong: the right exit code, one line, nothing half done.
//!
//! Each case runs the real program from a shell in one folder, the folder of [`Ground`], and leaves
//! that folder byte for byte as it was.

// What the cases share is outside of tests.
#![allow(clippy::expect_used, clippy::panic)]

mod ends;
mod ground;
mod inputs;
mod names;
mod numbers;
mod outputs;
mod surroundings;

use ground::Ground;

/// A case: a shell's command line in which `$pe` is the program, its exit code, and parts of what
/// is on standard error.
type Fault<'a> = (&'a str, i32, &'a [&'a str]);

/// Runs cases on one ground, each with backtraces asked for. Their number is a figure of DESIGN.md.
fn all<const COUNT: usize>(faults: &[Fault<'_>; COUNT]) {
    let ground = Ground::new();
    let before = ground.files();
    for (line, code, parts) in faults {
        let output = ground.shell(line);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = format!("{line}: {:?}: {error}", output.status);
        assert_eq!(output.status.code(), Some(*code), "{said}");
        for part in *parts {
            assert!(error.contains(part), "{part:?} is not in {said}");
        }
        let lines = error.lines().count();
        match code {
            1 => {
                assert!(lines == 1 && error.starts_with("pe-demo: "), "{said}");
                assert!(output.stdout.is_empty(), "{said}");
            }
            2 => {
                assert!(lines <= 9 && error.starts_with("error: "), "{said}");
                assert!(output.stdout.is_empty(), "{said}");
            }
            _ => assert!(lines <= 1, "{said}"),
        }
        for word in [
            "panicked",
            "RUST_BACKTRACE",
            "backtrace",
            "   0: ",
            "rayon-core",
        ] {
            assert!(!error.contains(word), "{said}");
        }
        let after = ground.files();
        let names: Vec<&String> = after.keys().collect();
        assert!(before == after, "{said} left {names:?}");
    }
}
