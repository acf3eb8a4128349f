//! The toy encoder: embedding, positional encoding, layers of attention and
//! feed-forward with residual connections and layer norm.

pub mod attention;
mod config;
pub(crate) mod device;
mod layer;
pub mod mask;
mod place;
pub(crate) mod steady;
pub(crate) mod trained;
pub mod weights;

use candle_core::{Device, Result, Tensor, bail};
use candle_nn::{Embedding, Module, VarBuilder};
use pe_candle::PositionalEncoding;

use self::layer::{Layer, LayerNorm};
use self::place::Place;
use crate::encoder::mask::{Mask, Sight};

pub use config::{EncoderConfig, MAX_PARAMETERS, Mode, Norm, Residual, Scheme};

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
    place: Place,
    layers: Vec<Layer>,
    final_norm: LayerNorm,
}

impl Encoder {
    /// Takes its weights from the builder: seeded ones ([`Seeded`](crate::encoder::weights::Seeded)), a
    /// `VarMap` to train, or a file. Fixed tables of positions are made, not loaded.
    ///
    /// # Errors
    /// Sizes that do not fit together or exceed [`MAX_PARAMETERS`]; those of the builder and of the
    /// positional encoding.
    pub fn new(config: EncoderConfig, vb: &VarBuilder<'_>) -> Result<Self> {
        let d_model = config.d_model();
        let sinusoidal = PositionalEncoding::new(config.position.clone(), vb.dtype(), vb.device())?;
        config.check()?;
        let place = Place::new(&config, sinusoidal, vb)?;
        let layers = (0..config.layers)
            .map(|index| Layer::new(&config, index, &vb.pp("layers").pp(index)))
            .collect::<Result<_>>()?;
        Ok(Self {
            embedding: candle_nn::embedding(config.vocab_size, d_model, vb.pp("embedding"))?,
            final_norm: LayerNorm::new(d_model, &vb.pp("final_norm"))?,
            place,
            layers,
            config,
        })
    }

    /// The same weights with other choices: how positions come in, where the layers normalize, whether
    /// they add their input. Of the schemes there are the one that the encoder was made for,
    /// [`Scheme::Sinusoidal`] and [`Scheme::None`]; running another one is an error.
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

    /// Returns the device that the weights are on, where batches belong.
    pub fn device(&self) -> &Device {
        self.embedding.embeddings().device()
    }

    /// The layer that adds the sinusoidal encoding.
    pub fn position(&self) -> &PositionalEncoding {
        &self.place.sinusoidal
    }

    /// Sets the step of all dropouts: the mask that the next training call takes.
    pub fn set_dropout_step(&self, step: u64) {
        self.place.sinusoidal.dropout().set_step(step);
        for layer in &self.layers {
            layer.set_dropout_step(step);
        }
    }

    /// Encodes a batch.
    ///
    /// On the CPU, with Candle's own matrix product, a sentence's vectors have the same bits in
    /// every batch of sentences that are as long as it. (Filling up changes the order in which a
    /// softmax adds, and so the last bits.)
    ///
    /// # Errors
    /// Token ids beyond the vocabulary; more tokens than a table of positions has rows; a scheme
    /// that the encoder was not made for.
    pub fn forward(&self, batch: &Batch, sight: Sight, mode: Mode) -> Result<EncoderOutput> {
        let train = mode == Mode::Train;
        let (_, len) = batch.ids.dims2()?;
        let mask = Mask::new(&batch.lengths, len, sight, batch.ids.device())?;
        let words = self.embedding.forward(&batch.ids)?;
        let mut xs = self.place.add(&words, self.config.scheme, train)?;
        let rotary = self.place.rotary(self.config.scheme)?;
        let mut output = EncoderOutput {
            hidden: vec![xs.clone()],
            attention: Vec::new(),
        };
        for (index, layer) in self.layers.iter().enumerate() {
            let (ys, weights) = layer.forward(&xs, &mask, rotary, &self.config, train)?;
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
