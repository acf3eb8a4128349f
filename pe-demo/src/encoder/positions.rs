//! The positional encodings of an encoder.

use candle_core::{ModuleT, Result, Tensor, bail};
use candle_nn::{Init, VarBuilder};
use pe_candle::{PositionalEncoding, RotaryEmbedding, RotaryEmbeddingConfig};

use super::config::EncoderConfig;
use super::scheme::{Adds, Scheme};

/// State of an encoder for its schemes.
#[derive(Debug, Clone)]
pub(super) struct Positions {
    /// Always present: it needs no weights, and studies compare with it.
    pub(super) sinusoidal: PositionalEncoding,
    /// [rows, d_model], a weight.
    learned: Option<Tensor>,
    /// Shared by all layers; its tables are not weights.
    rotary: Option<RotaryEmbedding>,
}

impl Positions {
    /// Builds the parts of the scheme of a checked config.
    pub(super) fn new(
        config: &EncoderConfig,
        sinusoidal: PositionalEncoding,
        vb: &VarBuilder<'_>,
    ) -> Result<Self> {
        let position = &config.position;
        let learned = match config.scheme.adds() {
            Adds::TrainedRows => {
                let shape = (position.max_seq_len, config.d_model());
                let vb = vb.pp("position");
                Some(vb.get_with_hints(shape, "weight", AS_LARGE_AS_SINUSOIDS)?)
            }
            Adds::Nothing | Adds::Sinusoids => None,
        };
        let rotary = match config.scheme.rotates() {
            true => {
                let config = RotaryEmbeddingConfig {
                    max_seq_len: Some(position.max_seq_len),
                    ..RotaryEmbeddingConfig::new(config.d_model() / config.heads)
                };
                Some(RotaryEmbedding::new(config, vb.dtype(), vb.device())?)
            }
            false => None,
        };
        Ok(Self {
            sinusoidal,
            learned,
            rotary,
        })
    }

    /// Returns the input of the first layer: the token embeddings [B, T, d], plus an encoding if the
    /// scheme adds one, with dropout.
    pub(super) fn add(&self, words: &Tensor, scheme: Scheme, train: bool) -> Result<Tensor> {
        let dropout = self.sinusoidal.dropout();
        match scheme.adds() {
            Adds::Sinusoids => self.sinusoidal.forward_t(words, train),
            Adds::Nothing => dropout.forward(words, train),
            Adds::TrainedRows => {
                let Some(table) = &self.learned else {
                    return absent(scheme);
                };
                let ((_, len, _), (rows, _)) = (words.dims3()?, table.dims2()?);
                if len > rows {
                    bail!("{len} tokens, but positions were learned for the first {rows} only");
                }
                let xs = words.broadcast_add(&table.narrow(0, 0, len)?)?;
                dropout.forward(&xs, train)
            }
        }
    }

    /// Returns what rotates queries and keys, if the scheme does.
    pub(super) fn rotary(&self, scheme: Scheme) -> Result<Option<&RotaryEmbedding>> {
        match (scheme.rotates(), &self.rotary) {
            (true, None) => absent(scheme),
            (true, rotary) => Ok(rotary.as_ref()),
            (false, _) => Ok(None),
        }
    }
}

/// The root mean square of sines and cosines.
const AS_LARGE_AS_SINUSOIDS: Init = Init::Randn {
    mean: 0.0,
    stdev: std::f64::consts::FRAC_1_SQRT_2,
};

fn absent<T>(scheme: Scheme) -> Result<T> {
    bail!("the encoder was not made for {} positions", scheme.name())
}
