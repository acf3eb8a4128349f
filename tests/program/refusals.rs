//! Refused command lines: the exit code of bad usage, the words of the message, and nothing written.
//!
//! `OUT` is the name of a file that must keep its content, `NEW` that of a file that must not appear.

use std::path::Path;

use crate::util::{arg, file, run_error, run_usage, run_with};

/// A command line, an option, and values that it does not have.
const VALUES: &[(&str, &str, &str)] = &[
    ("", "--d-model", "0 -5"),
    ("", "--heads", "0 -1"),
    ("", "--layers", "0 two"),
    ("", "--max-seq-len", "0 4294967297"),
    ("", "--seed", "-1 18446744073709551616"),
    ("", "--table", "-"),
    ("", "--norm", "both"),
    ("encode", "--d-model", "0 -5"),
    ("encode", "--heads", "0 -1"),
    ("encode", "--layers", "0 two"),
    ("encode", "--max-seq-len", "0 4294967297"),
    ("encode", "--seed", "-1 18446744073709551616"),
    ("encode", "--table", "-"),
    ("encode", "--norm", "both"),
    (
        "export -o OUT --max-seq-len 3",
        "--d-model",
        "0 -5 8.0 1048577",
    ),
    (
        "export -o OUT --d-model 8",
        "--max-seq-len",
        "0 -1 4294967297 1000000000000 99999999999999999999",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--start",
        "-1 4294967296",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--base",
        "0 -3 -1e-3 nan inf -inf abc",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--min-rate",
        "-0.5 nan",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--spacing",
        "shifted=nan shifted=inf shifted",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--layout",
        "zigzag",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--odd-width",
        "hope",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--recipe",
        "f32",
    ),
    ("export -o OUT --d-model 8 --max-seq-len 3", "--dtype", "i8"),
    (
        "export -o OUT --d-model 8 --max-seq-len 3",
        "--preset",
        "nobody",
    ),
    ("export --d-model 8 --max-seq-len 3", "--output", "-"),
    ("plot -o NEW", "--format", "bmp"),
    ("plot -o NEW", "--data", "xml"),
    ("plot -o NEW sse", "--d-model", "0 -4"),
    ("plot -o NEW sse", "--max-seq-len", "0"),
    ("plot -o NEW sse", "--base", "-1 nan"),
    ("report", "--output", "-"),
    ("train", "--scheme", "alibi"),
    ("train", "--steps", "0"),
    ("train", "--batch", "0"),
    ("train", "--length", "7 257"),
    ("train", "--d-model", "-1"),
    ("train", "--heads", "0"),
    ("train", "--layers", "two"),
    ("train", "--learning-rate", "0 -1"),
    ("train", "--dropout", "1 NaN"),
    ("train", "--seed", "-1"),
];

/// The same with the reason that follows.
const REASONS: &[(&str, &str, &str, &str)] = &[
    (
        "export -o OUT --scheme rotary",
        "--head-dim",
        "0",
        "not a whole number from 2",
    ),
    (
        "export -o OUT --scheme rotary",
        "--head-dim",
        "-8 1048577",
        "not a whole number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--rotary-dim",
        "1",
        "not a whole number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--theta",
        "0 -1 nan",
        "not a positive finite number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--seq-len",
        "0 4294967297",
        "not a whole number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--config",
        "-",
        "standard input is not supported",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "'' :factor=3",
        "no type before the keys",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "linear:factor",
        "\"factor\" is not KEY=VALUE",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "linear:factor=",
        "factor= is not a number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "linear:factor=four",
        "factor=four is not a number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "linear:factor=nan",
        "factor=nan is not a number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "linear:factor=1e999",
        "factor=1e999 is not a number",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "linear:factor=4,factor=5",
        "factor is given twice",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "linear:rope_type=yarn",
        "the rope_type stands before the colon",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scaling",
        "longrope:short_factor=[1,\"x\"] longrope:short_factor=[1,2",
        "is not a number",
    ),
];

