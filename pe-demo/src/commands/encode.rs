//! `pe-demo encode`, the default command: sentences through the toy encoder.
//!
//! Some sentences are looked at closely; any number of them can become vectors in a file.

mod embeddings;
mod maps;
mod parts;
mod report;
mod stream;
mod table;
mod trained;
mod vectors;

use std::io::{BufRead, Write};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use self::embeddings::Sizes;
use self::parts::{MAX_TOKENS, Model, Parts, sight};
use self::report::Report;
use self::stream::{Done, Job, Totals};
use self::trained::Answer;
use self::vectors::About;
use crate::cli::EncodeArgs;
use crate::encoder::Scheme;
use crate::sources::overwrite;
use crate::terminal::console::{BadUsage, Outcome};
use crate::terminal::interrupt::Interrupt;
use crate::terminal::json;
use crate::terminal::log::{Log, Verbosity};
use crate::terminal::page::Page;
use crate::text::sentences::{self, Texts};
use crate::text::tokenizer::Sentence;

/// The most sentences that are looked at closely, and the bytes of text after which no more are.
const SHOWN: usize = 1000;
const SHOWN_BYTES: u64 = 1 << 20;

/// The most attention weights of a batch and layer: 64 MiB.
const MAX_BATCH_WEIGHTS: usize = 1 << 24;

/// The most tokens whose traces are followed; their vectors are held in memory.
const MAX_TRACED_TOKENS: usize = 1 << 12;

pub(crate) fn run(
    args: &EncodeArgs,
    stdin: &mut dyn BufRead,
    out: &mut dyn Write,
    log: &mut Log<'_>,
) -> Result<Outcome> {
    check(args)?;
    let parts = Parts::load(args, log)?;
    // Parts of a checkpoint and files from the hub, which the arguments do not name.
    overwrite::check(&args.outputs(), &parts.read)?;
    let built_in: &[&str] = match parts.trained() {
        false => &sentences::BUILT_IN,
        true => &sentences::TWINS,
    };
    let mut texts = Texts::open(&args.sentences, args.file.as_deref(), stdin, built_in)?;
    match args.output.is_some() {
        true => write(args, &parts, &mut texts, out, log),
        false => show(args, &parts, &mut texts, out, log),
    }
}

/// A close look at the sentences, or at the first of many.
fn show(
    args: &EncodeArgs,
    parts: &Parts,
    texts: &mut Texts<'_>,
    out: &mut dyn Write,
    log: &mut Log<'_>,
) -> Result<Outcome> {
    let (first, more) = texts.first(SHOWN, SHOWN_BYTES)?;
    let first = first.iter().map(|text| parts.tokenizer.encode(&text.text));
    let first: Vec<Sentence> = first.collect::<Result<_>>()?;
    parts.check_lengths(args, &first)?;
    let longest = first.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
    let model = parts.model(args, if more { MAX_TOKENS } else { longest })?;
    let all = match more {
        false => None,
        true => match encode_all(args, parts, &model, texts, log, &mut |_| Ok(()))? {
            Some(totals) => Some(totals),
            None => return Ok(Outcome::Interrupted),
        },
    };
    let sizes = match model.given {
        Some(given) => Some(Sizes::of(&model.encoder, given, longest.max(parts::ROWS))?),
        None => None,
    };
    let report = Report::of(args, parts, &model, first, sizes, all)?;
    print(args, &report, || report.page(log.verbosity), out)?;
    Ok(Outcome::Success)
}

/// A vector for each sentence, in a file.
fn write(
    args: &EncodeArgs,
    parts: &Parts,
    texts: &mut Texts<'_>,
    out: &mut dyn Write,
    log: &mut Log<'_>,
) -> Result<Outcome> {
    let model = parts.model(args, MAX_TOKENS)?;
    let Some(path) = &args.output else {
        return Ok(Outcome::Success);
    };
    let about = About {
        program: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        pooling: "mean",
        tokenizer: parts.source.to_string(),
        weights: args
            .weights
            .clone()
            .or_else(|| args.embeddings.clone())
            .unwrap_or_else(|| "seed".to_owned()),
        scheme: model.encoder.config().scheme.name(),
        causal: args.causal,
        seed: model
            .trained
            .as_ref()
            .map_or(args.seed, |(trained, _)| trained.model.seed),
    };
    let written = with_job(args, parts, &model, texts, log, |job, texts| {
        vectors::write(path, job, texts, about)
    })?;
    let Some(written) = written else {
        log.note(format!("interrupted: {} is as it was", path.display()));
        return Ok(Outcome::Interrupted);
    };
    log.note(written.totals.speed());
    if args.json || log.verbosity != Verbosity::Quiet {
        print(args, &written, || written.page(), out)?;
    }
    Ok(Outcome::Success)
}

/// Encodes all sentences and says how fast. `None` if Ctrl-C ended it.
fn encode_all(
    args: &EncodeArgs,
    parts: &Parts,
    model: &Model<'_>,
    texts: &mut Texts<'_>,
    log: &mut Log<'_>,
    sink: &mut dyn FnMut(&Done<'_>) -> Result<()>,
) -> Result<Option<Totals>> {
    let totals = with_job(args, parts, model, texts, log, |job, texts| {
        stream::run(job, texts, sink)
    })?;
    if let Some(totals) = &totals {
        log.note(totals.speed());
    }
    Ok(totals)
}

/// Does work with a bar, which Ctrl-C can end.
fn with_job<T>(
    args: &EncodeArgs,
    parts: &Parts,
    model: &Model<'_>,
    texts: &mut Texts<'_>,
    log: &mut Log<'_>,
    work: impl FnOnce(&Job<'_>, &mut Texts<'_>) -> Result<T>,
) -> Result<T> {
    let bar = bar(log, texts.file_bytes());
    let interrupt = Interrupt::catch()?;
    let job = Job {
        tokenizer: &parts.tokenizer,
        encoder: &model.encoder,
        sight: sight(args),
        limit: parts.limit(args),
        bar: &bar,
        interrupt: &interrupt,
    };
    let result = work(&job, texts);
    bar.finish_and_clear();
    result
}

/// A bar over the bytes of the text; of a pipe nobody knows how many there are.
fn bar(log: &Log<'_>, bytes: Option<u64>) -> ProgressBar {
    let bar = log.bar(bytes);
    let template = match bytes {
        Some(_) => "{wide_bar:.cyan} {bytes:>10}/{total_bytes}  {msg:<20} {eta:>4} left",
        None => "{spinner:.cyan} {bytes:>10}  {msg:<20} {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Prints a result as text or as JSON.
fn print(
    args: &EncodeArgs,
    result: &impl Serialize,
    page: impl FnOnce() -> Page,
    out: &mut dyn Write,
) -> Result<()> {
    if args.json {
        json::write(out, result)
    } else {
        Ok(out.write_all(page().text().as_bytes())?)
    }
}

/// What each option alone cannot tell.
fn check(args: &EncodeArgs) -> Result<(), BadUsage> {
    let EncodeArgs { d_model, heads, .. } = args;
    let scheme = Scheme::from(args.scheme);
    let scheme_of_table = match args.position_embeddings {
        Some(_) => Scheme::Learned,
        None => scheme,
    };
    if args.table.is_some() && scheme_of_table != Scheme::Sinusoidal {
        return Err(BadUsage(format!(
            "--table writes the table of --scheme sinusoidal, not of {}",
            scheme_of_table.name()
        )));
    }
    if args.embeddings.is_some() {
        // The width is that of the vectors.
        return Ok(());
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
    use crate::text::tokenizer::Token;

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
