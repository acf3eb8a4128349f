//! What is refused, with which exit code, in which words.

use super::{case, config_file};
use crate::util::{arg, file, run_error, run_usage};

/// Exports with options over a file that must stay as it is.
fn refused(options: &[&str], run: fn(&[&str]) -> String) -> String {
    let (_guard, path) = file("rotary.safetensors");
    std::fs::write(&path, "precious").unwrap();
    let error = run(&[&["export", "-o", arg(&path)], options].concat());
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    error
}

#[test]
fn options_of_the_other_scheme_are_named() {
    for (options, words) in [
        (
            &[
                "--scheme",
                "rotary",
                "--head-dim",
                "8",
                "--base",
                "3",
                "--layout",
                "interleaved",
            ][..],
            "not with --scheme rotary: --base, --layout (of --scheme sinusoidal)",
        ),
        (
            &[
                "--scheme",
                "rotary",
                "--d-model",
                "8",
                "--preset",
                "whisper",
            ],
            "not with --scheme rotary: --d-model, --preset (of --scheme sinusoidal)",
        ),
        (
            &[
                "--scheme",
                "rotary",
                "--min-rate",
                "1",
                "--spacing",
                "paper",
                "--odd-width",
                "reject",
            ],
            "not with --scheme rotary: --min-rate, --spacing, --odd-width (of --scheme sinusoidal)",
        ),
        (
            &[
                "--d-model",
                "8",
                "--max-seq-len",
                "3",
                "--theta",
                "3",
                "--scaling",
                "default",
            ],
            "not with --scheme sinusoidal: --theta, --scaling (of --scheme rotary)",
        ),
        (
            &[
                "--d-model",
                "8",
                "--max-seq-len",
                "3",
                "--head-dim",
                "8",
                "--rotary-dim",
                "4",
                "--seq-len",
                "3",
            ],
            "not with --scheme sinusoidal: --head-dim, --rotary-dim, --seq-len (of --scheme rotary)",
        ),
        (
            &[
                "--d-model",
                "8",
                "--max-seq-len",
                "3",
                "--config",
                "x",
                "--layer-type",
                "y",
                "--unknown-keys",
                "warn",
            ],
            "not with --scheme sinusoidal: --config, --layer-type, --unknown-keys (of --scheme \
             rotary)",
        ),
        (
            &["--d-model", "8", "--max-seq-len", "3", "--recipe", "hf-f32"],
            "--recipe hf-f32 is of --scheme rotary",
        ),
        (
            &[
                "--scheme",
                "rotary",
                "--head-dim",
                "8",
                "--max-seq-len",
                "3",
                "--recipe",
                "exp-f32",
            ],
            "--recipe exp-f32 and pow-f32 are of --scheme sinusoidal",
        ),
        (
            &["--scheme", "rotary", "--config", "x", "--head-dim", "8"],
            "the argument '--config <FILE>' cannot be used with '--head-dim <N>'",
        ),
        (
            &["--scheme", "rotary"],
            "--scheme rotary needs --config or --head-dim",
        ),
        (
            &["--scheme", "sinusoidal", "--max-seq-len", "3"],
            "the following required arguments were not provided:",
        ),
        (
            &["--max-seq-len", "3"],
            "the following required arguments were not provided:",
        ),
        (
            &["--d-model", "3"],
            "the following required arguments were not provided:",
        ),
    ] {
        assert!(
            refused(options, run_usage).starts_with(words),
            "{options:?}"
        );
    }
}

#[test]
fn values_that_are_wrong_in_themselves_are_bad_usage() {
    for (option, value, why) in [
        ("--head-dim", "0", "not a whole number from 2"),
        ("--head-dim", "-8", "not a whole number"),
        ("--head-dim", "1048577", "not a whole number"),
        ("--rotary-dim", "1", "not a whole number"),
        ("--theta", "0", "not a positive finite number"),
        ("--theta", "-1", "not a positive finite number"),
        ("--theta", "nan", "not a positive finite number"),
        ("--seq-len", "0", "not a whole number"),
        ("--seq-len", "4294967297", "not a whole number"),
        ("--config", "-", "standard input is not supported"),
        ("--scaling", "", "no type before the keys"),
        ("--scaling", ":factor=3", "no type before the keys"),
        ("--scaling", "linear:factor", "\"factor\" is not KEY=VALUE"),
        ("--scaling", "linear:factor=", "factor= is not a number"),
        (
            "--scaling",
            "linear:factor=four",
            "factor=four is not a number",
        ),
        (
            "--scaling",
            "linear:factor=nan",
            "factor=nan is not a number",
        ),
        (
            "--scaling",
            "linear:factor=1e999",
            "factor=1e999 is not a number",
        ),
        (
            "--scaling",
            "linear:factor=4,factor=5",
            "factor is given twice",
        ),
        (
            "--scaling",
            "linear:rope_type=yarn",
            "the rope_type stands before the colon",
        ),
        (
            "--scaling",
            "longrope:short_factor=[1,\"x\"]",
            "is not a number",
        ),
        ("--scaling", "longrope:short_factor=[1,2", "is not a number"),
    ] {
        let error = run_usage_all(&["--scheme", "rotary", option, value]);
        assert!(
            error.contains(&format!("invalid value '{value}' for '{option}")),
            "{error}"
        );
        assert!(error.contains(why), "{error}");
    }
}

