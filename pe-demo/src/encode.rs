//! `pe-demo encode`, the default command: sentences through the toy encoder.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};
use pe_candle::PositionalEncodingConfig;
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, TableSpec};
use serde::Serialize;

use crate::cli::{EncodeArgs, NormArg};
use crate::console::Outcome;
use crate::encoder::{Encoder, EncoderConfig, Norm};
use crate::mask::Sight;
use crate::page::{self, Page, clean};
use crate::sentences;
use crate::studies::{Masks, Order, SameShift, Trace};
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

/// Where the table goes unless `--table` says otherwise.
const DEFAULT_TABLE: &str = "pe-demo-table.safetensors";

pub(crate) fn run(
    args: &EncodeArgs,
    stdin: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Outcome> {
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

/// All that is shown.
#[derive(Debug, Serialize)]
struct Report {
    program: &'static str,
    version: &'static str,
    model: Model,
    sentences: Vec<Sentence>,
    order: Option<Order>,
    same_shift: Option<SameShift>,
    trace: Trace,
    masks: Option<Masks>,
    table: Option<TableFile>,
}

#[derive(Debug, Serialize)]
struct Model {
    d_model: usize,
    heads: usize,
    layers: usize,
    d_ff: usize,
    norm: &'static str,
    causal: bool,
    seed: u64,
    weights: u64,
    tokenizer: String,
    vocab_size: usize,
}

/// The table, or why it is not there.
#[derive(Debug, Serialize)]
struct TableFile {
    file: PathBuf,
    tensor: &'static str,
    shape: [usize; 2],
    dtype: &'static str,
    /// The first entries of the last row.
    last_row_starts: Vec<f32>,
    error: Option<String>,
}

impl Report {
    fn of(
        args: &EncodeArgs,
        source: &TokenizerSource,
        encoder: &Encoder,
        sentences: Vec<Sentence>,
    ) -> Result<Self> {
        let sight = match args.causal {
            true => Sight::Past,
            false => Sight::Whole,
        };
        let config = encoder.config();
        Ok(Self {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            model: Model {
                d_model: config.d_model(),
                heads: config.heads,
                layers: config.layers,
                d_ff: config.d_ff,
                norm: match config.norm {
                    Norm::Post => "post",
                    Norm::Pre => "pre",
                },
                causal: args.causal,
                seed: args.seed,
                weights: config.parameters().unwrap_or(0),
                tokenizer: source.to_string(),
                vocab_size: config.vocab_size,
            },
            order: Order::of(encoder, &sentences, sight)?,
            same_shift: SameShift::of(encoder, &sentences)?,
            trace: Trace::of(encoder, &batches(first(&sentences), config.heads), sight)?,
            masks: Masks::of(encoder, &sentences)?,
            table: write_table(args, encoder)?,
            sentences,
        })
    }

    fn page(&self) -> Page {
        let mut page = Page::new();
        let model = &self.model;
        page.line(format!(
            "{} {}: a toy transformer encoder and where its words stand",
            self.program, self.version
        ));
        page.wrap(
            "",
            &format!(
                "d_model {}, {} layers of {} heads, {}-norm, {} weights from seed {} (not \
                 trained), tokenizer {} with {} entries{}",
                model.d_model,
                model.layers,
                model.heads,
                model.norm,
                page::thousands(model.weights),
                model.seed,
                clean(&model.tokenizer, 60),
                model.vocab_size,
                if model.causal {
                    ", looking back only"
                } else {
                    ""
                }
            ),
        );
        page.heading("Sentences, and the position of each token");
        for (index, sentence) in self.sentences.iter().enumerate() {
            if index > 0 {
                page.line("");
            }
            page.wrap(&format!("{:>3}  ", index + 1), &clean(&sentence.text, 1000));
            let cells = |cell: &dyn Fn(&crate::tokenizer::Token) -> String| {
                sentence.tokens.iter().map(cell).collect::<Vec<_>>()
            };
            page.bands(
                "     ",
                &[
                    ("position", cells(&|token| token.position.to_string())),
                    ("token", cells(&|token| clean(&token.token, 24))),
                    ("id", cells(&|token| token.id.to_string())),
                ],
            );
        }
        if let Some(order) = &self.order {
            order.print(&mut page, &self.sentences);
        }
        if let Some(shift) = &self.same_shift {
            shift.print(&mut page, &self.sentences);
        }
        self.trace.print(&mut page);
        if let Some(masks) = &self.masks {
            masks.print(&mut page, &self.sentences);
        }
        if let Some(table) = &self.table {
            page.heading("The table of encodings");
            let path = page::path(&table.file);
            let [rows, width] = table.shape;
            match &table.error {
                None => {
                    page.wrap("wrote ", &path);
                    let starts = table.last_row_starts.iter();
                    let starts: Vec<String> = starts.map(|x| format!("{x:.6}")).collect();
                    page.line(format!(
                        "  tensor {} [{rows}, {width}] {}; row {} starts {}",
                        table.tensor,
                        table.dtype,
                        rows - 1,
                        starts.join(" ")
                    ));
                    page.line("  look at it with: pe-demo inspect FILE");
                }
                Some(why) => {
                    page.wrap("not written: ", &clean(why, 400));
                    page.line("  (--table FILE writes it elsewhere)");
                }
            }
        }
        page
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

/// Writes the encoder's own table. Only a place that was asked for must be writable.
fn write_table(args: &EncodeArgs, encoder: &Encoder) -> Result<Option<TableFile>> {
    if args.no_table {
        return Ok(None);
    }
    let position = &encoder.config().position;
    let rows = position.max_seq_len;
    let spec = TableSpec::new(position.sinusoidal, 0, rows, DType::F32);
    let table = encoder.position().encoding(0, rows)?;
    let file = args.table.as_deref().unwrap_or(Path::new(DEFAULT_TABLE));
    let result = checkpoint::save(file, &table, &spec);
    let error = match (result, &args.table) {
        (Ok(()), _) => None,
        (Err(error), None) => Some(error.to_string()),
        (Err(error), Some(_)) => return Err(error).context("the table"),
    };
    Ok(Some(TableFile {
        file: file.to_owned(),
        tensor: DEFAULT_TENSOR,
        shape: [rows, spec.config.d_model],
        dtype: "f32",
        last_row_starts: table
            .get(rows - 1)?
            .to_vec1()?
            .into_iter()
            .take(4)
            .collect(),
        error,
    }))
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
