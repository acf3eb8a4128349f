//! A close look at sentences, as text and as JSON.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;

use super::answers::Answers;
use super::batches::{batches, first};
use super::embeddings::Norms;
use super::maps::Maps;
use super::options::{Options, Weights};
use super::parts::{Assembly, Parts};
use super::stream::Totals;
use super::table::TableFile;
use super::unknown::Unknown;
use crate::commands::studies::{Masks, Order, SameShift, Section, Trace};
use crate::encoder::mask::Sight;
use crate::encoder::{Adds, Biases, Norm, Scheme};
use crate::terminal::numbers::thousands;
use crate::terminal::page::Page;
use crate::terminal::width::{clean, clean_path, prose};
use crate::text::tokenizer::{Sentence, Token};

/// All that is shown.
#[derive(Debug, Serialize)]
pub(super) struct CloseLook {
    program: &'static str,
    version: &'static str,
    model: Setup,
    pub(super) sentences: Vec<Sentence>,
    /// Sentences with text that the tokenizer does not know.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<Unknown>,
    /// The answers of a trained encoder, for each sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Answers>,
    /// The norms of a checkpoint's embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    sizes: Option<Norms>,
    /// All sentences. Those above are the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    all: Option<Totals>,
    order: Option<Order>,
    /// About the sinusoidal table; null with another scheme.
    same_shift: Option<SameShift>,
    /// About the sinusoidal table; null with another scheme.
    trace: Option<Trace>,
    masks: Option<Masks>,
    /// The attention weights of a trained encoder.
    #[serde(flatten)]
    pub(super) attention: Maps,
    pub(super) table: Option<TableFile>,
}

/// The encoder and its tokenizer.
#[derive(Debug, Serialize)]
struct Setup {
    d_model: usize,
    heads: usize,
    layers: usize,
    d_ff: usize,
    norm: Norm,
    scheme: Scheme,
    causal: bool,
    seed: u64,
    /// Its device.
    device: String,
    /// The number of weights of the encoder.
    weights: u64,
    /// The file that they come from, if they were trained.
    weights_file: Option<String>,
    /// The origin of the token embeddings, if not the seed.
    embeddings: Option<String>,
    /// The steps of training that they had.
    trained_steps: Option<u64>,
    tokenizer: String,
    vocab_size: usize,
}

