//! The program without a process, and small encoders.

use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use pe_candle::PositionalEncodingConfig;
use pe_demo::Outcome;
use pe_demo::encoder::{Encoder, EncoderConfig};
use pe_demo::tokenizer::{Sentence, Tokenizer, TokenizerSource};
use pe_demo::weights::Seeded;
use serde_json::Value;

/// What a run left behind.
pub struct Run {
    pub outcome: Outcome,
    pub out: String,
    pub err: String,
}

/// Runs the program with arguments and standard input.
pub fn run_with(args: &[&str], stdin: &str) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let all = std::iter::once("pe-demo").chain(args.iter().copied());
    let outcome = pe_demo::run(all, &mut stdin.as_bytes(), &mut out, &mut err);
    Run {
        outcome,
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
    }
}

/// Runs the program and expects success.
pub fn run(args: &[&str]) -> String {
    let run = run_with(args, "");
    assert_eq!(
        (run.outcome, run.err.as_str()),
        (Outcome::Success, ""),
        "{args:?}"
    );
    run.out
}

/// Runs the program with `--json` and expects success.
pub fn run_json(args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_str(&run(&args)).unwrap()
}

/// Runs the program and expects failure.
pub fn run_error(args: &[&str]) -> String {
    let run = run_with(args, "");
    assert_eq!(
        (run.outcome, run.out.as_str()),
        (Outcome::Failure, ""),
        "{args:?}"
    );
    run.err
}

/// Runs the program and expects it to refuse its arguments: the first line of what it says.
pub fn run_usage(args: &[&str]) -> String {
    let run = run_with(args, "");
    assert_eq!(
        (run.outcome, run.out.as_str()),
        (Outcome::Usage, ""),
        "{args:?}: {}",
        run.err
    );
    let first = run.err.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap().to_owned()
}

/// A path as an argument.
pub fn arg(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A file in a directory of its own, and the directory's guard.
pub fn file(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    (directory, path)
}

/// Markup without the pictures inside it, whose bytes as text may spell anything.
pub fn without_pictures(markup: &str) -> String {
    let mut parts = markup.split("data:image/png;base64,");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (_, rest) = part.split_once('"').unwrap();
        text + rest
    })
}

/// A narrow encoder for the built-in vocabulary, with dropout 0.1 in training.
pub fn encoder() -> Encoder {
    encoder_of(EncoderConfig {
        position: PositionalEncodingConfig {
            max_seq_len: 64,
            ..PositionalEncodingConfig::new(64)
        },
        ..EncoderConfig::new(tokenizer().vocab_size(), 64)
    })
}

pub fn encoder_of(config: EncoderConfig) -> Encoder {
    let weights = Seeded::new(11).var_builder(DType::F32, &Device::Cpu);
    Encoder::new(config, &weights).unwrap()
}

pub fn tokenizer() -> Tokenizer {
    Tokenizer::load(&TokenizerSource::BuiltIn).unwrap()
}

/// The built-in sentences.
pub fn sentences() -> Vec<Sentence> {
    let tokenizer = tokenizer();
    let texts = pe_demo::sentences::BUILT_IN.into_iter();
    texts.map(|text| tokenizer.encode(text).unwrap()).collect()
}

/// max |a - b| over tensors of equal shape; panics on NaN.
pub fn max_difference(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.dims(), b.dims());
    let difference = (a - b).unwrap().abs().unwrap().flatten_all().unwrap();
    let values = difference.to_vec1::<f32>().unwrap();
    assert!(values.iter().all(|value| value.is_finite()));
    values.into_iter().map(f64::from).fold(0.0, f64::max)
}
