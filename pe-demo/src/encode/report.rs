//! What `pe-demo encode` shows, as text and as JSON.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use candle_core::DType;
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, TableSpec};
use serde::Serialize;

use super::{batches, first};
use crate::cli::EncodeArgs;
use crate::encoder::{Encoder, Norm};
use crate::mask::Sight;
use crate::page::{self, Page, clean};
use crate::studies::{Masks, Order, SameShift, Trace};
use crate::tokenizer::{Sentence, Token, TokenizerSource};

/// Where the table goes unless `--table` says otherwise.
const DEFAULT_TABLE: &str = "pe-demo-table.safetensors";

/// All that is shown.
#[derive(Debug, Serialize)]
pub(super) struct Report {
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
    pub(super) fn of(
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

    pub(super) fn page(&self) -> Page {
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
            let cells = |cell: &dyn Fn(&Token) -> String| {
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
                    page.wrap(
                        "  ",
                        &format!(
                            "tensor {} [{rows}, {width}] {}; row {} starts {}",
                            table.tensor,
                            table.dtype,
                            rows - 1,
                            starts.join(" ")
                        ),
                    );
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
