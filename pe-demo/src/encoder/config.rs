//! The sizes and choices of an encoder.

use candle_core::{Result, bail};
use pe_candle::PositionalEncodingConfig;
use serde::{Deserialize, Serialize};

/// Where a layer normalizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// After each residual connection, as the paper has it.
    #[default]
    Post,
    /// Before attention and feed-forward, and once at the end.
    Pre,
}

/// What a layer does with the vectors that it was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residual {
    /// Adds its own result to them.
    #[default]
    Added,
    /// Drops them: for comparison.
    Omitted,
}

/// How the encoder learns where a token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Not at all: for comparison.
    None,
    /// The sinusoidal encoding, added once before the first layer.
    #[default]
    Sinusoidal,
    /// A vector per position that is trained like any weight, added once before the first layer.
    /// Positions beyond those it was made for have none.
    Learned,
    /// Queries and keys are turned by angles that grow with the position, in every layer.
    Rotary,
}

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Sinusoidal, Self::Learned, Self::Rotary];

    /// The name, as on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Sinusoidal => "sinusoidal",
            Self::Learned => "learned",
            Self::Rotary => "rotary",
        }
    }
}

/// Evaluation or training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Dropout off.
    #[default]
    Eval,
    /// Dropout on.
    Train,
}

/// The sizes and choices of an encoder.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderConfig {
    /// Entries of the vocabulary.
    pub vocab_size: usize,
    /// Heads of each layer; they share the width evenly.
    pub heads: usize,
    /// Number of layers.
    pub layers: usize,
    /// Width inside the feed-forward part.
    pub d_ff: usize,
    /// Where layers normalize.
    pub norm: Norm,
    /// Whether layers add their input.
    pub residual: Residual,
    /// Where positions come from.
    pub scheme: Scheme,
    /// The positional encoding: width, rows (for a learned one too), dropout and its seed. The
    /// layers drop with the same probability and with seeds of their own, counted on from this one.
    pub position: PositionalEncodingConfig,
}

impl EncoderConfig {
    /// A post-norm encoder of 2 layers with 4 heads and a feed-forward part four times as wide.
    pub const fn new(vocab_size: usize, d_model: usize) -> Self {
        Self {
            vocab_size,
            heads: 4,
            layers: 2,
            d_ff: d_model.saturating_mul(4),
            norm: Norm::Post,
            residual: Residual::Added,
            scheme: Scheme::Sinusoidal,
            position: PositionalEncodingConfig::new(d_model),
        }
    }

    /// The width of the vectors.
    pub const fn d_model(&self) -> usize {
        self.position.sinusoidal.d_model
    }

    /// The number of weights, if it can be told.
    pub fn parameters(&self) -> Option<u64> {
        let d = self.d_model() as u64;
        let attention = d.checked_mul(d)?.checked_add(d)?.checked_mul(4)?;
        let feed_forward = (self.d_ff as u64)
            .checked_mul(d.checked_mul(2)?.checked_add(1)?)?
            .checked_add(d)?;
        let norms = d.checked_mul(4)?;
        let rows = match self.scheme {
            Scheme::Learned => self.position.max_seq_len as u64,
            Scheme::None | Scheme::Sinusoidal | Scheme::Rotary => 0,
        };
        attention
            .checked_add(feed_forward)?
            .checked_add(norms)?
            .checked_mul(self.layers as u64)?
            .checked_add((self.vocab_size as u64).checked_add(rows)?.checked_mul(d)?)?
            .checked_add(d.checked_mul(2)?)
    }

    pub(super) fn check(&self) -> Result<()> {
        let (d_model, heads) = (self.d_model(), self.heads);
        if heads == 0 || !d_model.is_multiple_of(heads) {
            bail!("d_model {d_model} cannot be shared evenly by {heads} heads");
        }
        for (name, value) in [
            ("vocab_size", self.vocab_size),
            ("layers", self.layers),
            ("d_ff", self.d_ff),
        ] {
            if value == 0 {
                bail!("{name} is 0");
            }
        }
        let head_dim = d_model / heads;
        if self.scheme == Scheme::Rotary && !head_dim.is_multiple_of(2) {
            bail!("heads of width {head_dim} have no pairs to turn: rotary needs an even width");
        }
        match self.parameters() {
            Some(count) if count <= MAX_PARAMETERS => Ok(()),
            count => bail!(
                "an encoder of {} weights is above the limit of {MAX_PARAMETERS}",
                count.map_or("more than 2^64".to_owned(), |count| count.to_string())
            ),
        }
    }
}

/// The most weights: 2^28, 1 GiB of f32.
pub const MAX_PARAMETERS: u64 = 1 << 28;