/// All that is said, the reason after the value included.
fn run_usage_all(options: &[&str]) -> String {
    let (_guard, path) = file("rotary.safetensors");
    let args = [&["export", "-o", arg(&path)], options].concat();
    run_usage(&args);
    crate::util::run_with(&args, "").err
}

#[test]
fn values_that_are_wrong_together_are_bad_usage_in_the_options_words() {
    for (options, words) in [
        (
            &["--head-dim", "7"][..],
            "--head-dim 7 is odd, and columns turn in pairs: give an even --rotary-dim",
        ),
        (
            &["--head-dim", "8", "--rotary-dim", "5"],
            "--rotary-dim 5 is odd",
        ),
        (
            &["--head-dim", "64", "--rotary-dim", "96"],
            "--rotary-dim 96 exceeds --head-dim 64",
        ),
        (
            &[
                "--head-dim",
                "64",
                "--rotary-dim",
                "32",
                "--scaling",
                "proportional:partial_rotary_factor=0.5",
            ],
            "--rotary-dim 32 does not go with --scaling proportional",
        ),
        (
            &["--head-dim", "8", "--scaling", "llama4:factor=8"],
            "--scaling llama4: rope_type is \"llama4\", which is unknown; known: default,",
        ),
        (
            &["--head-dim", "8", "--scaling", "linear"],
            "--scaling linear: factor is missing",
        ),
        (
            &[
                "--head-dim",
                "8",
                "--scaling",
                "llama3:factor=8,low_freq_factor=1",
            ],
            "--scaling llama3: high_freq_factor is missing",
        ),
        (
            &[
                "--head-dim",
                "8",
                "--scaling",
                "linear:factor=4,beta_fast=32",
            ],
            "--scaling linear: has keys that would be ignored: beta_fast (has no effect",
        ),
        (
            &["--head-dim", "8", "--scaling", "linear:factor=0"],
            "--scaling linear: factor 0.0 is not a positive finite number",
        ),
        (
            &["--head-dim", "8", "--scaling", "linear:factor=true"],
            "--scaling linear: factor is true, not a number",
        ),
        (
            &["--head-dim", "8", "--scaling", "dynamic:factor=2"],
            "--scaling dynamic: dynamic scaling is not defined for a model without \
             max_position_embeddings",
        ),
        (
            &[
                "--head-dim",
                "8",
                "--scaling",
                "longrope:short_factor=[1,1],long_factor=[1,1],original_max_position_embeddings=9",
            ],
            "--scaling longrope: short_factor holds 2 elements, 4 are needed",
        ),
        (
            &[
                "--head-dim",
                "8",
                "--theta",
                "0.5",
                "--scaling",
                "yarn:factor=4,original_max_position_embeddings=64",
            ],
            "--theta 0.5 is not above 1",
        ),
        (
            &["--head-dim", "8", "--start", "4294967294"],
            "--start 4294967294 and --max-seq-len 3 ask for positions 4294967294..4294967297",
        ),
    ] {
        let fixed = ["--scheme", "rotary", "--max-seq-len", "3"];
        let error = refused(&[&fixed, options].concat(), run_usage);
        assert!(error.starts_with(words), "{error}");
    }
    let no_rows = ["--scheme", "rotary", "--head-dim", "8"];
    assert!(refused(&no_rows, run_usage).starts_with("--max-seq-len is needed"));
}

#[test]
fn too_large_a_table_is_a_failure_before_the_file_is_touched() {
    let options = [
        "--scheme",
        "rotary",
        "--head-dim",
        "128",
        "--max-seq-len",
        "4294967296",
    ];
    let error = refused(&options, run_error);
    assert!(
        error.contains("cosines and sines of 4294967296 rows x 64 pairs of f32 exceed the limit"),
        "{error}"
    );
}

