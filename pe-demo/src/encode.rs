//! `pe-demo encode`, the default command: sentences through the toy encoder.

mod report;

use std::io::{BufRead, Write};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};
use pe_candle::PositionalEncodingConfig;

use self::report::Report;
use crate::cli::{EncodeArgs, NormArg};
use crate::console::{BadUsage, Outcome};
use crate::encoder::{Encoder, EncoderConfig, Norm};
use crate::sentences;
use crate::tokenizer::{Sentence, Tokenizer, TokenizerSource};
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
    let source = match &args.tokenizer {
        Some(name) => name.parse().context("--tokenizer")?,
        None => TokenizerSource::BuiltIn,
    };
    let texts = sentences::collect(&args.sentences, args.file.as_deref(), stdin)?;
    let tokenizer = Tokenizer::load(&source)?;
    let sentences: Vec<Sentence> = texts
        .iter()
        .map(|text| tokenizer.encode(text))
        .collect::<Result<_>>()?;
    let encoder = encoder(args, &tokenizer, &sentences)?;
    let report = Report::of(args, &source, &encoder, sentences)?;
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
    Ok(())
}

/// The encoder that the arguments describe, with a table long enough for the sentences.
fn encoder(args: &EncodeArgs, tokenizer: &Tokenizer, sentences: &[Sentence]) -> Result<Encoder> {
    let limit = args.max_seq_len.unwrap_or(MAX_TOKENS).min(MAX_TOKENS);
    for (index, sentence) in sentences.iter().enumerate() {
        let tokens = sentence.tokens.len();
        ensure!(
            tokens <= limit,
            "sentence {} has {tokens} tokens, at most {limit} can be encoded{}",
            index + 1,
            match args.max_seq_len {
                Some(rows) if rows < MAX_TOKENS => " (--max-seq-len)",
                _ => "",
            }
        );
    }
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
        position,
        ..EncoderConfig::new(tokenizer.vocab_size(), args.d_model)
    };
    let weights = Seeded::new(args.seed).var_builder(DType::F32, &Device::Cpu);
    Ok(Encoder::new(config, &weights)?)
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
