//! The tokenizer and the encoder of sentences.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use candle_core::{DType, Device};
use pe_candle::PositionalEncodingConfig;

use super::embeddings::{self, Embeddings};
use super::options::{self, Options};
use crate::encoder::trained::checkpoint::{self, Checkpoint};
use crate::encoder::trained::classifier::Classifier;
use crate::encoder::trained::task::Task;
use crate::encoder::weights::Seeded;
use crate::encoder::{Adds, DEFAULT_ROWS, Encoder, EncoderConfig, MAX_TOKENS, Scheme};
use crate::sources::fetch;
use crate::sources::origin::Origin;
use crate::sources::overwrite::Named;
use crate::terminal::log::Log;
use crate::terminal::numbers::thousands;
use crate::terminal::width::clean;
use crate::text::tokenizer::{self, Sentence, Tokenizer, TokenizerSource};

/// All of it but the encoder.
pub(super) struct Parts {
    pub(super) source: TokenizerSource,
    pub(super) tokenizer: Tokenizer,
    weights: Weights,
    device: Device,
    /// The files that were read for it.
    pub(super) read: Vec<Named>,
}

/// The origin of the encoder's weights.
enum Weights {
    /// All from the seed.
    Seeded,
    /// All from the seed but these.
    Pretrained(Embeddings),
    /// All from a training run.
    Trained(Checkpoint),
}

/// An encoder, and where it comes from.
pub(super) struct Assembly<'a> {
    pub(super) encoder: Encoder,
    pub(super) pretrained: Option<&'a Embeddings>,
    pub(super) trained: Option<(&'a Checkpoint, Classifier)>,
}

impl Assembly<'_> {
    /// Returns the seed of the weights.
    pub(super) fn seed(&self, options: &Options) -> u64 {
        let trained = self.trained.as_ref();
        trained.map_or(options.seed, |(checkpoint, _)| checkpoint.model.seed)
    }
}

/// The most tokens of a sentence, and the reason.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    tokens: usize,
    why: Option<&'static str>,
}

impl Limit {
    /// Checks the length of a sentence, which messages call `name`.
    pub(super) fn check(self, name: &str, tokens: usize) -> Result<()> {
        ensure!(
            tokens <= self.tokens,
            "{name} has {tokens} tokens, at most {} can be encoded{}",
            self.tokens,
            self.why.map_or(String::new(), |why| format!(" ({why})"))
        );
        Ok(())
    }
}

