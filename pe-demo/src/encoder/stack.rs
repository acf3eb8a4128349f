//! The encoder as a whole.

use candle_core::{Device, Result, Tensor, bail};
use candle_nn::{Embedding, Module, VarBuilder};
use pe_candle::{PositionalEncoding, RopeScaling};

use super::batch::Batch;
use super::config::{EncoderConfig, Mode, Norm, Residual};
use super::layer::{Layer, LayerNorm};
use super::mask::{Mask, Sight};
use super::positions::Positions;
use super::scheme::Scheme;

/// The output of an encoder for a batch.
#[derive(Debug, Clone)]
pub struct EncoderOutput {
    /// The vectors [B, T, d]: the input of the first layer, then the output of each layer.
    pub hidden: Vec<Tensor>,
    /// The attention weights of each layer, [B, H, T, T].
    pub attention: Vec<Tensor>,
}

impl EncoderOutput {
    /// Returns the output of the last layer.
    ///
    /// # Errors
    /// Returns an error if there are no layers, which [`Encoder::new`] excludes.
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
    positions: Positions,
    layers: Vec<Layer>,
    final_norm: LayerNorm,
}

impl Encoder {
    /// Takes its weights from the builder: seeded ones ([`Seeded`](super::weights::Seeded)), a
    /// `VarMap` to train, or a file. Fixed tables of positions are computed, not loaded.
    ///
    /// # Errors
    /// Returns an error if sizes do not fit together or exceed
    /// [`MAX_PARAMETERS`](super::MAX_PARAMETERS). Also returns the errors of the builder and of the
    /// positional encoding.
    pub fn new(config: EncoderConfig, vb: &VarBuilder<'_>) -> Result<Self> {
        let d_model = config.d_model();
        let sinusoidal = PositionalEncoding::new(config.position.clone(), vb.dtype(), vb.device())?;
        config.check()?;
        let positions = Positions::new(&config, sinusoidal, vb)?;
        let layers = (0..config.layers)
            .map(|index| Layer::new(&config, index, &vb.pp("layers").pp(index)))
            .collect::<Result<_>>()?;
        Ok(Self {
            embedding: candle_nn::embedding(config.vocab_size, d_model, vb.pp("embedding"))?,
            final_norm: LayerNorm::new(d_model, &vb.pp("final_norm"))?,
            positions,
            layers,
            config,
        })
    }

    /// Returns the same weights with other choices: the positional encoding scheme, where the layers
    /// normalize, whether they add their input. The schemes available are the one that the encoder
    /// was built for, [`Scheme::Sinusoidal`] and [`Scheme::None`]. Running another one is an error.
    pub fn variant(&self, scheme: Scheme, norm: Norm, residual: Residual) -> Self {
        let mut other = self.clone();
        other.config.scheme = scheme;
        other.config.norm = norm;
        other.config.residual = residual;
        other
    }

    /// Returns the same weights with scaled rotary frequencies, if the scheme rotates.
    ///
    /// # Errors
    /// Returns an error if the scaling is invalid.
    pub(crate) fn rescaled(&self, scaling: &RopeScaling) -> Result<Self> {
        let mut other = self.clone();
        other.positions = self.positions.rescaled(scaling, self.device())?;
        Ok(other)
    }

    /// Returns the sizes and choices.
    pub fn config(&self) -> &EncoderConfig {
        &self.config
    }

    /// Returns the device that the weights are on, where batches belong.
    pub fn device(&self) -> &Device {
        self.embedding.embeddings().device()
    }

    /// Returns the layer that adds the sinusoidal encoding.
    pub fn position(&self) -> &PositionalEncoding {
        &self.positions.sinusoidal
    }

    /// Sets the step of all dropouts, from which the next training call draws its masks.
    pub fn set_dropout_step(&self, step: u64) {
        self.positions.set_dropout_step(step);
        for layer in &self.layers {
            layer.set_dropout_step(step);
        }
    }

    /// Encodes a batch.
    ///
    /// On the CPU, with Candle's own matrix product, a sentence's vectors have the same bits in
    /// every batch of sentences that are as long as it. (Padding changes the order in which a softmax
    /// adds, and so the last bits.)
    ///
    /// # Errors
    /// Returns an error if a token id is beyond the vocabulary, if there are more tokens than a table
    /// of positions has rows, or if the encoder was not built for the scheme.
    pub fn forward(&self, batch: &Batch, sight: Sight, mode: Mode) -> Result<EncoderOutput> {
        let train = mode == Mode::Train;
        let (_, len) = batch.ids.dims2()?;
        let scheme = self.config.scheme;
        let sight = match scheme.is_causal() {
            true => Sight::Past,
            false => sight,
        };
        let mask = Mask::new(&batch.lengths, len, sight, batch.ids.device())?;
        let words = self.embedding.forward(&batch.ids)?;
        let mut xs = self.positions.add(&words, scheme, train)?;
        let positions = self.positions.in_attention(scheme, len)?;
        let mut output = EncoderOutput {
            hidden: vec![xs.clone()],
            attention: Vec::new(),
        };
        for (index, layer) in self.layers.iter().enumerate() {
            let (ys, weights) = layer.forward(&xs, &mask, &positions, &self.config, train)?;
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
