//! The toy encoder: embedding, positional encoding, layers of attention and
//! feed-forward with residual connections and layer norm.

mod layer;

use candle_core::{Device, ModuleT, Result, Tensor, bail};
use candle_nn::{Embedding, Module, VarBuilder};
use pe_candle::{PositionalEncoding, PositionalEncodingConfig};

use self::layer::{Layer, LayerNorm};
use crate::mask::{Mask, Sight};

/// Where a layer normalises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scheme {
    /// The sinusoidal encoding, added once before the first layer.
    #[default]
    Sinusoidal,
    /// Not at all: for comparison.
    None,
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
    /// Where layers normalise.
    pub norm: Norm,
    /// Whether layers add their input.
    pub residual: Residual,
    /// Where positions come from.
    pub scheme: Scheme,
    /// The positional encoding: width, rows, dropout and its seed. The layers drop with the
    /// same probability and with seeds of their own, counted on from this one.
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
        attention
            .checked_add(feed_forward)?
            .checked_add(norms)?
            .checked_mul(self.layers as u64)?
            .checked_add((self.vocab_size as u64).checked_mul(d)?)?
            .checked_add(d.checked_mul(2)?)
    }

    fn check(&self) -> Result<()> {
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

/// Sentences of equal length after padding.
#[derive(Debug, Clone)]
pub struct Batch {
    ids: Tensor,
    lengths: Vec<usize>,
}

impl Batch {
    /// Fills the sentences up to the longest one (or to `min_len`) with token 0, which no other
    /// token will look at.
    ///
    /// # Errors
    /// Candle's own.
    pub fn new(sentences: &[&[u32]], min_len: usize, device: &Device) -> Result<Self> {
        let lengths: Vec<usize> = sentences.iter().map(|ids| ids.len()).collect();
        let len = lengths.iter().copied().max().unwrap_or(0).max(min_len);
        let mut ids = Vec::with_capacity(len * sentences.len());
        for sentence in sentences {
            ids.extend_from_slice(sentence);
            ids.resize(ids.len() + len - sentence.len(), 0);
        }
        Ok(Self {
            ids: Tensor::from_vec(ids, (sentences.len(), len), device)?,
            lengths,
        })
    }

    /// The numbers of real tokens.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }
}

/// What an encoder makes of a batch.
#[derive(Debug, Clone)]
pub struct EncoderOutput {
    /// The vectors [B, T, d]: what goes into the first layer, then what each layer gives.
    pub hidden: Vec<Tensor>,
    /// The attention weights of each layer, [B, H, T, T].
    pub attention: Vec<Tensor>,
}

impl EncoderOutput {
    /// What the last layer gives.
    ///
    /// # Errors
    /// None in practice: there is at least one layer.
    pub fn last(&self) -> Result<&Tensor> {
        match self.hidden.last() {
            Some(last) => Ok(last),
            None => bail!("the encoder has no layers"),
        }
    }
}

/// A transformer encoder (Vaswani et al., 2017) of a few layers.
#[derive(Debug, Clone)]
pub struct Encoder {
    config: EncoderConfig,
    embedding: Embedding,
    position: PositionalEncoding,
    layers: Vec<Layer>,
    final_norm: LayerNorm,
}

impl Encoder {
    /// Takes its weights from the builder: seeded ones ([`Seeded`](crate::weights::Seeded)), a
    /// `VarMap` to train, or a file. The table of positions is made, not loaded.
    ///
    /// # Errors
    /// Sizes that do not fit together or exceed [`MAX_PARAMETERS`]; those of the builder and of the
    /// positional encoding.
    pub fn new(config: EncoderConfig, vb: &VarBuilder<'_>) -> Result<Self> {
        let d_model = config.d_model();
        let position = PositionalEncoding::new(config.position.clone(), vb.dtype(), vb.device())?;
        config.check()?;
        let layers = (0..config.layers)
            .map(|index| Layer::new(&config, index, &vb.pp("layers").pp(index)))
            .collect::<Result<_>>()?;
        Ok(Self {
            embedding: candle_nn::embedding(config.vocab_size, d_model, vb.pp("embedding"))?,
            final_norm: LayerNorm::new(d_model, &vb.pp("final_norm"))?,
            position,
            layers,
            config,
        })
    }

    /// The same weights with other choices: how positions come in, where the layers normalise, whether
    /// they add their input.
    pub fn variant(&self, scheme: Scheme, norm: Norm, residual: Residual) -> Self {
        let mut other = self.clone();
        other.config.scheme = scheme;
        other.config.norm = norm;
        other.config.residual = residual;
        other
    }

    /// The sizes and choices.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// The layer that adds the positional encoding.
    pub fn position(&self) -> &PositionalEncoding {
        &self.position
    }

    /// Encodes a batch.
    ///
    /// # Errors
    /// Token ids beyond the vocabulary; more tokens than the table of positions has rows.
    pub fn forward(&self, batch: &Batch, sight: Sight, mode: Mode) -> Result<EncoderOutput> {
        let train = mode == Mode::Train;
        let (_, len) = batch.ids.dims2()?;
        let mask = Mask::new(&batch.lengths, len, sight, batch.ids.device())?;
        let words = self.embedding.forward(&batch.ids)?;
        let mut xs = match self.config.scheme {
            Scheme::Sinusoidal => self.position.forward_t(&words, train)?,
            Scheme::None => words,
        };
        let mut output = EncoderOutput {
            hidden: vec![xs.clone()],
            attention: Vec::new(),
        };
        for (index, layer) in self.layers.iter().enumerate() {
            let (ys, weights) = layer.forward(&xs, &mask, &self.config, train)?;
            xs = ys;
            let is_last = index + 1 == self.layers.len();
            output.hidden.push(match self.config.norm {
                Norm::Pre if is_last => self.final_norm.forward(&xs)?,
                _ => xs.clone(),
            });
            output.attention.push(weights);
        }
        Ok(output)
    }
}
