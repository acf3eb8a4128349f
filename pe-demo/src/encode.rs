//! `pe-demo encode`, the default command: sentences through the toy encoder.

mod maps;
mod report;

use std::io::{BufRead, Write};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};
use pe_candle::PositionalEncodingConfig;
use serde::Serialize;

use self::report::Report;
use crate::cli::{EncodeArgs, NormArg};
use crate::console::{BadUsage, Outcome};
use crate::encoder::{Batch, Encoder, EncoderConfig, Mode, Norm, Scheme};
use crate::sentences;
use crate::tokenizer::{Sentence, Tokenizer, TokenizerSource};
use crate::train::checkpoint::Checkpoint;
use crate::train::classifier::Classifier;
use crate::weights::Seeded;

/// Rows of the table if no sentence needs more.
const ROWS: usize = 50;

/// The most tokens of a sentence: attention takes memory of the square.
const MAX_TOKENS: usize = 2048;

/// The most attention weights of a batch and layer: 64 MiB.
const MAX_BATCH_WEIGHTS: usize = 1 << 24;

/// The most tokens whose traces are followed; their vectors are held in memory.
const MAX_TRACED_TOKENS: usize = 1 << 12;

pub(crate) fn run(
    args: &EncodeArgs,
    stdin: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Outcome> {
    check(args)?;
    let weights = args.weights.as_deref().map(Checkpoint::read).transpose()?;
    let source = match &args.tokenizer {
        Some(name) => name.parse().context("--tokenizer")?,
        None => TokenizerSource::BuiltIn,
    };
    let built_in: &[&str] = match &weights {
        None => &sentences::BUILT_IN,
        Some(_) => &sentences::TWINS,
    };
    let texts = sentences::collect(&args.sentences, args.file.as_deref(), stdin, built_in)?;
    let tokenizer = Tokenizer::load(&source)?;
    let sentences: Vec<Sentence> = texts
        .iter()
        .map(|text| tokenizer.encode(text))
        .collect::<Result<_>>()?;
    let report = match weights {
        None => {
            let encoder = encoder(args, &tokenizer, &sentences)?;
            Report::of(args, &source, &encoder, sentences, None)?
        }
        Some(weights) => {
            let trained = Trained::new(weights, &tokenizer, &sentences)?;
            let encoder = trained.classifier.encoder.clone();
            Report::of(args, &source, &encoder, sentences, Some(&trained))?
        }
    };
    if args.json {
        serde_json::to_writer_pretty(&mut *out, &report)?;
        out.write_all(b"\n")?;
    } else {
        out.write_all(report.page().text().as_bytes())?;
    }
    Ok(Outcome::Success)
}

/// What each option alone cannot tell.
fn check(args: &EncodeArgs) -> Result<(), BadUsage> {
    let EncodeArgs { d_model, heads, .. } = args;
    let scheme = Scheme::from(args.scheme);
    if args.table.is_some() && args.weights.is_none() && scheme != Scheme::Sinusoidal {
        return Err(BadUsage(format!(
            "--table writes the table of --scheme sinusoidal, not of {}",
            scheme.name()
        )));
    }
    if !d_model.is_multiple_of(2) {
        return Err(BadUsage(format!(
            "--d-model {d_model} is odd: sine and cosine columns come in pairs"
        )));
    }
    if !d_model.is_multiple_of(*heads) {
        return Err(BadUsage(format!(
            "--d-model {d_model} cannot be shared evenly by --heads {heads}"
        )));
    }
    let width = d_model / heads;
    if scheme == Scheme::Rotary && !width.is_multiple_of(2) {
        return Err(BadUsage(format!(
            "--d-model {d_model} by --heads {heads} makes heads of width {width}: rotary \
             positions turn pairs"
        )));
    }
    Ok(())
}

/// The encoder that the arguments describe, with a table long enough for the sentences.
fn encoder(args: &EncodeArgs, tokenizer: &Tokenizer, sentences: &[Sentence]) -> Result<Encoder> {
    let rows = match args.max_seq_len {
        Some(rows) if rows < MAX_TOKENS => Some((rows, "--max-seq-len")),
        _ => None,
    };
    check_lengths(sentences, rows)?;
    let longest = sentences.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
    let position = PositionalEncodingConfig {
        max_seq_len: args.max_seq_len.unwrap_or(longest.max(ROWS)),
        seed: args.seed,
        ..PositionalEncodingConfig::new(args.d_model)
    };
    let config = EncoderConfig {
        heads: args.heads,
        layers: args.layers,
        norm: match args.norm {
            NormArg::Post => Norm::Post,
            NormArg::Pre => Norm::Pre,
        },
        scheme: args.scheme.into(),
        position,
        ..EncoderConfig::new(tokenizer.vocab_size(), args.d_model)
    };
    let weights = Seeded::new(args.seed).var_builder(DType::F32, &Device::Cpu);
    Ok(Encoder::new(config, &weights)?)
}

/// Refuses sentences that are longer than what there are rows for, or than any may be.
fn check_lengths(sentences: &[Sentence], rows: Option<(usize, &str)>) -> Result<()> {
    let limit = rows.map_or(MAX_TOKENS, |(rows, _)| rows.min(MAX_TOKENS));
    for (index, sentence) in sentences.iter().enumerate() {
        let tokens = sentence.tokens.len();
        ensure!(
            tokens <= limit,
            "sentence {} has {tokens} tokens, at most {limit} can be encoded{}",
            index + 1,
            rows.map_or(String::new(), |(_, why)| format!(" ({why})"))
        );
    }
    Ok(())
}

/// A trained encoder, and what it answers.
struct Trained {
    checkpoint: Checkpoint,
    classifier: Classifier,
    /// For each sentence the likeliest answer and its probability.
    answers: Vec<Answer>,
}

/// What a trained encoder makes of a sentence.
#[derive(Debug, Clone, Serialize)]
struct Answer {
    answer: String,
    probability: f32,
}

impl Trained {
    fn new(checkpoint: Checkpoint, tokenizer: &Tokenizer, sentences: &[Sentence]) -> Result<Self> {
        let model = &checkpoint.model;
        ensure!(
            model.vocab_size == tokenizer.vocab_size(),
            "the weights are for {} tokens, the built-in tokenizer has {}",
            model.vocab_size,
            tokenizer.vocab_size()
        );
        check_lengths(
            sentences,
            match model.scheme {
                Scheme::Learned => Some((model.max_seq_len, "rows of the learned positions")),
                Scheme::None | Scheme::Sinusoidal | Scheme::Rotary => None,
            },
        )?;
        let longest = sentences.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
        let classifier = checkpoint.classifier(longest.max(ROWS))?;
        let mut answers = Vec::new();
        for sentence in sentences {
            let batch = Batch::new(&[&sentence.ids()], 0, &Device::Cpu)?;
            let (scores, _) = classifier.forward(&batch, Mode::Eval)?;
            let shares = classifier
                .probabilities(&scores)?
                .get(0)?
                .to_vec1::<f32>()?;
            let named = model.answers.iter().zip(shares);
            let best = named.max_by(|a, b| a.1.total_cmp(&b.1));
            answers.extend(best.map(|(answer, probability)| Answer {
                answer: answer.clone(),
                probability,
            }));
        }
        Ok(Self {
            checkpoint,
            classifier,
            answers,
        })
    }
}

/// The sentences at the beginning, few enough to keep all their vectors.
fn first(sentences: &[Sentence]) -> &[Sentence] {
    let mut tokens = 0;
    let more = sentences.iter().skip(1).take_while(|sentence| {
        tokens += sentence.tokens.len();
        tokens <= MAX_TRACED_TOKENS
    });
    &sentences[..(1 + more.count()).min(sentences.len())]
}

/// Runs of sentences that are encoded together: as many as memory allows.
fn batches(sentences: &[Sentence], heads: usize) -> Vec<&[Sentence]> {
    let mut batches = Vec::new();
    let mut start = 0;
    let mut longest = 0;
    for (index, sentence) in sentences.iter().enumerate() {
        longest = longest.max(sentence.tokens.len());
        let weights = (index + 1 - start) * heads * longest * longest;
        if index > start && weights > MAX_BATCH_WEIGHTS {
            batches.push(&sentences[start..index]);
            start = index;
            longest = sentence.tokens.len();
        }
    }
    batches.push(&sentences[start..]);
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::Token;

    fn sentences(lengths: &[usize]) -> Vec<Sentence> {
        let token = Token {
            token: "a".to_owned(),
            id: 0,
            position: 0,
            special: false,
        };
        let sentence = |len: &usize| Sentence {
            text: String::new(),
            tokens: vec![token.clone(); *len],
        };
        lengths.iter().map(sentence).collect()
    }

    #[test]
    fn batches_hold_every_sentence_once_and_are_bounded() {
        let sentences = sentences(&[10, 2000, 2000, 2000, 4096, 10, 10]);
        let batches = batches(&sentences, 2);
        let sizes: Vec<usize> = batches.iter().map(|batch| batch.len()).collect();
        // 2 x 2000^2 weights fit twice; 2 x 4096^2 are too many but stand alone.
        assert_eq!(sizes, [2, 2, 1, 2]);
    }

    #[test]
    fn traces_are_followed_for_a_bounded_number_of_tokens() {
        assert_eq!(first(&sentences(&[5000, 5000])).len(), 1);
        assert_eq!(first(&sentences(&[10, 4096, 1])).len(), 2);
        assert_eq!(first(&sentences(&[10; 1000])).len(), 410);
        assert_eq!(first(&[]).len(), 0);
    }
}
