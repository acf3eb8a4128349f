//! What `pe-demo encode` shows, as text and as JSON.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use super::maps::Maps;
use super::table::TableFile;
use super::{Answer, Model as Encoding, Parts, Sizes, Totals, batches, first, sight};
use crate::chart;
use crate::cli::EncodeArgs;
use crate::commands::studies::{Masks, Order, SameShift, Trace};
use crate::encoder::{Norm, Scheme};
use crate::terminal::log::Verbosity;
use crate::terminal::page::{self, Page, clean, prose};
use crate::text::tokenizer::{Sentence, Token};

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
    /// How long the vectors of a checkpoint are.
    #[serde(skip_serializing_if = "Option::is_none")]
    sizes: Option<Sizes>,
    /// All sentences, of which those above are the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<Totals>,
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
    /// Where it computes.
    device: String,
    /// The number of weights of the encoder.
    weights: u64,
    /// The file that they come from, if they were trained.
    weights_file: Option<String>,
    /// Where the words' vectors come from, if not from the seed.
    embeddings: Option<String>,
    /// The steps of training that they had.
    trained_steps: Option<u64>,
    tokenizer: String,
    vocab_size: usize,
}

impl Report {
    pub(super) fn of(
        args: &EncodeArgs,
        parts: &Parts,
        encoding: &Encoding<'_>,
        sentences: Vec<Sentence>,
        sizes: Option<Sizes>,
        all: Option<Totals>,
    ) -> Result<Self> {
        let sight = sight(args);
        let (encoder, trained) = (&encoding.encoder, encoding.trained.as_ref());
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
                seed: trained.map_or(args.seed, |(checkpoint, _)| checkpoint.model.seed),
                device: args.device.to_string(),
                weights: config.parameters().unwrap_or(0),
                weights_file: args.weights.clone(),
                trained_steps: trained.and_then(|(checkpoint, _)| Some(checkpoint.best?.step)),
                embeddings: args.embeddings.clone(),
                tokenizer: parts.source.to_string(),
                vocab_size: parts.tokenizer.vocab_size(),
            },
            order: Order::of(encoder, &sentences, sight)?,
            answers: match trained {
                Some((checkpoint, classifier)) => {
                    Some(Answer::all(checkpoint, classifier, &sentences)?)
                }
                None => None,
            },
            sizes,
            all,
            same_shift: match sinusoidal {
                true => SameShift::of(encoder, &sentences)?,
                false => None,
            },
            trace: sinusoidal.then(trace).transpose()?,
            masks: Masks::of(encoder, &sentences)?,
            attention,
            attention_file: args.attention.clone(),
            table: TableFile::write(args, encoder)?,
            sentences,
        })
    }

    pub(super) fn page(&self, verbosity: Verbosity) -> Page {
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
                 entries{}{}",
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
                },
                match model.device.as_str() {
                    "cpu" => String::new(),
                    device => format!(", on {device}"),
                }
            ),
        );
        if let Some(all) = &self.all {
            page.paragraph(&format!(
                "{} sentences of {} to {} tokens, {} in all, were encoded. Below are the first {}; \
                 --output FILE keeps a vector for each.",
                page::thousands(all.sentences),
                all.shortest,
                all.longest,
                page::thousands(all.tokens),
                page::thousands(self.sentences.len() as u64)
            ));
        }
        if let Some(sizes) = &self.sizes {
            sizes.print(&mut page);
        }
        page.heading("Sentences, and the position of each token");
        for (index, sentence) in self.sentences.iter().enumerate() {
            if index > 0 {
                page.line("");
            }
            page.wrap(&format!("{:>3}  ", index + 1), &prose(&sentence.text, 1000));
            let cells = |cell: &dyn Fn(&Token) -> String| {
                sentence.tokens.iter().map(cell).collect::<Vec<_>>()
            };
            page.bands(
                "     ",
                &[
                    ("position", cells(&|token| token.position.to_string())),
                    ("token", cells(&|token| prose(&token.token, 24))),
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
            table.print(&mut page, verbosity);
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
                page::path(Path::new(file)),
                page::thousands(steps)
            ),
            (Some(file), None) => format!("{weights} weights from {}", page::path(Path::new(file))),
            (None, _) if self.embeddings.is_some() => format!(
                "{weights} weights: words' vectors of {}, the others from seed {} (not trained)",
                page::path(Path::new(self.embeddings.as_deref().unwrap_or_default())),
                self.seed
            ),
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
    let picture = match png {
        true => chart::png(&figure)?,
        false => chart::svg(&figure)?,
    };
    chart::write(file, &picture.bytes)
}
