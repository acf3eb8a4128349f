//! Files given by `--config` that cannot be read, or not completely.

use super::{case, config_file};
use crate::refusals::refused;
use crate::util::{arg, run, run_error, run_usage};

#[test]
fn types_of_layers_must_be_known_and_the_message_lists_them() {
    for (model, options, words) in [
        (
            "gemma-3-27b-it|full",
            "--max-seq-len 3 --layer-type full",
            "--layer-type full is unknown; known: full_attention, sliding_attention",
        ),
        (
            "gemma-3-27b-it|full",
            "--max-seq-len 3",
            "--layer-type is needed: the model has frequencies for each of full_attention, \
             sliding_attention",
        ),
        (
            "Llama-3.1-8B",
            "--layer-type x",
            "--layer-type x: the model has one set",
        ),
        (
            "Llama-3.1-8B",
            "--start 131072",
            "--start 131072 is not below the model's max_position",
        ),
    ] {
        let (_guard, config) = config_file(&case(model).config);
        let line = format!(
            "export -o OUT --scheme rotary --config {} {options}",
            arg(&config)
        );
        let error = refused(&line, run_usage);
        assert!(error.starts_with(words), "{error}");
    }
}

/// What is wrong with a file is a failure, by `export --config` and by `inspect` alike.
#[test]
fn config_that_cannot_be_read_is_one_line_of_error() {
    let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(16 << 20));
    for (content, words) in [
        (
            "{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\", \"factor\": -1}}",
            "factor -1.0 is not a positive finite number",
        ),
        (&huge, "above the limit of 16777216 for a config.json"),
    ] {
        let (_guard, config) = config_file(content);
        let line = format!(
            "export -o OUT --scheme rotary --unknown-keys warn --max-seq-len 3 --config {}",
            arg(&config)
        );
        for error in [
            refused(&line, run_error),
            run_error(&format!("inspect {}", arg(&config))),
        ] {
            assert!(error.contains(words), "{error}");
            assert!(
                error.contains("config.json: ") && error.lines().count() == 1,
                "{error}"
            );
        }
    }
    let (guard, config) = config_file("");
    std::fs::write(&config, [b'{', 0xFF, b'}']).unwrap();
    assert!(run_error(&format!("inspect {}", arg(&config))).contains("the text is not UTF-8"));
    // A directory, whatever it is called, and nothing at all.
    let folder = guard.path().join("folder.json");
    std::fs::create_dir(&folder).unwrap();
    let absent = guard.path().join("absent.json");
    for (path, words) in [(&folder, "is a directory"), (&absent, "No such file")] {
        let path = arg(path);
        assert!(run_error(&format!("inspect {path}")).contains(words));
        let line = format!("export -o OUT --scheme rotary --config {path}");
        let error = refused(&line, run_error);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn keys_that_would_be_ignored_are_an_error_or_listed() {
    let (directory, config) = config_file(
        r#"{"model_type": "llama", "head_dim": 8, "rope_theta": 1e4, "rope_wobble": 3,
            "rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_fast": 32}}"#,
    );
    let options = format!("--scheme rotary --max-seq-len 3 --config {}", arg(&config));
    let error = refused(&format!("export -o OUT {options}"), run_error);
    for words in [
        "rope_scaling.beta_fast",
        "rope_wobble",
        "--unknown-keys warn goes on",
    ] {
        assert!(error.contains(words), "{error}");
    }
    let out = directory.path().join("rotary.safetensors");
    let out = arg(&out);
    let text = run(&format!("export -o {out} --unknown-keys warn {options}"));
    for words in ["ignored: rope_scaling.beta_fast", "ignored: rope_wobble"] {
        assert!(text.contains(words), "{text}");
    }
}
