//! The sizes and choices of an encoder.

use candle_core::{Result as CandleResult, bail};
use clap::ValueEnum;
use pe_candle::PositionalEncodingConfig;
use serde::{Deserialize, Serialize};

use super::scheme::{Adds, Scheme, bias_weights};

/// Place of the normalization in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Norm {
    /// After each residual connection, as the paper has it.
    #[default]
    Post,
    /// Before attention and feed-forward, and once at the end.
    Pre,
}

/// Use of a layer's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residual {
    /// Adds its own result to it.
    #[default]
    Added,
    /// Drops it: for comparison.
    Omitted,
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

/// The heads of a layer, unless others are asked for.
pub(crate) const DEFAULT_HEADS: usize = 4;

/// The layers of an encoder, unless others are asked for.
pub(crate) const DEFAULT_LAYERS: usize = 2;

/// The rows of a table of positions, unless a sentence is longer.
pub(crate) const DEFAULT_ROWS: usize = 50;

/// The most tokens of a sentence: attention needs memory of the square.
pub(crate) const MAX_TOKENS: usize = 2048;

/// The sizes and choices of an encoder.
#[derive(Debug, Clone, PartialEq)]
pub struct EncoderConfig {
    /// Entries of the vocabulary.
    pub vocab_size: usize,
    /// Heads of each layer. They share the width evenly.
    pub heads: usize,
    /// Number of layers.
    pub layers: usize,
    /// Width inside the feed-forward part.
    pub d_ff: usize,
    /// Place of the normalization.
    pub norm: Norm,
    /// Whether layers add their input.
    pub residual: Residual,
    /// The positional encoding scheme.
    pub scheme: Scheme,
    /// The positional encoding: width, rows (for a learned one too), dropout and its seed. The
    /// layers drop with the same probability and with seeds of their own, counted on from this one.
    pub position: PositionalEncodingConfig,
}

impl EncoderConfig {
    /// Returns a post-norm encoder of 2 layers with 4 heads and a feed-forward part four times as wide.
    pub const fn new(vocab_size: usize, d_model: usize) -> Self {
        Self {
            vocab_size,
            heads: DEFAULT_HEADS,
            layers: DEFAULT_LAYERS,
            d_ff: d_model.saturating_mul(4),
            norm: Norm::Post,
            residual: Residual::Added,
            scheme: Scheme::Sinusoidal,
            position: PositionalEncodingConfig::new(d_model),
        }
    }

    /// Returns the width of the vectors.
    pub const fn d_model(&self) -> usize {
        self.position.sinusoidal.d_model
    }

    /// Returns the number of weights, or `None` if it exceeds 64 bits.
    pub fn parameters(&self) -> Option<u64> {
        let d = self.d_model() as u64;
        let attention = d.checked_mul(d)?.checked_add(d)?.checked_mul(4)?;
        let feed_forward = (self.d_ff as u64)
            .checked_mul(d.checked_mul(2)?.checked_add(1)?)?
            .checked_add(d)?;
        let norms = d.checked_mul(4)?;
        let rows = match self.scheme.adds() {
            Adds::TrainedRows => self.position.max_seq_len as u64,
            Adds::Nothing | Adds::Sinusoids => 0,
        };
        attention
            .checked_add(feed_forward)?
            .checked_add(norms)?
            .checked_mul(self.layers as u64)?
            .checked_add(bias_weights(self.scheme, self.heads))?
            .checked_add((self.vocab_size as u64).checked_add(rows)?.checked_mul(d)?)?
            .checked_add(d.checked_mul(2)?)
    }

    pub(super) fn check(&self) -> CandleResult<()> {
        let (d_model, heads) = (self.d_model(), self.heads);
        if let Err(error) = check_widths(d_model, heads, [self.scheme]) {
            bail!(
                "{}",
                error.of(&format!("d_model {d_model}"), &format!("{heads} heads"))
            );
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
        match self.parameters() {
            Some(count) if count <= MAX_PARAMETERS => Ok(()),
            count => bail!(
                "an encoder of {} weights is above the limit of {MAX_PARAMETERS}",
                count.map_or("more than 2^64".to_owned(), |count| count.to_string())
            ),
        }
    }
}

/// Why a width does not suit heads and schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WidthError {
    /// The width is odd.
    Odd,
    /// The heads cannot share the width evenly.
    Uneven,
    /// The heads have this odd width, and a scheme rotates pairs.
    OddHeads(usize),
}

/// Checks a width against the heads that share it and against the schemes that it is for.
pub(crate) fn check_widths(
    d_model: usize,
    heads: usize,
    schemes: impl IntoIterator<Item = Scheme>,
) -> Result<(), WidthError> {
    if !d_model.is_multiple_of(2) {
        return Err(WidthError::Odd);
    }
    if heads == 0 || !d_model.is_multiple_of(heads) {
        return Err(WidthError::Uneven);
    }
    let width = d_model / heads;
    match !width.is_multiple_of(2) && schemes.into_iter().any(Scheme::rotates) {
        true => Err(WidthError::OddHeads(width)),
        false => Ok(()),
    }
}

impl WidthError {
    /// Returns the error in terms of what states the width and the heads, such as `--d-model 5` and
    /// `--heads 2`.
    pub(crate) fn of(self, width: &str, heads: &str) -> String {
        match self {
            Self::Odd => format!("{width} is odd: sine and cosine columns come in pairs"),
            Self::Uneven => format!("{width} cannot be shared evenly by {heads}"),
            Self::OddHeads(head) => format!(
                "{width} by {heads} makes heads of width {head}: rotary positions turn pairs"
            ),
        }
    }
}

/// The most weights: 2^28, 1 GiB of f32.
pub const MAX_PARAMETERS: u64 = 1 << 28;