impl CloseLook {
    /// Looks at sentences. Nothing is written.
    pub(super) fn of(
        options: &Options,
        parts: &Parts,
        assembly: &Assembly<'_>,
        sentences: Vec<Sentence>,
        sizes: Option<Norms>,
        all: Option<Totals>,
    ) -> Result<Self> {
        let (encoder, sight) = (&assembly.encoder, options.sight);
        let config = encoder.config();
        let sinusoidal = config.scheme.adds() == Adds::Sinusoids;
        let shown = batches(first(&sentences), config.heads);
        let trace = || Trace::of(encoder, &shown, sight);
        let trained = assembly.trained.as_ref();
        Ok(Self {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            model: Setup::of(options, parts, assembly),
            attention: match trained {
                Some(_) => Maps::of(encoder, &sentences, sight)?,
                None => Maps::default(),
            },
            unknown: Unknown::of(parts, &sentences),
            order: Order::of(encoder, &sentences, sight)?,
            answers: match trained {
                Some((checkpoint, classifier)) => {
                    Some(Answers::of(checkpoint, classifier, &sentences)?)
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
            table: None,
            sentences,
        })
    }

    /// Returns all of it as text.
    pub(super) fn page(&self) -> Page {
        let mut page = Page::new();
        page.line(format!(
            "{} {}: what positions do in a toy transformer encoder",
            self.program, self.version
        ));
        for section in self.sections() {
            section.print(&mut page, &self.sentences);
        }
        page
    }

    /// Returns the sections in the order of the page: what positions change, why, and the details.
    fn sections(&self) -> impl Iterator<Item = &dyn Section> {
        fn some<S: Section>(section: &Option<S>) -> Option<&dyn Section> {
            section.as_ref().map(|section| section as &dyn Section)
        }
        let all: [Option<&dyn Section>; 12] = [
            some(&self.unknown),
            some(&self.all),
            some(&self.answers),
            some(&self.order),
            Some(&self.model),
            some(&self.sizes),
            some(&self.same_shift),
            some(&self.trace),
            Some(&Tokens),
            Some(&self.attention),
            some(&self.masks),
            some(&self.table),
        ];
        all.into_iter().flatten()
    }
}

impl Setup {
    fn of(options: &Options, parts: &Parts, assembly: &Assembly<'_>) -> Self {
        let config = assembly.encoder.config();
        let trained = assembly.trained.as_ref();
        let (weights_file, embeddings) = match &options.weights {
            Weights::Seeded => (None, None),
            Weights::Pretrained(names) => (None, Some(names.tokens.clone())),
            Weights::Trained(file) => (Some(file.clone()), None),
        };
        Self {
            d_model: config.d_model(),
            heads: config.heads,
            layers: config.layers,
            d_ff: config.d_ff,
            norm: config.norm,
            scheme: config.scheme,
            causal: options.sight == Sight::Past,
            seed: assembly.seed(options),
            device: options.device.to_string(),
            weights: config.parameters().unwrap_or(0),
            weights_file,
            trained_steps: trained.and_then(|(checkpoint, _)| Some(checkpoint.best?.step)),
            embeddings,
            tokenizer: parts.source.to_string(),
            vocab_size: parts.tokenizer.vocab_size(),
        }
    }

    fn in_words(&self) -> String {
        let norm = match self.norm {
            Norm::Post => "post",
            Norm::Pre => "pre",
        };
        let positions = match self.scheme.in_words() {
            "" => String::new(),
            positions => format!("{positions}, "),
        };
        let causal = match self.causal {
            true => ", looking back only",
            false => "",
        };
        let device = match self.device.as_str() {
            "cpu" => String::new(),
            device => format!(", on {device}"),
        };
        format!(
            "d_model {}, {} layers of {} heads, {norm}-norm, {positions}{}, tokenizer {} with {} \
             entries{causal}{device}",
            self.d_model,
            self.layers,
            self.heads,
            self.origin(),
            clean(&self.tokenizer, 60),
            self.vocab_size,
        )
    }

    /// Returns where the weights come from.
    fn origin(&self) -> String {
        let weights = thousands(self.weights);
        let file = |name: &str| clean_path(Path::new(name));
        match (&self.weights_file, &self.embeddings) {
            (Some(name), _) => {
                let steps = self.trained_steps.map_or(String::new(), |steps| {
                    format!(" ({} steps of training)", thousands(steps))
                });
                format!("{weights} weights from {}{steps}", file(name))
            }
            (None, Some(name)) => format!(
                "{weights} weights: words' vectors of {}, the others from seed {} (not trained)",
                file(name),
                self.seed
            ),
            (None, None) => format!("{weights} weights from seed {} (not trained)", self.seed),
        }
    }
}

/// The encoder, and why sections are left out, if any are.
impl Section for Setup {
    fn print(&self, page: &mut Page, _: &[Sentence]) {
        page.heading("The encoder");
        page.wrap("", &self.in_words());
        page.paragraph(match self.weights_file {
            Some(_) => "d_model is the number of columns of a vector.",
            None => {
                "d_model is the number of columns of a vector. The weights are random numbers: what \
                 follows is due to the architecture, not to training."
            }
        });
        let why = match (self.scheme.adds(), self.scheme.biases()) {
            (Adds::Sinusoids, _) => return,
            (Adds::Nothing, Biases::Nothing) if !self.scheme.rotates() => {
                "This encoder adds nothing."
            }
            (Adds::Nothing, Biases::Slopes | Biases::Buckets) => {
                "This encoder adds nothing to the vectors: it adds a bias to the attention scores of \
                 every layer, which depends on distances."
            }
            (Adds::TrainedRows, _) => {
                "This encoder adds a vector of weights for each position, of which nothing is \
                 known beforehand."
            }
            (Adds::Nothing, Biases::Nothing) => {
                "This encoder adds nothing: it turns queries and keys in every layer, so that \
                 scores depend on distances."
            }
        };
        page.paragraph(&format!(
            "Not shown: the shifts by one rotation, the share of the encoding that each layer retains, \
             and the table itself are about sines and cosines that are added before the \
             first layer (--scheme sinusoidal). {why}"
        ));
    }
}

/// All sentences. Some are shown.
impl Section for Totals {
    fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        page.paragraph(&format!(
            "{} sentences of {} to {} tokens, {} in all, were encoded. Below are the first {}; \
             --output FILE keeps a vector for each.",
            thousands(self.sentences),
            self.shortest,
            self.longest,
            thousands(self.tokens),
            thousands(sentences.len() as u64)
        ));
    }
}

/// The most sentences that are shown with their tokens.
const FEW: usize = 4;

/// The tokens of the first sentences.
struct Tokens;

impl Section for Tokens {
    fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        page.heading("Sentences, and the position of each token");
        let around = sentences.iter().flat_map(|sentence| &sentence.tokens);
        if let Some(around) = around.clone().find(|token| token.special) {
            page.paragraph(&format!(
                "The tokenizer puts tokens such as {} around a sentence. The id is the number of a token in \
                 its vocabulary.",
                prose(&around.token, 24)
            ));
            page.line("");
        }
        let (first, more) = sentences.split_at(sentences.len().min(FEW));
        for (index, sentence) in first.iter().enumerate() {
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
        let lengths = more.iter().map(|sentence| sentence.tokens.len());
        if let (Some(least), Some(most)) = (lengths.clone().min(), lengths.max()) {
            let sentences = match more.len() {
                1 => "1 more sentence".to_owned(),
                count => format!("{} more sentences", thousands(count as u64)),
            };
            let tokens = match least == most {
                true => format!("{most} tokens"),
                false => format!("{least} to {most} tokens"),
            };
            page.line("");
            page.paragraph(&format!(
                "And {sentences} of {tokens}: --json lists them, --output FILE keeps a vector for each."
            ));
        }
    }
}
