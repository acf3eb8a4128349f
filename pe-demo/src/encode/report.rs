//! What `pe-demo encode` shows, as text and as JSON.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use candle_core::DType;
use pe_candle::checkpoint::{self, DEFAULT_TENSOR, TableSpec};
use serde::Serialize;

use super::maps::Maps;
use super::{Answer, Trained, batches, first};
use crate::cli::EncodeArgs;
use crate::encoder::{Encoder, Norm, Scheme};
use crate::mask::Sight;
use crate::page::{self, Page, clean};
use crate::plot;
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
    /// What a trained encoder answers, for each sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Vec<Answer>>,
    order: Option<Order>,
    /// About the sinusoidal table; null with another scheme.
    same_shift: Option<SameShift>,
    /// About the sinusoidal table; null with another scheme.
    trace: Option<Trace>,
    masks: Option<Masks>,
    /// Where the tokens of a trained encoder look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attention: Vec<Maps>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attention_file: Option<PathBuf>,
    table: Option<TableFile>,
}

#[derive(Debug, Serialize)]
struct Model {
    d_model: usize,
    heads: usize,
    layers: usize,
    d_ff: usize,
    norm: &'static str,
    scheme: Scheme,
    causal: bool,
    seed: u64,
    /// The number of weights of the encoder.
    weights: u64,
    /// The file that they come from, if they were trained.
    weights_file: Option<PathBuf>,
    /// The steps of training that they had.
    trained_steps: Option<u64>,
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
        trained: Option<&Trained>,
    ) -> Result<Self> {
        let sight = match args.causal {
            true => Sight::Past,
            false => Sight::Whole,
        };
        let config = encoder.config();
        let sinusoidal = config.scheme == Scheme::Sinusoidal;
        let shown = batches(first(&sentences), config.heads);
        let trace = || Trace::of(encoder, &shown, sight);
        let attention = match trained {
            Some(_) => Maps::of(encoder, &sentences, sight)?,
            None => Vec::new(),
        };
        if let Some(file) = &args.attention {
            draw(file, &attention, &sentences)?;
        }
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
                scheme: config.scheme,
                causal: args.causal,
                seed: trained.map_or(args.seed, |trained| trained.checkpoint.model.seed),
                weights: config.parameters().unwrap_or(0),
                weights_file: args.weights.clone(),
                trained_steps: trained.and_then(|trained| Some(trained.checkpoint.best?.step)),
                tokenizer: source.to_string(),
                vocab_size: config.vocab_size,
            },
            order: Order::of(encoder, &sentences, sight)?,
            answers: trained.map(|trained| trained.answers.clone()),
            same_shift: match sinusoidal {
                true => SameShift::of(encoder, &sentences)?,
                false => None,
            },
            trace: sinusoidal.then(trace).transpose()?,
            masks: Masks::of(encoder, &sentences)?,
            attention,
            attention_file: args.attention.clone(),
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
                "d_model {}, {} layers of {} heads, {}-norm, {}{}, tokenizer {} with {} \
                 entries{}",
                model.d_model,
                model.layers,
                model.heads,
                model.norm,
                match model.scheme {
                    Scheme::None => "no positions, ",
                    Scheme::Sinusoidal => "",
                    Scheme::Learned => "learned positions, ",
                    Scheme::Rotary => "rotary positions, ",
                },
                model.origin(),
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
        if let Some(answers) = &self.answers {
            page.heading("Who does it?");
            for (index, answer) in answers.iter().enumerate() {
                page.line(format!(
                    "{:>3}  {:<12} {:>5.1} %",
                    index + 1,
                    clean(&answer.answer, 12),
                    100.0 * answer.probability
                ));
            }
            page.paragraph(
                "The likeliest of the people that the encoder was trained to tell apart. Only \
                 sentences about two of them, one of whom does something to the other, have an \
                 answer.",
            );
        }
        if !self.attention.is_empty() {
            page.heading("Where the tokens look");
            page.paragraph(
                "Who looks (a line each) at whom (columns in the same order): █ 3/4 of the \
                 attention or more, ▓ 1/2, ▒ 1/4, ░ 1/8, · less.",
            );
            for maps in &self.attention {
                maps.print(&mut page, &self.sentences);
            }
            if let Some(file) = &self.attention_file {
                page.line("");
                page.wrap("the first of them as a figure: ", &page::path(file));
            }
        }
        if let Some(order) = &self.order {
            order.print(&mut page, &self.sentences);
        }
        if let Some(shift) = &self.same_shift {
            shift.print(&mut page, &self.sentences);
        }
        if let Some(trace) = &self.trace {
            trace.print(&mut page);
        }
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
        if let Some(why) = self.model.not_shown() {
            page.heading("Not shown");
            page.paragraph(&format!(
                "Which shifts are the same rotation, how much of the encoding is left after each \
                 layer, and the table itself are about sines and cosines that are added before the \
                 first layer (--scheme sinusoidal). {why}"
            ));
        }
        page
    }
}

impl Model {
    /// Where the weights come from.
    fn origin(&self) -> String {
        let weights = page::thousands(self.weights);
        match (&self.weights_file, self.trained_steps) {
            (Some(file), Some(steps)) => format!(
                "{weights} weights from {} ({} steps of training)",
                page::path(file),
                page::thousands(steps)
            ),
            (Some(file), None) => format!("{weights} weights from {}", page::path(file)),
            (None, _) => format!("{weights} weights from seed {} (not trained)", self.seed),
        }
    }

    /// Why parts of the report are left out, if any are.
    fn not_shown(&self) -> Option<&'static str> {
        match self.scheme {
            Scheme::Sinusoidal => None,
            Scheme::None => Some("This encoder adds nothing."),
            Scheme::Learned => Some(
                "This encoder adds a vector of weights for each position, of which nothing is \
                 known beforehand.",
            ),
            Scheme::Rotary => Some(
                "This encoder adds nothing: it turns queries and keys in every layer, so that \
                 scores depend on distances.",
            ),
        }
    }
}

/// Draws the maps of the first sentence.
fn draw(file: &Path, maps: &[Maps], sentences: &[Sentence]) -> Result<()> {
    let Some(maps) = maps.first() else {
        bail!("no sentence is short enough for a map of attention");
    };
    let figure = maps.figure(sentences);
    let png = file
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("png"));
    plot::write(
        file,
        &if png {
            plot::png(&figure)?
        } else {
            plot::svg(&figure)?
        },
    )
}

/// Writes the encoder's own table. Only a place that was asked for must be writable.
fn write_table(args: &EncodeArgs, encoder: &Encoder) -> Result<Option<TableFile>> {
    // With trained weights the table is the same as without, and no one asked for it.
    let wanted = args.table.is_some() || (!args.no_table && args.weights.is_none());
    if !wanted || encoder.config().scheme != Scheme::Sinusoidal {
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
