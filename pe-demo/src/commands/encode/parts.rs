//! What sentences are encoded with: the tokenizer, and an encoder as long as it must be.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};
use pe_candle::PositionalEncodingConfig;

use super::embeddings::{self, Given};
use crate::cli::{EncodeArgs, NormArg};
use crate::encoder::mask::Sight;
use crate::encoder::trained::checkpoint::{self, Checkpoint};
use crate::encoder::trained::classifier::Classifier;
use crate::encoder::weights::Seeded;
use crate::encoder::{Encoder, EncoderConfig, Norm, Scheme};
use crate::sources::fetch;
use crate::sources::origin::Origin;
use crate::sources::overwrite::Named;
use crate::terminal::log::Log;
use crate::terminal::page::{clean, thousands};
use crate::text::tokenizer::{self, Sentence, Tokenizer, TokenizerSource};

/// Rows of the table if no sentence needs more.
pub(super) const ROWS: usize = 50;

/// The most tokens of a sentence: attention takes memory of the square.
pub(super) const MAX_TOKENS: usize = 2048;

/// All but the encoder.
pub(super) struct Parts {
    pub(super) source: TokenizerSource,
    pub(super) tokenizer: Tokenizer,
    weights: Weights,
    device: Device,
    /// The files that all of it came from.
    pub(super) read: Vec<Named>,
}

/// Where the encoder's weights come from.
enum Weights {
    /// All from the seed.
    Seeded,
    /// All from the seed but these.
    Given(Given),
    /// All from a training.
    Trained(Checkpoint),
}

/// An encoder, and where it comes from.
pub(super) struct Model<'a> {
    pub(super) encoder: Encoder,
    pub(super) given: Option<&'a Given>,
    pub(super) trained: Option<(&'a Checkpoint, Classifier)>,
}

/// How many tokens a sentence may have, and why.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    tokens: usize,
    why: Option<&'static str>,
}

impl Limit {
    /// Refuses a sentence that is too long.
    pub(super) fn check(self, place: &str, tokens: usize) -> Result<()> {
        ensure!(
            tokens <= self.tokens,
            "{place} has {tokens} tokens, at most {} can be encoded{}",
            self.tokens,
            self.why.map_or(String::new(), |why| format!(" ({why})"))
        );
        Ok(())
    }
}

impl Parts {
    /// Reads what the arguments name.
    pub(super) fn load(args: &EncodeArgs, log: &mut Log<'_>) -> Result<Self> {
        let device = args.device.open()?;
        let mut read = Vec::new();
        let (weights, beside) = if let Some(name) = &args.weights {
            let origin = Origin::parse(name, embeddings::FILE).context("--weights")?;
            let path = fetch::local(&origin, checkpoint::MAX_BYTES, log).context("--weights")?;
            let trained = Checkpoint::read(&path)?;
            read.push(("--weights", path));
            (Weights::Trained(trained), None)
        } else if let Some(name) = &args.embeddings {
            let (given, origin) = Given::load(args, name, log)?;
            read.extend(given.files());
            (Weights::Given(given), Some(beside(origin)?))
        } else {
            (Weights::Seeded, None)
        };
        let source = match (&args.tokenizer, beside) {
            (Some(name), _) => name.parse().context("--tokenizer")?,
            (None, Some(source)) => source,
            (None, None) => TokenizerSource::BuiltIn,
        };
        let (tokenizer, path) = Tokenizer::load_with(&source, log)?;
        read.extend(path.map(|path| ("--tokenizer", path)));
        let parts = Self {
            source,
            tokenizer,
            weights,
            device,
            read,
        };
        log.detail(format!(
            "tokenizer {} with {} entries",
            parts.source,
            thousands(parts.tokenizer.vocab_size() as u64)
        ));
        parts.check_vocabulary()?;
        Ok(parts)
    }

    /// Ids that the weights have no vector for would be an error of Candle's, late.
    fn check_vocabulary(&self) -> Result<()> {
        let entries = self.tokenizer.vocab_size();
        match &self.weights {
            Weights::Seeded => {}
            Weights::Given(given) => ensure!(
                given.words.rows >= entries,
                "{} has vectors for {} tokens, the tokenizer {} has {entries}",
                clean(&given.words.tensor, 200),
                given.words.rows,
                self.source
            ),
            Weights::Trained(checkpoint) => ensure!(
                checkpoint.model.vocab_size == entries,
                "the weights are for {} tokens, the built-in tokenizer has {entries}",
                checkpoint.model.vocab_size,
            ),
        }
        Ok(())
    }

    /// Whether the weights were trained.
    pub(super) fn trained(&self) -> bool {
        matches!(self.weights, Weights::Trained(_))
    }

