//! Sentences as token ids.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Error, Result, anyhow, ensure};
use serde::Serialize;
use tokenizers::ModelWrapper;

use crate::sources::fetch;
use crate::sources::file;
use crate::sources::origin::{HubName, Origin};
use crate::terminal::log::Log;
use crate::terminal::width::{clean, clean_path};

/// The built-in tokenizer. `assets/README.md` describes its origin.
const BUILT_IN: &[u8] = include_bytes!("../../assets/tokenizer.json");

/// The largest tokenizer file that is read.
const MAX_BYTES: u64 = 256 << 20;

/// The name that such files have.
pub(crate) const FILE: &str = "tokenizer.json";

/// The origin of a tokenizer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TokenizerSource {
    /// The one that the program carries.
    #[default]
    BuiltIn,
    /// A `tokenizer.json` on this machine.
    File(PathBuf),
    /// The `tokenizer.json` of a repository on the Hugging Face hub, or another file there.
    Hub(HubName),
}

impl From<Origin> for TokenizerSource {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::File(path) => Self::File(path),
            Origin::Hub(name) => Self::Hub(name),
        }
    }
}

impl FromStr for TokenizerSource {
    type Err = Error;

    /// Reads the name of an existing file or, if there is none, of a repository.
    fn from_str(text: &str) -> Result<Self> {
        Origin::parse(text, FILE).map(Self::from)
    }
}

impl std::fmt::Display for TokenizerSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in"),
            Self::File(path) => path.display().fmt(f),
            Self::Hub(name) => name.fmt(f),
        }
    }
}

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Token {
    /// As the vocabulary has it.
    pub token: String,
    /// Its number in the vocabulary.
    pub id: u32,
    /// Its position, from 0.
    pub position: usize,
    /// Whether it was added around the sentence, as `[CLS]` is.
    pub special: bool,
}

/// A sentence and its tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// As given.
    pub text: String,
    /// The tokens in order, at least one.
    pub tokens: Vec<Token>,
}

impl Sentence {
    /// Returns the ids of the tokens.
    pub fn ids(&self) -> Vec<u32> {
        self.tokens.iter().map(|token| token.id).collect()
    }
}

/// Turns sentences into tokens.
#[derive(Debug, Clone)]
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocab_size: usize,
}

impl Tokenizer {
    /// Reads the tokenizer of a source, from the hub if need be.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a tokenizer, or cannot be fetched.
    pub fn load(source: &TokenizerSource) -> Result<Self> {
        match source {
            TokenizerSource::BuiltIn => Self::from_bytes(BUILT_IN),
            TokenizerSource::File(path) => Self::from_file(path),
            TokenizerSource::Hub(name) => Self::from_file(&fetch::silently(name, MAX_BYTES)?),
        }
    }

    /// Does the same as [`Tokenizer::load`], with a bar while a file is fetched. Also returns the file, if
    /// there is one.
    pub(crate) fn load_with(
        source: &TokenizerSource,
        log: &mut Log<'_>,
    ) -> Result<(Self, Option<PathBuf>)> {
        let path = match source {
            TokenizerSource::BuiltIn => return Ok((Self::from_bytes(BUILT_IN)?, None)),
            TokenizerSource::File(path) => path.clone(),
            TokenizerSource::Hub(name) => fetch::local(&Origin::Hub(name.clone()), MAX_BYTES, log)?,
        };
        Ok((Self::from_file(&path)?, Some(path)))
    }

    fn from_file(path: &Path) -> Result<Self> {
        let bytes = file::bytes(path, MAX_BYTES, "a tokenizer")?;
        Self::from_bytes(&bytes).with_context(|| format!("{}: not a tokenizer", clean_path(path)))
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut inner = tokenizers::Tokenizer::from_bytes(bytes).map_err(|e| anyhow!("{e}"))?;
        // Padding and cutting are the encoder's business.
        inner.with_padding(None);
        inner.with_truncation(None).map_err(|e| anyhow!("{e}"))?;
        let largest = inner.get_vocab(true).into_values().max();
        let largest = largest.ok_or_else(|| anyhow!("the vocabulary is empty"))?;
        Ok(Self {
            inner,
            vocab_size: largest as usize + 1,
        })
    }

    /// Returns one more than the largest id.
    pub fn vocab_size(&self) -> usize {
        self.vocab_size
    }

    /// Returns the id of the token that replaces every text without a token of its own, if there is one.
    pub fn unknown(&self) -> Option<u32> {
        let token = match self.inner.get_model() {
            ModelWrapper::WordPiece(model) => &model.unk_token,
            ModelWrapper::WordLevel(model) => &model.unk_token,
            ModelWrapper::BPE(model) => model.unk_token.as_ref()?,
            ModelWrapper::Unigram(_) => "<unk>",
        };
        self.inner.token_to_id(token)
    }

    /// Returns the tokens of a sentence, special ones included.
    ///
    /// # Errors
    /// Returns an error if the text has no tokens, or if the tokenizer rejects it.
    pub fn encode(&self, text: &str) -> Result<Sentence> {
        let encoding = self.encoding(text)?;
        let tokens: Vec<Token> = encoding
            .get_tokens()
            .iter()
            .zip(encoding.get_ids())
            .zip(encoding.get_special_tokens_mask())
            .enumerate()
            .map(|(position, ((token, id), special))| Token {
                token: token.clone(),
                id: *id,
                position,
                special: *special != 0,
            })
            .collect();
        Ok(Sentence {
            text: text.to_owned(),
            tokens,
        })
    }

    /// Returns the ids of those tokens.
    pub(crate) fn ids(&self, text: &str) -> Result<Vec<u32>> {
        Ok(self.encoding(text)?.get_ids().to_vec())
    }

    fn encoding(&self, text: &str) -> Result<tokenizers::Encoding> {
        // A sentence may be as long as a book.
        let quoted = || format!("sentence \"{}\"", clean(text, 60));
        let encoding = self
            .inner
            .encode(text, true)
            .map_err(|e| anyhow!("{e}"))
            .with_context(quoted)?;
        ensure!(!encoding.is_empty(), "{} has no tokens", quoted());
        Ok(encoding)
    }
}
