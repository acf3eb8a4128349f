//! `pe-demo inspect` reports the contents of a file, and whether they are right.

use std::collections::HashMap;

use candle_core::{DType, Device, Tensor};
use pe_demo::Outcome;
use serde_json::Value;

use crate::util::{arg, file, run, run_error, run_json, run_with};

#[test]
fn exported_tables_are_verified() {
    let (_guard, path) = file("pe.safetensors");
    for options in [
        "--dtype f32",
        "--dtype f64 --preset tf-notebook",
        "--dtype f16 --start 4294967200",
        "--dtype bf16 --recipe exp-f32",
        "--preset fairseq",
    ] {
        let path = arg(&path);
        run(&format!(
            "export --d-model 32 --max-seq-len 64 -o {path} {options}"
        ));
        let out = run(&format!("inspect {path}"));
        assert!(out.contains("right: all 2,048 entries"), "{out}");
        let report = run_json(&format!("inspect {path}"));
        assert_eq!(report["table"]["status"], "right");
        assert_eq!(report["table"]["wrong"], 0);
        assert_eq!(report["tensors"][0]["name"], "pe");
        assert_eq!(report["tensors"][0]["shape"], serde_json::json!([64, 32]));
    }
}

#[test]
fn wrong_entries_are_counted_and_the_first_is_named() {
    let (_guard, path) = file("pe.safetensors");
    run(&format!(
        "export --d-model 8 --max-seq-len 10 --start 5 -o {}",
        arg(&path)
    ));
    let mut bytes = std::fs::read(&path).unwrap();
    let data = bytes.len() - 8 * 10 * 4;
    for (row, column) in [(2, 3), (7, 0)] {
        bytes[data + (row * 8 + column) * 4] ^= 1; // one unit in the last place
    }
    std::fs::write(&path, bytes).unwrap();

    let text = run_with(&format!("inspect {}", arg(&path)), "");
    assert_eq!((text.outcome, text.err.as_str()), (Outcome::Failure, ""));
    assert!(
        text.out.contains("wrong: 2 of 80 entries differ"),
        "{}",
        text.out
    );
    let json = run_with(&format!("inspect --json {}", arg(&path)), "");
    assert_eq!(json.outcome, Outcome::Failure);
    let report: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(report["table"]["status"], "wrong");
    assert_eq!(report["table"]["wrong"], 2);
    let first = &report["table"]["first_wrong"];
    assert_eq!((&first["row"], &first["column"]), (&2.into(), &3.into()));
    assert_eq!(first["position"], 7);
    assert_ne!(first["found"], first["expected"]);
}

#[test]
fn files_of_others_are_shown_too() {
    let (_guard, path) = file("weights.safetensors");
    let tensors = HashMap::from([
        (
            "a.weight",
            Tensor::zeros((2, 3), DType::F32, &Device::Cpu).unwrap(),
        ),
        (
            "b.\u{1b}[31m",
            Tensor::zeros(5, DType::U8, &Device::Cpu).unwrap(),
        ),
    ]);
    candle_core::safetensors::save(&tensors, &path).unwrap();
    let out = run(&format!("inspect {}", arg(&path)));
    assert!(
        out.contains("2 tensors") && out.contains("a.weight"),
        "{out}"
    );
    assert!(out.contains("no specification of a positional encoding"));
    assert!(!out.contains('\u{1b}'));
    let report = run_json(&format!("inspect {}", arg(&path)));
    assert_eq!(report["table"]["status"], "no specification");
    assert_eq!(report["tensors"].as_array().unwrap().len(), 2);
}

#[test]
fn specification_that_does_not_fit_is_a_failure() {
    let (_guard, path) = file("pe.safetensors");
    run(&format!(
        "export --d-model 8 --max-seq-len 10 -o {}",
        arg(&path)
    ));
    let mut bytes = std::fs::read(&path).unwrap();
    // The specification's `"rows":10`, inside a string of the header.
    let rows = br#"rows\":10"#;
    let at = bytes.windows(rows.len()).position(|window| window == rows);
    bytes[at.unwrap() + rows.len() - 2] = b'2';
    std::fs::write(&path, bytes).unwrap();
    let run = run_with(&format!("inspect {}", arg(&path)), "");
    assert_eq!(run.outcome, Outcome::Failure);
    assert!(
        run.out.contains("the table cannot be checked"),
        "{}",
        run.out
    );
}

#[test]
fn files_of_another_kind_are_one_line_of_error() {
    let (_guard, path) = file("noise.safetensors");
    std::fs::write(&path, b"noise").unwrap();
    assert!(run_error(&format!("inspect {}", arg(&path))).contains("noise.safetensors"));
    let absent = path.with_file_name("absent");
    assert_eq!(
        run_error(&format!("inspect {}", arg(&absent)))
            .lines()
            .count(),
        1
    );
}

#[test]
fn wrong_bias_is_named_by_distance_and_head() {
    let (_guard, path) = file("alibi.safetensors");
    let options = "--scheme alibi --heads 4 --max-seq-len 10 --start 5";
    run(&format!("export {options} -o {}", arg(&path)));
    let mut bytes = std::fs::read(&path).unwrap();
    let data = bytes.len() - 4 * (4 * 10 + 4); // the biases, then the slopes
    bytes[data + (2 * 4 + 3) * 4] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let text = run_with(&format!("inspect {}", arg(&path)), "");
    assert_eq!(text.outcome, Outcome::Failure);
    let place = "the first is bias, row 2, head 3 (distance 7)";
    let flat = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(place), "{flat}");
    let json = run_with(&format!("inspect --json {}", arg(&path)), "");
    let report: Value = serde_json::from_str(&json.out).unwrap();
    let first = &report["table"]["first_wrong"];
    assert_eq!(
        (&first["tensor"], &first["column"]),
        (&"bias".into(), &3.into())
    );
    assert_eq!((&first["row"], &first["position"]), (&2.into(), &7.into()));
}
