//! The positional encodings of an encoder.

use candle_core::{Device, Result, Tensor, bail};
use candle_nn::{Init, VarBuilder};
use pe_candle::{
    Alibi, AlibiConfig, AttentionBias, LearnedPositional, LearnedPositionalConfig,
    PositionalEncoding, RopeScaling, RotaryEmbedding, RotaryEmbeddingConfig, T5Bias, T5BiasConfig,
    philox4x32_10,
};

use super::config::EncoderConfig;
use super::scheme::{Adds, BUCKETS, Biases, Scheme};

/// State of an encoder for its schemes.
#[derive(Debug, Clone)]
pub(super) struct Positions {
    /// Always present: it needs no weights, and studies compare with it.
    pub(super) sinusoidal: PositionalEncoding,
    /// Its table is a weight.
    learned: Option<LearnedPositional>,
    /// Shared by all layers. Its tables are not weights.
    rotary: Option<RotaryEmbedding>,
    /// Shared by all layers.
    bias: Option<Bias>,
}

#[derive(Debug, Clone)]
enum Bias {
    Slopes(Alibi),
    /// Its table is a weight.
    Buckets(T5Bias),
}

/// What positions change in the attention of every layer.
#[derive(Debug, Clone, Default)]
pub(super) struct InAttention<'a> {
    pub(super) rotary: Option<&'a RotaryEmbedding>,
    pub(super) bias: Option<AttentionBias>,
}

impl Positions {
    /// Builds the parts of the scheme of a checked config.
    pub(super) fn new(
        config: &EncoderConfig,
        sinusoidal: PositionalEncoding,
        vb: &VarBuilder<'_>,
    ) -> Result<Self> {
        let (position, d_model, heads) = (&config.position, config.d_model(), config.heads);
        let weights = |shape, name, stdev| {
            let init = Init::Randn { mean: 0.0, stdev };
            vb.pp("position").get_with_hints(shape, name, init)
        };
        let learned = match config.scheme.adds() {
            Adds::TrainedRows => {
                let rows = position.max_seq_len;
                let table = weights((rows, d_model), "weight", LENGTH_OF_SINUSOIDS)?;
                let learned = LearnedPositionalConfig {
                    dropout: position.dropout,
                    seed: position.seed,
                    ..LearnedPositionalConfig::new(d_model, rows)
                };
                Some(LearnedPositional::from_table(learned, table)?)
            }
            Adds::Nothing | Adds::Sinusoids => None,
        };
        let rotary = match config.scheme.rotates() {
            true => {
                let config = RotaryEmbeddingConfig {
                    max_seq_len: Some(position.max_seq_len),
                    ..RotaryEmbeddingConfig::new(d_model / heads)
                };
                Some(RotaryEmbedding::new(config, vb.dtype(), vb.device())?)
            }
            false => None,
        };
        let bias = match config.scheme.biases() {
            Biases::Nothing => None,
            Biases::Slopes => {
                let config = AlibiConfig::new(heads);
                Some(Bias::Slopes(Alibi::new(config, vb.dtype(), vb.device())?))
            }
            Biases::Buckets => {
                let config = T5BiasConfig::new(heads, BUCKETS.direction);
                let shape = (config.buckets.num_buckets, heads);
                let table = weights(shape, "relative_attention_bias.weight", 1.0)?;
                Some(Bias::Buckets(T5Bias::from_table(config, table)?))
            }
        };
        Ok(Self {
            sinusoidal,
            learned,
            rotary,
            bias,
        })
    }

    /// Returns the same with scaled rotary frequencies, if the scheme rotates.
    pub(super) fn rescaled(&self, scaling: &RopeScaling, device: &Device) -> Result<Self> {
        let mut other = self.clone();
        if let Some(rotary) = &self.rotary {
            let mut config = rotary.config().clone();
            config.rotary.scaling = scaling.clone();
            other.rotary = Some(RotaryEmbedding::new(config, rotary.dtype(), device)?);
        }
        Ok(other)
    }

    /// Sets the step of the dropouts.
    pub(super) fn set_dropout_step(&self, step: u64) {
        self.sinusoidal.dropout().set_step(step);
        if let Some(learned) = &self.learned {
            learned.dropout().set_step(step);
        }
    }

    /// Returns the input of the first layer: the token embeddings [B, T, d], plus an encoding if the
    /// scheme adds one, with dropout.
    pub(super) fn add(&self, words: &Tensor, scheme: Scheme, train: bool) -> Result<Tensor> {
        let (_, len, _) = words.dims3()?;
        match (scheme.adds(), &self.learned) {
            (Adds::Sinusoids, _) => {
                let offset = match train && scheme.draws_offsets() {
                    true => self.drawn_offset(len),
                    false => 0,
                };
                self.sinusoidal.forward_at(words, offset, train)
            }
            (Adds::Nothing, _) => self.sinusoidal.dropout().forward(words, train),
            (Adds::TrainedRows, None) => absent(scheme),
            (Adds::TrainedRows, Some(learned)) => {
                let rows = learned.max_seq_len();
                if len > rows {
                    bail!("{len} tokens, but positions were learned for the first {rows} only");
                }
                learned.forward_at(words, 0, train)
            }
        }
    }

    /// Draws the position of the first of `len` tokens, so that the last one has a row. The draw
    /// belongs to the seed and the step of the dropout.
    fn drawn_offset(&self, len: usize) -> usize {
        let dropout = self.sinusoidal.dropout();
        let (step, seed) = (dropout.step(), dropout.seed());
        let counter = [step as u32, (step >> 32) as u32, 0, OFFSETS];
        let [word, ..] = philox4x32_10(counter, [seed as u32, (seed >> 32) as u32]);
        let choices = self.sinusoidal.config().max_seq_len.saturating_sub(len) + 1;
        ((u64::from(word) * choices as u64) >> 32) as usize
    }

    /// Returns what changes the attention of `len` tokens.
    pub(super) fn in_attention(&self, scheme: Scheme, len: usize) -> Result<InAttention<'_>> {
        let rotary = match (scheme.rotates(), &self.rotary) {
            (true, None) => return absent(scheme),
            (true, rotary) => rotary.as_ref(),
            (false, _) => None,
        };
        let bias = match (scheme.biases(), &self.bias) {
            (Biases::Nothing, _) => None,
            (Biases::Slopes, Some(Bias::Slopes(alibi))) => Some(alibi.bias(len, len, 0)?),
            (Biases::Buckets, Some(Bias::Buckets(t5))) => Some(t5.bias(len, len, 0)?),
            _ => return absent(scheme),
        };
        Ok(InAttention { rotary, bias })
    }
}

/// The root mean square of sines and cosines.
const LENGTH_OF_SINUSOIDS: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// "offs" in ASCII: keeps these random numbers apart from others.
const OFFSETS: u32 = 0x6f66_6673;

fn absent<T>(scheme: Scheme) -> Result<T> {
    bail!("the encoder was not made for {} positions", scheme.name())
}