/// A command line and the first words of its message.
const LINES: &[(&str, &str)] = &[
    (
        "--d-model 250",
        "--d-model 250 cannot be shared evenly by --heads 4",
    ),
    (
        "--d-model 7 --heads 7",
        "--d-model 7 is odd: sine and cosine columns come in pairs",
    ),
    (
        "--scheme rotary --table x.safetensors",
        "--table writes the table of --scheme sinusoidal, not of rotary",
    ),
    (
        "--scheme rotary --d-model 12 --heads 4",
        "--d-model 12 by --heads 4 makes heads of width 3: rotary positions turn pairs",
    ),
    (
        "--no-table good '  '",
        "invalid value '  ' for '[SENTENCE]...'",
    ),
    ("--embeddings x --d-model 8", ""),
    ("--embeddings x --weights y", ""),
    ("--position-embeddings", ""),
    ("--embeddings x --position-embeddings --scheme none", ""),
    ("--embeddings x --position-offset 2", ""),
    ("--embeddings ''", ""),
    ("--embeddings -", ""),
    ("-o vectors.txt", ""),
    ("-o -", ""),
    ("-o v.jsonl --table t.safetensors", ""),
    ("-o v.jsonl --attention a.png --weights w", ""),
    ("-q -v 'a b'", ""),
    (
        "encode --weights x.safetensors --scheme rotary",
        "the argument",
    ),
    (
        "encode --weights x.safetensors --d-model 64",
        "the argument",
    ),
    ("encode --weights x.safetensors --seed 1", "the argument"),
    (
        "encode --weights x.safetensors --tokenizer x.json",
        "the argument",
    ),
    (
        "encode --attention x.png",
        "--weights is required by --attention",
    ),
    ("inspect -", "invalid value '-' for "),
    ("man train -o x", ""),
    (
        "train --d-model 30 --heads 4",
        "--d-model 30 cannot be shared evenly by --heads 4",
    ),
    (
        "train --d-model 12 --heads 4",
        "--d-model 12 by --heads 4 makes heads of width 3: rotary positions turn pairs",
    ),
    (
        "plot -o NEW nothing",
        "invalid value 'nothing' for '[FIGURE]...'",
    ),
    (
        "plot -o NEW sse --d-model 7",
        "--d-model 7 is odd, and figures show whole pairs of columns",
    ),
    (
        "plot -o NEW sse --start 4294967290",
        "--start 4294967290 and --max-seq-len 50 ask for positions 4294967290..4294967340, which \
         run past 4294967296",
    ),
    (
        "plot -o NEW binary --base 7",
        "--base changes nothing in binary",
    ),
    (
        "plot -o NEW angle-rates --start 7",
        "--start changes nothing in angle-rates",
    ),
    (
        "plot -o NEW dimensions --d-model 6",
        "--d-model 6 is too narrow for dimensions, which shows column 7",
    ),
    (
        "plot -o NEW shifted-map --max-seq-len 10",
        "--max-seq-len 10 is too short for shifted-map, which goes back 10 positions",
    ),
    ("plot -o NEW sse --base 1e-300", "--base and --d-model: "),
    (
        "export -o OUT --max-seq-len 3 --d-model 7",
        "--d-model 7 is odd, and sine and cosine columns come in pairs: choose --odd-width \
         truncate, round-up or zero-pad",
    ),
    (
        "export -o OUT --max-seq-len 3 --d-model 2 --preset diffusers",
        "the spacing shifted=1 of --preset diffusers needs more pairs of columns than 1, and \
         --d-model 2 has 1",
    ),
    (
        "export -o OUT --max-seq-len 3 --d-model 8 --spacing shifted=4.5",
        "--spacing shifted=4.5 needs more pairs of columns than 4.5, and --d-model 8 has 4",
    ),
    (
        "export -o OUT --max-seq-len 3 --d-model 8 --spacing shifted=1e-300",
        "--spacing shifted=1e-300: ",
    ),
    (
        "export -o OUT --max-seq-len 3 --d-model 8 --base 1e-300",
        "--base 1e-300 gives a frequency outside",
    ),
    (
        "export -o OUT --max-seq-len 3 --d-model 8 --min-rate 1e300",
        "--min-rate 1e300 gives a frequency outside",
    ),
    (
        "export -o OUT --max-seq-len 3 --d-model 8 --recipe pow-f32 --preset whisper",
        "--recipe pow-f32 is not defined for the spacing inclusive of --preset whisper",
    ),
    (
        "export -o OUT --max-seq-len 3 --d-model 8 --start 4294967294",
        "--start 4294967294 and --max-seq-len 3 ask for positions 4294967294..4294967297, which \
         run past 4294967296",
    ),
    (
        "export -o OUT --scheme rotary --head-dim 8 --base 3 --layout interleaved",
        "not with --scheme rotary: --base, --layout (of --scheme sinusoidal)",
    ),
    (
        "export -o OUT --scheme rotary --d-model 8 --preset whisper",
        "not with --scheme rotary: --d-model, --preset (of --scheme sinusoidal)",
    ),
    (
        "export -o OUT --scheme rotary --min-rate 1 --spacing paper --odd-width reject",
        "not with --scheme rotary: --min-rate, --spacing, --odd-width (of --scheme sinusoidal)",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3 --theta 3 --scaling default",
        "not with --scheme sinusoidal: --theta, --scaling (of --scheme rotary)",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3 --head-dim 8 --rotary-dim 4 --seq-len 3",
        "not with --scheme sinusoidal: --head-dim, --rotary-dim, --seq-len (of --scheme rotary)",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3 --config x --layer-type y --unknown-keys warn",
        "not with --scheme sinusoidal: --config, --layer-type, --unknown-keys (of --scheme rotary)",
    ),
    (
        "export -o OUT --d-model 8 --max-seq-len 3 --recipe hf-f32",
        "--recipe hf-f32 is of --scheme rotary",
    ),
    (
        "export -o OUT --scheme rotary --head-dim 8 --max-seq-len 3 --recipe exp-f32",
        "--recipe exp-f32 and pow-f32 are of --scheme sinusoidal",
    ),
    (
        "export -o OUT --scheme rotary --config x --head-dim 8",
        "the argument '--config <FILE>' cannot be used with '--head-dim <N>'",
    ),
    (
        "export -o OUT --scheme rotary",
        "--scheme rotary needs --config or --head-dim",
    ),
    (
        "export -o OUT --scheme sinusoidal --max-seq-len 3",
        "the following required arguments were not provided:",
    ),
    (
        "export -o OUT --max-seq-len 3",
        "the following required arguments were not provided:",
    ),
    (
        "export -o OUT --d-model 3",
        "the following required arguments were not provided:",
    ),
    (
        "export -o OUT --scheme rotary --head-dim 8",
        "--max-seq-len is needed",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 7",
        "--head-dim 7 is odd, and columns turn in pairs: give an even --rotary-dim",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --rotary-dim 5",
        "--rotary-dim 5 is odd",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 64 --rotary-dim 96",
        "--rotary-dim 96 exceeds --head-dim 64",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 64 --rotary-dim 32 --scaling \
         proportional:partial_rotary_factor=0.5",
        "--rotary-dim 32 does not go with --scaling proportional",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling llama4:factor=8",
        "--scaling llama4: rope_type is \"llama4\", which is unknown; known: default,",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling linear",
        "--scaling linear: factor is missing",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling \
         llama3:factor=8,low_freq_factor=1",
        "--scaling llama3: high_freq_factor is missing",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling \
         linear:factor=4,beta_fast=32",
        "--scaling linear: has keys that would be ignored: beta_fast (has no effect",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling linear:factor=0",
        "--scaling linear: factor 0.0 is not a positive finite number",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling linear:factor=true",
        "--scaling linear: factor is true, not a number",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling dynamic:factor=2",
        "--scaling dynamic: dynamic scaling is not defined for a model without \
         max_position_embeddings",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --scaling \
         longrope:short_factor=[1,1],long_factor=[1,1],original_max_position_embeddings=9",
        "--scaling longrope: short_factor holds 2 elements, 4 are needed",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --theta 0.5 --scaling \
         yarn:factor=4,original_max_position_embeddings=64",
        "--theta 0.5 is not above 1",
    ),
    (
        "export -o OUT --scheme rotary --max-seq-len 3 --head-dim 8 --start 4294967294",
        "--start 4294967294 and --max-seq-len 3 ask for positions 4294967294..4294967297",
    ),
];