    /// How long a sentence may be.
    pub(super) fn limit(&self, args: &EncodeArgs) -> Limit {
        let rows = match &self.weights {
            Weights::Trained(checkpoint) => match checkpoint.model.scheme {
                Scheme::Learned => Some((
                    checkpoint.model.max_seq_len,
                    "rows of the learned positions",
                )),
                Scheme::None | Scheme::Sinusoidal | Scheme::Rotary => None,
            },
            Weights::Given(Given {
                positions: Some(positions),
                ..
            }) => Some((positions.rows, "rows of the learned positions")),
            Weights::Given(_) | Weights::Seeded => {
                args.max_seq_len.map(|rows| (rows, "--max-seq-len"))
            }
        };
        match rows {
            Some((rows, why)) if rows < MAX_TOKENS => Limit {
                tokens: rows,
                why: Some(why),
            },
            _ => Limit {
                tokens: MAX_TOKENS,
                why: None,
            },
        }
    }

    /// Refuses sentences that are too long.
    pub(super) fn check_lengths(&self, args: &EncodeArgs, sentences: &[Sentence]) -> Result<()> {
        let limit = self.limit(args);
        for (sentence, number) in sentences.iter().zip(1..) {
            limit.check(&format!("sentence {number}"), sentence.tokens.len())?;
        }
        Ok(())
    }

    /// The encoder, for sentences of up to `longest` tokens.
    pub(super) fn model(&self, args: &EncodeArgs, longest: usize) -> Result<Model<'_>> {
        let rows = longest.max(ROWS);
        Ok(match &self.weights {
            Weights::Trained(checkpoint) => {
                let classifier = checkpoint.classifier(rows, &self.device)?;
                Model {
                    encoder: classifier.encoder.clone(),
                    given: None,
                    trained: Some((checkpoint, classifier)),
                }
            }
            Weights::Given(given) => Model {
                encoder: self.encoder(args, rows, Some(given))?,
                given: Some(given),
                trained: None,
            },
            Weights::Seeded => Model {
                encoder: self.encoder(args, rows, None)?,
                given: None,
                trained: None,
            },
        })
    }

    fn encoder(&self, args: &EncodeArgs, rows: usize, given: Option<&Given>) -> Result<Encoder> {
        let d_model = given.map_or(args.d_model, |given| given.words.width);
        let positions = given.and_then(|given| given.positions.as_ref());
        let position = PositionalEncodingConfig {
            max_seq_len: match positions {
                Some(positions) => positions.rows,
                None => args.max_seq_len.unwrap_or(rows),
            },
            seed: args.seed,
            ..PositionalEncodingConfig::new(d_model)
        };
        let vocab_size = given.map_or(self.tokenizer.vocab_size(), |given| given.words.rows);
        let config = EncoderConfig {
            heads: args.heads,
            layers: args.layers,
            norm: match args.norm {
                NormArg::Post => Norm::Post,
                NormArg::Pre => Norm::Pre,
            },
            scheme: match positions {
                Some(_) => Scheme::Learned,
                None => args.scheme.into(),
            },
            position,
            ..EncoderConfig::new(vocab_size, d_model)
        };
        let mut tensors = HashMap::new();
        if let Some(given) = given {
            tensors.insert("embedding.weight".to_owned(), given.words.vectors.clone());
        }
        if let Some(positions) = positions {
            tensors.insert("position.weight".to_owned(), positions.vectors.clone());
        }
        let weights = Seeded::new(args.seed).with(tensors);
        let weights = weights.var_builder(DType::F32, &self.device);
        Ok(Encoder::new(config, &weights)?)
    }
}

/// In which directions tokens look.
pub(super) fn sight(args: &EncodeArgs) -> Sight {
    match args.causal {
        true => Sight::Past,
        false => Sight::Whole,
    }
}

/// The tokenizer that belongs to a checkpoint.
fn beside(origin: Origin) -> Result<TokenizerSource> {
    match origin {
        Origin::Hub(mut name) => {
            tokenizer::FILE.clone_into(&mut name.file);
            Ok(TokenizerSource::Hub(name))
        }
        Origin::File(path) => {
            let folder = match path.is_dir() {
                true => path.as_path(),
                false => path.parent().unwrap_or(Path::new("")),
            };
            let file = folder.join(tokenizer::FILE);
            ensure!(
                file.is_file(),
                "--embeddings {}: there is no {} beside it; name its tokenizer with --tokenizer",
                path.display(),
                tokenizer::FILE
            );
            Ok(TokenizerSource::File(file))
        }
    }
}
