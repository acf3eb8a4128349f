//! The rotary figures against the golden frequencies of released models.

use std::path::Path;

use pe_tests::rotary::cases;
use serde_json::Value;

use super::{fact, floats, numbers};
use crate::tolerance;
use crate::util::{arg, run_error, run_usage};

/// Built-in curve, the model of `golden/rotary.json` that it means, and its lengths.
const KNOWN: [(&str, &str, &[&str]); 3] = [
    ("Llama 2", "Llama-2-7b", &["4,096"]),
    ("Llama 3.1", "Llama-3.1-8B", &["8,192", "131,072"]),
    (
        "Qwen2.5 with YaRN",
        "Qwen2.5-7B-Instruct with yarn",
        &["32,768", "131,072"],
    ),
];

/// The config.json of a golden model in a folder, changed.
fn config(folder: &Path, file: &str, model: &str, change: impl Fn(&mut Value)) -> String {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let case = cases()
        .into_iter()
        .find(|case| case.name.starts_with(model));
    let mut config: Value = serde_json::from_str(&case.unwrap().config).unwrap();
    change(&mut config);
    std::fs::write(&path, config.to_string()).unwrap();
    arg(&path).to_owned()
}

fn names(figure: &Value) -> Vec<&str> {
    let curves = figure["panels"][0]["curves"].as_array().unwrap();
    curves.iter().map(|c| c["name"].as_str().unwrap()).collect()
}

#[test]
fn known_models_have_the_nearest_frequencies() {
    let cases = cases();
    let (rates, waves) = (
        numbers("rotary-frequencies", ""),
        numbers("rotary-wavelengths", ""),
    );
    for (index, (name, model, lengths)) in KNOWN.into_iter().enumerate() {
        let exact = cases.iter().find(|case| case.name == format!("{model}||"));
        let exact = &exact.unwrap().inv_freq_exact;
        let curve = &rates["panels"][0]["curves"][index];
        assert_eq!(curve["name"], name);
        assert_eq!(&floats(&curve["y"]), exact, "{name}");
        let found = floats(&waves["panels"][0]["curves"][index]["y"]);
        for (wave, rate) in found.iter().zip(exact) {
            let expected = std::f64::consts::TAU / rate;
            assert!(
                (wave / expected - 1.0).abs() < tolerance::WAVELENGTH_RATIO,
                "{name}: {wave} {expected}"
            );
        }
        for length in lengths {
            let positions: f64 = length.replace(',', "").parse().unwrap();
            let above = found.iter().filter(|wave| **wave > positions).count();
            let which = if lengths.len() > 1 { "a scaled" } else { "a" };
            let what = format!("{name}: pairs of 64 with {which} wavelength above {length}");
            assert_eq!(fact(&waves, &what), above as f64);
        }
    }
    // The first training had the unscaled frequencies.
    for (index, name, base, length, pairs) in [
        (3, "Llama 3.1", 5e5, 8192.0, 29.0),
        (4, "Qwen2.5 with YaRN", 1e6, 32_768.0, 24.0),
    ] {
        let found = floats(&waves["panels"][0]["curves"][index]["y"]);
        for (pair, wave) in found.iter().enumerate() {
            #[expect(clippy::disallowed_methods, reason = "compared within a tolerance")]
            let expected = std::f64::consts::TAU * f64::powf(base, pair as f64 / 64.0);
            assert!(
                (wave / expected - 1.0).abs() < tolerance::WAVELENGTH_POWER,
                "{name}: {wave}"
            );
        }
        let above = found.iter().filter(|wave| **wave > length).count();
        assert_eq!(above as f64, pairs);
        let length = if index == 3 { "8,192" } else { "32,768" };
        let what = format!("{name}: pairs of 64 with an unscaled wavelength above {length}");
        assert_eq!(fact(&waves, &what), pairs);
    }
    // The scaled curve against both lengths.
    for (length, pairs) in [("8,192", 32.0), ("131,072", 25.0)] {
        let what = format!("Llama 3.1: pairs of 64 with a scaled wavelength above {length}");
        assert_eq!(fact(&waves, &what), pairs);
    }
    assert_eq!(
        names(&waves)[3..],
        [
            "Llama 3.1 before scaling",
            "Qwen2.5 with YaRN before scaling",
            "4,096: Llama 2",
            "8,192: Llama 3.1 before scaling",
            "32,768: Qwen2.5 with YaRN before scaling",
            "131,072: Llama 3.1, Qwen2.5 with YaRN after scaling",
        ]
    );
    let level = &waves["panels"][0]["curves"][6];
    assert_eq!(
        (floats(&level["x"]), floats(&level["y"])),
        (vec![0.0, 63.0], vec![8192.0; 2])
    );
}

