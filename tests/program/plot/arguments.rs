//! The help of `plot`, and its smallest tables.

use super::FIGURES;
use crate::util::{arg, run, without_pictures};

#[test]
fn help_lists_every_figure_and_has_examples() {
    for help in [run("plot --help"), run("help plot")] {
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
        let help = run(&format!("{command} --help"));
        assert!(
            help.contains(&format!("Examples:\n  pe-demo {command}")),
            "{help}"
        );
        // No colors, whatever NO_COLOR says.
        assert!(!help.contains('\u{1b}'));
    }
}

#[test]
fn smallest_tables_can_be_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let out = arg(folder);
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
        run(&format!(
            "plot {name} -o {out} --max-seq-len 1 --d-model 2 --format svg"
        ));
        let svg = std::fs::read_to_string(folder.join(format!("{name}.svg"))).unwrap();
        let words = without_pictures(&svg);
        assert!(!words.contains("NaN") && !words.contains("inf"), "{name}");
    }
    for name in ["distances", "sse", "encoding-map", "binary", "rings"] {
        let last = "--start 4294967295 --max-seq-len 1 --format svg";
        run(&format!("plot {name} -o {out} {last}"));
    }
}