/// Runs a command line over a file that must stay as it is.
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

/// The whole message, the reason after the value included.
fn usage(line: &str) -> String {
    run_usage(line);
    run_with(line, "").err
}

#[test]
fn values_that_are_wrong_in_themselves_are_bad_usage() {
    let values = VALUES
        .iter()
        .map(|&(line, option, values)| (line, option, values, ""));
    for (line, option, values, why) in values.chain(REASONS.iter().copied()) {
        for value in values.split(' ') {
            let error = refused(&format!("{line} {option} {value}"), usage);
            let value = value.trim_matches('\'');
            let words = format!("error: invalid value '{value}' for '{option}");
            assert!(
                error.starts_with(&words) && error.contains(why),
                "{line}: {error}"
            );
        }
    }
    assert!(!Path::new("-").exists());
}

#[test]
fn values_that_are_wrong_together_are_bad_usage_in_the_options_words() {
    for (line, words) in LINES {
        let error = refused(line, run_usage);
        assert!(error.starts_with(words), "{line}: {error}");
    }
    for line in LINES.iter().filter(|(_, words)| *words == "the argument") {
        assert!(
            run_usage(line.0).contains("cannot be used with"),
            "{line:?}"
        );
    }
    let error = run_usage("encode --weights x --attention x.gif");
    assert!(error.contains("must end in .png or .svg"), "{error}");
    assert!(run_usage("inspect -").contains("standard input is not supported"));
}

/// What cannot be known before the options are read is a failure and not bad usage.
#[test]
fn sizes_that_are_too_large_are_a_failure_before_the_file_is_touched() {
    for (line, words) in [
        ("--no-table --layers 1000", "above the limit"),
        (
            "export -o OUT --d-model 65536 --max-seq-len 4000000000",
            "4000000000 rows x 65536 columns of f32",
        ),
        (
            "export -o OUT --scheme rotary --head-dim 128 --max-seq-len 4294967296",
            "tables of 4294967296 rows x 64 columns of f32 exceed the limit",
        ),
    ] {
        let error = refused(line, run_error);
        assert!(error.contains(words), "{line}: {error}");
    }
}