impl Parts {
    /// Reads the files that the options name.
    pub(super) fn load(options: &Options, log: &mut Log<'_>) -> Result<Self> {
        let device = options.device.open()?;
        let mut read = Vec::new();
        let (weights, beside) = match &options.weights {
            options::Weights::Trained(name) => {
                let origin = Origin::parse(name, embeddings::FILE).context("--weights")?;
                let path = fetch::local(&origin, checkpoint::MAX_BYTES, log);
                let path = path.context("--weights")?;
                let trained = Checkpoint::read(&path)?;
                read.push(("--weights", path));
                (Weights::Trained(trained), None)
            }
            options::Weights::Pretrained(names) => {
                let (embeddings, origin) = Embeddings::load(options, names, log)?;
                read.extend(embeddings.files());
                (Weights::Pretrained(embeddings), Some(beside(origin)?))
            }
            options::Weights::Seeded => (Weights::Seeded, None),
        };
        let source = match (&options.tokenizer, beside) {
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

    /// Checks that the weights have a vector for each token id: Candle would fail late.
    fn check_vocabulary(&self) -> Result<()> {
        let entries = self.tokenizer.vocab_size();
        match &self.weights {
            Weights::Seeded => {}
            Weights::Pretrained(embeddings) => ensure!(
                embeddings.tokens.rows >= entries,
                "{} has vectors for {} tokens, the tokenizer {} has {entries}",
                clean(&embeddings.tokens.tensor, 200),
                embeddings.tokens.rows,
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

    /// Returns the task that the weights were trained on, if they were.
    pub(super) fn task(&self) -> Option<Task> {
        match &self.weights {
            Weights::Trained(checkpoint) => Some(checkpoint.model.task),
            Weights::Pretrained(_) | Weights::Seeded => None,
        }
    }

    /// Returns how long a sentence may be.
    pub(super) fn limit(&self, options: &Options) -> Limit {
        const LEARNED: &str = "rows of the learned positions";
        let rows = match &self.weights {
            Weights::Trained(checkpoint) => match checkpoint.model.scheme.adds() {
                Adds::TrainedRows => Some((checkpoint.model.max_seq_len, LEARNED)),
                Adds::Nothing | Adds::Sinusoids => None,
            },
            Weights::Pretrained(Embeddings {
                positions: Some(positions),
                ..
            }) => Some((positions.rows, LEARNED)),
            Weights::Pretrained(_) | Weights::Seeded => {
                options.max_seq_len.map(|rows| (rows, "--max-seq-len"))
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

    /// Checks the lengths of sentences.
    pub(super) fn check_lengths(&self, options: &Options, sentences: &[Sentence]) -> Result<()> {
        let limit = self.limit(options);
        for (sentence, number) in sentences.iter().zip(1..) {
            limit.check(&format!("sentence {number}"), sentence.tokens.len())?;
        }
        Ok(())
    }

    /// Builds the encoder for sentences of up to `longest` tokens.
    pub(super) fn assemble(&self, options: &Options, longest: usize) -> Result<Assembly<'_>> {
        let rows = longest.max(DEFAULT_ROWS);
        let pretrained = match &self.weights {
            Weights::Trained(checkpoint) => {
                let classifier = checkpoint.classifier(rows, &self.device)?;
                return Ok(Assembly {
                    encoder: classifier.encoder.clone(),
                    pretrained: None,
                    trained: Some((checkpoint, classifier)),
                });
            }
            Weights::Pretrained(embeddings) => Some(embeddings),
            Weights::Seeded => None,
        };
        Ok(Assembly {
            encoder: self.encoder(options, rows, pretrained)?,
            pretrained,
            trained: None,
        })
    }

    /// Builds an encoder with weights from the seed, except for pretrained embeddings.
    fn encoder(
        &self,
        options: &Options,
        rows: usize,
        pretrained: Option<&Embeddings>,
    ) -> Result<Encoder> {
        let d_model = pretrained.map_or(options.d_model, |embeddings| embeddings.tokens.width);
        let positions = pretrained.and_then(|embeddings| embeddings.positions.as_ref());
        let position = PositionalEncodingConfig {
            max_seq_len: match positions {
                Some(positions) => positions.rows,
                None => options.max_seq_len.unwrap_or(rows),
            },
            seed: options.seed,
            ..PositionalEncodingConfig::new(d_model)
        };
        let own = self.tokenizer.vocab_size();
        let vocab_size = pretrained.map_or(own, |embeddings| embeddings.tokens.rows);
        let config = EncoderConfig {
            heads: options.heads,
            layers: options.layers,
            norm: options.norm,
            scheme: match positions {
                Some(_) => Scheme::Learned,
                None => options.scheme,
            },
            position,
            ..EncoderConfig::new(vocab_size, d_model)
        };
        let mut tensors = HashMap::new();
        if let Some(embeddings) = pretrained {
            let vectors = embeddings.tokens.vectors.clone();
            tensors.insert("embedding.weight".to_owned(), vectors);
        }
        if let Some(positions) = positions {
            tensors.insert("position.weight".to_owned(), positions.vectors.clone());
        }
        let weights = Seeded::new(options.seed).with(tensors);
        let weights = weights.var_builder(DType::F32, &self.device);
        Ok(Encoder::new(config, &weights)?)
    }
}

/// Returns the tokenizer that belongs to a checkpoint.
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
                "--embeddings {}: there is no {} next to it; name its tokenizer with --tokenizer",
                path.display(),
                tokenizer::FILE
            );
            Ok(TokenizerSource::File(file))
        }
    }
}
