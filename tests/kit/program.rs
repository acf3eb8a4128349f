//! The program without a process, and small encoders.

use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use pe_candle::PositionalEncodingConfig;
use pe_demo::Outcome;
use pe_demo::encoder::{Encoder, EncoderConfig};
use pe_demo::tokenizer::{Sentence, Tokenizer, TokenizerSource};
use pe_demo::weights::Seeded;
use serde_json::Value;

/// Results of a run.
pub struct Run {
    pub outcome: Outcome,
    pub out: String,
    pub err: String,
}

/// A command line: one string, in which single quotes keep a word together, or its words.
pub trait Line {
    /// Returns the words.
    fn words(&self) -> Vec<String>;
}

impl Line for str {
    fn words(&self) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), None, false);
        for c in self.chars() {
            match c {
                '\'' => {
                    quoted = !quoted;
                    word.get_or_insert_with(String::new);
                }
                ' ' if !quoted => words.extend(word.take()),
                c => word.get_or_insert_with(String::new).push(c),
            }
        }
        assert!(!quoted, "{self}");
        words.extend(word);
        words
    }
}

impl Line for String {
    fn words(&self) -> Vec<String> {
        self.as_str().words()
    }
}

impl Line for [&str] {
    fn words(&self) -> Vec<String> {
        self.iter().map(|word| (*word).to_owned()).collect()
    }
}

impl<const N: usize> Line for [&str; N] {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl Line for Vec<&str> {
    fn words(&self) -> Vec<String> {
        self.as_slice().words()
    }
}

impl<T: Line + ?Sized> Line for &T {
    fn words(&self) -> Vec<String> {
        (**self).words()
    }
}

/// Runs the program with arguments and standard input.
pub fn run_with(line: &(impl Line + ?Sized), stdin: &str) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let all = std::iter::once("pe-demo".to_owned()).chain(line.words());
    let outcome = pe_demo::run(all, &mut stdin.as_bytes(), &mut out, &mut err);
    Run {
        outcome,
        out: String::from_utf8(out).unwrap(),
        err: String::from_utf8(err).unwrap(),
    }
}

/// Runs the program without standard input and expects the outcome and, unless it is success, no output.
fn run_to(line: &(impl Line + ?Sized), outcome: Outcome) -> Run {
    let run = run_with(line, "");
    let empty = if outcome == Outcome::Success {
        &run.err
    } else {
        &run.out
    };
    let found = (run.outcome, empty.as_str());
    assert_eq!(found, (outcome, ""), "{:?}: {}", line.words(), run.err);
    run
}

/// Runs the program and expects success: its output.
pub fn run(line: &(impl Line + ?Sized)) -> String {
    run_to(line, Outcome::Success).out
}

/// Runs the program with `--json` and expects success.
pub fn run_json(line: &(impl Line + ?Sized)) -> Value {
    let mut words = line.words();
    words.push("--json".to_owned());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    serde_json::from_str(&run(&words)).unwrap()
}

/// Runs the program and expects failure: its message.
pub fn run_error(line: &(impl Line + ?Sized)) -> String {
    run_to(line, Outcome::Failure).err
}

/// Runs the program and expects it to reject its arguments: the first line of its message.
pub fn run_usage(line: &(impl Line + ?Sized)) -> String {
    let error = run_to(line, Outcome::Usage).err;
    let first = error.lines().next().unwrap_or_default();
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