#[test]
fn types_of_layers_must_be_known_and_the_message_lists_them() {
    let (_guard, config) = config_file(&case("gemma-3-27b-it|full").config);
    let with = |more: &[&str]| {
        let fixed = [
            "--scheme",
            "rotary",
            "--max-seq-len",
            "3",
            "--config",
            arg(&config),
        ];
        refused(&[&fixed, more].concat(), run_usage)
    };
    assert_eq!(
        with(&["--layer-type", "full"]),
        "--layer-type full is unknown; known: full_attention, sliding_attention"
    );
    assert_eq!(
        with(&[]),
        "--layer-type is needed: the model has frequencies for each of full_attention, \
         sliding_attention"
    );
    let (_guard, config) = config_file(&case("Llama-3.1-8B").config);
    let options = [
        "--scheme",
        "rotary",
        "--config",
        arg(&config),
        "--layer-type",
        "x",
    ];
    let error = refused(&options, run_usage);
    assert!(
        error.starts_with("--layer-type x: the model has one set"),
        "{error}"
    );
    let options = [
        "--scheme",
        "rotary",
        "--config",
        arg(&config),
        "--start",
        "131072",
    ];
    let error = refused(&options, run_usage);
    assert!(
        error.starts_with("--start 131072 is not below the model's max_position"),
        "{error}"
    );
}

/// What is wrong with a file is a failure, by `export --config` and by `inspect` alike.
#[test]
fn a_config_that_cannot_be_read_is_one_line_of_error() {
    let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(16 << 20));
    for (content, words) in [
        ("", "is not JSON"),
        ("not json", "is not JSON"),
        ("{\"hidden_size\": 4096,", "is not JSON"),
        ("[1, 2]", "is not a JSON object"),
        ("{}", "the text has no model_type and no rotary key"),
        (
            "{\"rope_theta\": 1e4}",
            "head_dim is missing, and so is hidden_size or num_attention_heads",
        ),
        (
            "{\"head_dim\": 7, \"rope_theta\": 1e4}",
            "rotary_dim 7 is not an even number",
        ),
        (
            "{\"head_dim\": \"x\", \"rope_theta\": 1e4}",
            "head_dim is \"x\", not an integer",
        ),
        (
            "{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"zigzag\"}}",
            "is \"zigzag\", which is unknown; known: default, mrope, linear",
        ),
        (
            "{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\"}}",
            "rope_scaling.factor is missing",
        ),
        (
            "{\"head_dim\": 8, \"rope_scaling\": {\"type\": \"linear\", \"factor\": -1}}",
            "factor -1.0 is not a positive finite number",
        ),
        (&huge, "above the limit of 16777216 for a config.json"),
    ] {
        let (_guard, config) = config_file(content);
        let options = [
            "--scheme",
            "rotary",
            "--unknown-keys",
            "warn",
            "--max-seq-len",
            "3",
            "--config",
            arg(&config),
        ];
        for error in [
            refused(&options, run_error),
            run_error(&["inspect", arg(&config)]),
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
    assert!(run_error(&["inspect", arg(&config)]).contains("the text is not UTF-8"));
    // A directory, whatever it is called, and nothing at all.
    let folder = guard.path().join("folder.json");
    std::fs::create_dir(&folder).unwrap();
    let absent = guard.path().join("absent.json");
    for (path, words) in [(&folder, "is a directory"), (&absent, "No such file")] {
        assert!(run_error(&["inspect", arg(path)]).contains(words));
        let options = ["--scheme", "rotary", "--config", arg(path)];
        let error = refused(&options, run_error);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn keys_that_would_be_ignored_are_an_error_or_listed() {
    let (directory, config) = config_file(
        r#"{"model_type": "llama", "head_dim": 8, "rope_theta": 1e4, "rope_wobble": 3,
            "rope_scaling": {"rope_type": "linear", "factor": 2.0, "beta_fast": 32}}"#,
    );
    let options = [
        "--scheme",
        "rotary",
        "--max-seq-len",
        "3",
        "--config",
        arg(&config),
    ];
    let error = refused(&options, run_error);
    for words in [
        "rope_scaling.beta_fast",
        "rope_wobble",
        "--unknown-keys warn goes on",
    ] {
        assert!(error.contains(words), "{error}");
    }
    let out = directory.path().join("rotary.safetensors");
    let warn = ["export", "-o", arg(&out), "--unknown-keys", "warn"];
    let text = crate::util::run(&[&warn[..], &options].concat());
    for words in ["ignored: rope_scaling.beta_fast", "ignored: rope_wobble"] {
        assert!(text.contains(words), "{text}");
    }
}
