//! What `plot` refuses, and what its help says.

use super::FIGURES;
use crate::util::{arg, run, run_usage, without_pictures};

#[test]
fn the_help_lists_every_figure_and_has_examples() {
    for help in [run(&["plot", "--help"]), run(&["help", "plot"])] {
        for name in FIGURES {
            assert!(help.contains(&format!("\n  {name} ")), "{name}");
        }
        assert!(help.contains("Examples:\n  pe-demo plot"), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 80),
            "{help}"
        );
    }
    for command in ["export", "inspect", "report"] {
        let help = run(&[command, "--help"]);
        assert!(
            help.contains(&format!("Examples:\n  pe-demo {command}")),
            "{help}"
        );
        // No colors, whatever NO_COLOR says.
        assert!(!help.contains('\u{1b}'));
    }
}

#[test]
fn arguments_without_sense_are_bad_usage_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for (args, words) in [
        (
            &["nothing"][..],
            "invalid value 'nothing' for '[FIGURE]...'",
        ),
        (&["--format", "bmp"], "invalid value 'bmp' for '--format"),
        (&["--data", "xml"], "invalid value 'xml' for '--data"),
        (
            &["sse", "--d-model", "0"],
            "invalid value '0' for '--d-model",
        ),
        (
            &["sse", "--d-model", "-4"],
            "invalid value '-4' for '--d-model",
        ),
        (
            &["sse", "--max-seq-len", "0"],
            "invalid value '0' for '--max-seq-len",
        ),
        (&["sse", "--base", "-1"], "invalid value '-1' for '--base"),
        (&["sse", "--base", "nan"], "invalid value 'nan' for '--base"),
        (
            &["sse", "--d-model", "7"],
            "--d-model 7 is odd, and figures show whole pairs of columns",
        ),
        (
            &["sse", "--start", "4294967290"],
            "--start 4294967290 and --max-seq-len 50 ask for positions 4294967290..4294967340, \
             which run past 4294967296",
        ),
        (
            &["binary", "--base", "7"],
            "--base changes nothing in binary",
        ),
        (
            &["angle-rates", "--start", "7"],
            "--start changes nothing in angle-rates",
        ),
        (
            &["dimensions", "--d-model", "6"],
            "--d-model 6 is too narrow for dimensions, which shows column 7",
        ),
        (
            &["shifted-map", "--max-seq-len", "10"],
            "--max-seq-len 10 is too short for shifted-map, which goes back 10 positions",
        ),
        (&["sse", "--base", "1e-300"], "--base and --d-model: "),
    ] {
        let args = [&["plot", "-o", arg(&out)], args].concat();
        let error = run_usage(&args);
        assert!(error.starts_with(words), "{args:?}: {error}");
    }
    assert!(!out.exists());
}

#[test]
fn the_smallest_tables_can_be_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let one = ["--max-seq-len", "1", "--d-model", "2", "--format", "svg"];
    for name in [
        "angle-map",
        "encoding-map",
        "dot-product",
        "sse",
        "sinusoids",
        "encoding-matrix",
        "transposed",
        "transposed-corner",
        "tiles",
        "distances",
        "inverted-map",
        "rings",
    ] {
        run(&[&["plot", name, "-o", arg(folder.path())], &one[..]].concat());
        let svg = std::fs::read_to_string(folder.path().join(format!("{name}.svg"))).unwrap();
        let words = without_pictures(&svg);
        assert!(!words.contains("NaN") && !words.contains("inf"), "{name}");
    }
    let last = [
        "--start",
        "4294967295",
        "--max-seq-len",
        "1",
        "--format",
        "svg",
    ];
    for name in ["distances", "sse", "encoding-map", "binary", "rings"] {
        run(&[&["plot", name, "-o", arg(folder.path())], &last[..]].concat());
    }
}
