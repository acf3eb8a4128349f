//! The rotary figures against the golden frequencies of released models.

use pe_tests::rotary::cases;

use super::{fact, floats, numbers};
use crate::util::{arg, run_error, run_usage};

/// Built-in curve, and the model of `golden/rotary.json` that it stands for.
const KNOWN: [(&str, &str, f64); 3] = [
    ("Llama 2", "Llama-2-7b", 4096.0),
    ("Llama 3.1", "Llama-3.1-8B", 8192.0),
    (
        "Qwen2.5 with YaRN",
        "Qwen2.5-7B-Instruct with yarn",
        32768.0,
    ),
];

#[test]
fn known_models_have_the_nearest_frequencies() {
    let cases = cases();
    let (rates, waves) = (
        numbers("rotary-frequencies", &[]),
        numbers("rotary-wavelengths", &[]),
    );
    for (index, (name, model, trained)) in KNOWN.into_iter().enumerate() {
        let exact = cases.iter().find(|case| case.name == format!("{model}||"));
        let exact = &exact.unwrap().inv_freq_exact;
        let curve = &rates["panels"][0]["curves"][index];
        assert_eq!(curve["name"], name);
        assert_eq!(&floats(&curve["y"]), exact, "{name}");
        let shares = floats(&waves["panels"][0]["curves"][index]["y"]);
        for (share, rate) in shares.iter().zip(exact) {
            let expected = std::f64::consts::TAU / rate / trained;
            assert!(
                (share / expected - 1.0).abs() < 1e-15,
                "{name}: {share} {expected}"
            );
        }
        let above = shares.iter().filter(|share| **share > 1.0).count();
        let length = format!("{},{:03}", trained as u64 / 1000, trained as u64 % 1000);
        let what = format!("{name}: pairs of 64 with a wavelength above {length}");
        assert_eq!(fact(&waves, &what), above as f64);
    }
    let guide = &waves["panels"][0]["curves"][3];
    assert_eq!(guide["name"], "trained length");
    assert_eq!(floats(&guide["y"]), [1.0, 1.0]);
}

#[test]
fn files_of_models_are_drawn_over_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let all = cases();
    let mut options = Vec::new();
    for (model, file) in [
        ("Llama-3.1-8B||", "llama/config.json"),
        ("gemma-3-27b-it|full_attention|", "gemma.json"),
    ] {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let case = all.iter().find(|case| case.name == model).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&case.config).unwrap();
        if model.starts_with("gemma") {
            config["text_config"]["max_position_embeddings"] = 131_072.into();
        }
        std::fs::write(&path, config.to_string()).unwrap();
        options.extend(["--config".to_owned(), arg(&path).to_owned()]);
    }
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    let figure = numbers("rotary-frequencies", &options);
    let curves = figure["panels"][0]["curves"].as_array().unwrap();
    let names: Vec<&str> = curves.iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["llama", "gemma, full_attention", "gemma, sliding_attention"]
    );
    for (curve, model) in curves.iter().zip([
        "Llama-3.1-8B||",
        "gemma-3-27b-it|full_attention|",
        "gemma-3-27b-it|sliding_attention|",
    ]) {
        let case = all.iter().find(|case| case.name == model).unwrap();
        assert_eq!(floats(&curve["y"]), case.inv_freq_exact, "{model}");
    }
}

#[test]
fn files_that_are_none_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    let out = folder.path().join("out");
    let args = [
        "plot",
        "rotary-frequencies",
        "--config",
        arg(&path),
        "-o",
        arg(&out),
    ];
    assert!(run_error(&args).contains("config.json"));
    std::fs::write(&path, "[]").unwrap();
    assert!(run_error(&args).contains("config.json"));
    std::fs::write(&path, vec![b' '; (16 << 20) + 1]).unwrap();
    assert!(run_error(&args).contains("16777217 bytes"));
    assert!(!out.exists());
    let error = run_usage(&["plot", "sse", "--config", arg(&path)]);
    assert_eq!(error, "--config changes nothing in sse");
}
