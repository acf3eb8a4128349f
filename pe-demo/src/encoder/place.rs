//! How positions come in.

use candle_core::{ModuleT, Result, Tensor, bail};
use candle_nn::{Init, VarBuilder};
use pe_candle::{PositionalEncoding, RotaryEmbedding, RotaryEmbeddingConfig};

use super::{EncoderConfig, Scheme};

/// What an encoder has for each scheme.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Always there: it needs no weights, and studies compare with it.
    pub(super) sinusoidal: PositionalEncoding,
    /// [rows, d_model], a weight.
    learned: Option<Tensor>,
    /// Shared by all layers; its tables are no weights.
    rotary: Option<RotaryEmbedding>,
}

impl Place {
    /// For a config that was checked.
    pub(super) fn new(
        config: &EncoderConfig,
        sinusoidal: PositionalEncoding,
        vb: &VarBuilder<'_>,
    ) -> Result<Self> {
        let position = &config.position;
        let learned = match config.scheme {
            Scheme::Learned => {
                let shape = (position.max_seq_len, config.d_model());
                let vb = vb.pp("position");
                Some(vb.get_with_hints(shape, "weight", AS_LARGE_AS_SINUSOIDS)?)
            }
            Scheme::None | Scheme::Sinusoidal | Scheme::Rotary => None,
        };
        let rotary = match config.scheme {
            Scheme::Rotary => {
                let config = RotaryEmbeddingConfig {
                    max_seq_len: Some(position.max_seq_len),
                    ..RotaryEmbeddingConfig::new(config.d_model() / config.heads)
                };
                Some(RotaryEmbedding::new(config, vb.dtype(), vb.device())?)
            }
            Scheme::None | Scheme::Sinusoidal | Scheme::Learned => None,
        };
        Ok(Self {
            sinusoidal,
            learned,
            rotary,
        })
    }

    /// What goes into the first layer: the words' vectors [B, T, d], plus an encoding where the
    /// scheme adds one, with dropout.
    pub(super) fn add(&self, words: &Tensor, scheme: Scheme, train: bool) -> Result<Tensor> {
        let dropout = self.sinusoidal.dropout();
        match scheme {
            Scheme::Sinusoidal => self.sinusoidal.forward_t(words, train),
            Scheme::None | Scheme::Rotary => dropout.forward(words, train),
            Scheme::Learned => {
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

    /// What turns queries and keys, where the scheme does.
    pub(super) fn rotary(&self, scheme: Scheme) -> Result<Option<&RotaryEmbedding>> {
        match (scheme, &self.rotary) {
            (Scheme::Rotary, None) => absent(scheme),
            (Scheme::Rotary, rotary) => Ok(rotary.as_ref()),
            (Scheme::None | Scheme::Sinusoidal | Scheme::Learned, _) => Ok(None),
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
