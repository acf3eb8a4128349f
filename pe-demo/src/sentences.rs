//! Which sentences are encoded.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Sentences of different lengths. The first two consist of the same words in
/// another order; in the first, "Hopkins" stands as far before "Bay" as "Bay" before "great".
pub const BUILT_IN: [&str; 4] = [
    "Anthony Hopkins admired Michael Bay as a great director.",
    "Michael Bay admired Anthony Hopkins as a great director.",
    "The cat saw the dog.",
    "Without an order, a sentence is only a bag of words.",
];

/// Two sentences of the same words, of the kind that `pe-demo train` trains on.
pub const TWINS: [&str; 2] = [
    "The king from the city never feared the dwarf.",
    "The dwarf from the city never feared the king.",
];

/// The most bytes read from a file or from standard input.
const MAX_BYTES: u64 = 16 << 20;

/// The sentences asked for: those given, a file's lines, or the built-in ones. A lone `-` stands
/// for standard input. It is read only on request: a program started without a terminal may have
/// a standard input that never ends.
pub(crate) fn collect(
    given: &[String],
    file: Option<&Path>,
    stdin: &mut dyn BufRead,
    built_in: &[&str],
) -> Result<Vec<String>> {
    let from_stdin = given == ["-"] || file == Some(Path::new("-"));
    if from_stdin {
        return lines(stdin, "standard input");
    }
    if let Some(path) = file {
        let name = path.display().to_string();
        let file = File::open(path).with_context(|| name.clone())?;
        return lines(&mut BufReader::new(file), &name);
    }
    if given.is_empty() {
        return Ok(built_in.iter().map(|text| (*text).to_owned()).collect());
    }
    for (index, sentence) in given.iter().enumerate() {
        ensure!(
            !sentence.trim().is_empty(),
            "sentence {} is empty",
            index + 1
        );
    }
    Ok(given.to_vec())
}

/// The lines that are not blank.
fn lines(reader: &mut dyn BufRead, name: &str) -> Result<Vec<String>> {
    let mut bytes = Vec::new();
    reader
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| name.to_owned())?;
    ensure!(
        bytes.len() as u64 <= MAX_BYTES,
        "{name}: more than {MAX_BYTES} bytes of text"
    );
    let mut sentences = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = std::str::from_utf8(line)
            .with_context(|| format!("{name}: line {}", index + 1))?
            .trim();
        if !line.is_empty() {
            sentences.push(line.to_owned());
        }
    }
    ensure!(!sentences.is_empty(), "{name}: no sentences");
    Ok(sentences)
}