#[test]
fn files_of_models_are_drawn_over_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let same = |_: &mut Value| {};
    let llama = config(folder.path(), "llama/config.json", "Llama-3.1-8B|", same);
    // It states no max_position_embeddings.
    let gemma = config(folder.path(), "gemma.json", "gemma-3-27b-it|", same);
    let options = &format!("--config {llama} --config {gemma}");
    let figure = numbers("rotary-frequencies", options);
    let expected = ["llama", "gemma, full_attention", "gemma, sliding_attention"];
    assert_eq!(names(&figure), expected);
    let all = cases();
    let curves = figure["panels"][0]["curves"].as_array().unwrap();
    for (curve, model) in curves.iter().zip([
        "Llama-3.1-8B||",
        "gemma-3-27b-it|full_attention|",
        "gemma-3-27b-it|sliding_attention|",
    ]) {
        let case = all.iter().find(|case| case.name == model).unwrap();
        assert_eq!(floats(&curve["y"]), case.inv_freq_exact, "{model}");
    }
    // Its wavelengths are drawn without a length, and none is invented.
    let waves = numbers("rotary-wavelengths", options);
    assert_eq!(names(&waves)[..3], expected);
    assert_eq!(
        names(&waves)[3..],
        [
            "llama before scaling",
            "8,192: llama before scaling",
            "131,072: llama after scaling"
        ]
    );
    let slowest = floats(&curves[1]["y"])[63];
    let longest = fact(
        &waves,
        "gemma, full_attention: longest wavelength; no length stated",
    );
    assert!((longest * slowest / std::f64::consts::TAU - 1.0).abs() < tolerance::WAVELENGTH_RATIO);
}

/// LongRoPE has one set of frequencies for sequences of the trained length and one for longer ones.
#[test]
fn longrope_sets_are_both_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let phi = config(folder.path(), "phi.json", "Phi-3.5-mini-instruct|", |_| {});
    let options = &format!("--config {phi}");
    let sets = ["phi, up to 4,096", "phi, longer"];
    let rates = numbers("rotary-frequencies", options);
    assert_eq!(names(&rates), sets);
    let all = cases();
    let curves = rates["panels"][0]["curves"].as_array().unwrap();
    for (curve, length) in curves.iter().zip([4096, 131_072]) {
        let name = format!("Phi-3.5-mini-instruct||{length}");
        let case = all.iter().find(|case| case.name == name).unwrap();
        assert_eq!(floats(&curve["y"]), case.inv_freq_exact, "{length}");
    }
    let waves = numbers("rotary-wavelengths", options);
    assert_eq!(
        names(&waves),
        [
            "phi, up to 4,096",
            "phi, longer",
            "phi before scaling",
            "4,096: phi before scaling",
            "131,072: phi after scaling",
        ]
    );
}

#[test]
fn files_that_are_none_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    let out = folder.path().join("out");
    let (config, folder) = (arg(&path), arg(&out));
    let args = format!("plot rotary-frequencies --config {config} -o {folder}");
    assert!(run_error(&args).contains("config.json"));
    std::fs::write(&path, "[]").unwrap();
    assert!(run_error(&args).contains("config.json"));
    std::fs::write(&path, vec![b' '; (16 << 20) + 1]).unwrap();
    assert!(run_error(&args).contains("16777217 bytes"));
    assert!(!out.exists());
    let error = run_usage(&format!("plot sse --config {}", arg(&path)));
    assert_eq!(error, "--config changes nothing in sse");
}
