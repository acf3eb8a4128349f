//! The encoder with an answer read off its first token.

use std::collections::BTreeMap;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use candle_nn::{Linear, Module, VarBuilder};
use pe_candle::PositionalEncodingConfig;

use super::checkpoint::Description;
use crate::commands::train::task::Example;
use crate::encoder::attention::linear;
use crate::encoder::mask::Sight;
use crate::encoder::weights::Seeded;
use crate::encoder::{Batch, Encoder, EncoderConfig, EncoderOutput, Mode, Residual, Scheme};

/// Tokens evaluated together, in sentences of one length.
const EVALUATED: usize = 384;

/// An encoder, and a linear map from the last vector of `[CLS]` to a score for each answer.
///
/// Without positions that vector does not depend on the order of the tokens.
#[derive(Debug, Clone)]
pub(crate) struct Classifier {
    pub(crate) encoder: Encoder,
    answer: Linear,
}

/// How well the answers of a set of sentences were found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Score {
    /// The share of right answers.
    pub(crate) accuracy: f64,
    /// The mean cross entropy in nats.
    pub(crate) loss: f64,
}

impl Classifier {
    /// The model of a description, with a fixed table (if its scheme has one) of `rows` rows.
    pub(crate) fn new(model: &Description, rows: usize, vb: &VarBuilder<'_>) -> Result<Self> {
        let position = PositionalEncodingConfig {
            max_seq_len: match model.scheme {
                Scheme::Learned => model.max_seq_len,
                Scheme::None | Scheme::Sinusoidal | Scheme::Rotary => rows,
            },
            dropout: model.dropout,
            seed: model.seed,
            ..PositionalEncodingConfig::new(model.d_model)
        };
        let config = EncoderConfig {
            vocab_size: model.vocab_size,
            heads: model.heads,
            layers: model.layers,
            d_ff: model.d_ff,
            norm: model.norm,
            residual: Residual::Added,
            scheme: model.scheme,
            position,
        };
        Ok(Self {
            encoder: Encoder::new(config, &vb.pp("encoder"))?,
            answer: linear(model.d_model, model.answers.len(), vb.pp("answer"))?,
        })
    }

    /// A model to be trained, its weights drawn from the description's seed.
    pub(crate) fn trainable(
        model: &Description,
        rows: usize,
        device: &Device,
    ) -> Result<(Self, BTreeMap<String, Var>)> {
        let source = Seeded::new(model.seed).trainable();
        let vb = source.var_builder(DType::F32, device);
        let classifier = Self::new(model, rows, &vb)?;
        Ok((classifier, source.vars()))
    }

    /// A score for each answer [B, A], and all that the encoder made.
    pub(crate) fn forward(&self, batch: &Batch, mode: Mode) -> Result<(Tensor, EncoderOutput)> {
        let output = self.encoder.forward(batch, Sight::Whole, mode)?;
        let first = output.last()?.narrow(1, 0, 1)?.squeeze(1)?;
        Ok((self.answer.forward(&first)?, output))
    }

    /// The probability of each answer [B, A].
    pub(crate) fn probabilities(&self, scores: &Tensor) -> Result<Tensor> {
        candle_nn::ops::softmax(scores, D::Minus1)
    }

    /// The mean cross entropy of the answers in nats, and the scores that it came from.
    pub(crate) fn loss(&self, examples: &[Example], mode: Mode) -> Result<(Tensor, Tensor)> {
        let device = self.encoder.device();
        let ids: Vec<&[u32]> = examples
            .iter()
            .map(|example| example.ids.as_slice())
            .collect();
        let batch = Batch::new(&ids, 0, device)?;
        let answers: Vec<u32> = examples.iter().map(|example| example.answer).collect();
        let answers = Tensor::from_vec(answers, examples.len(), device)?;
        let (scores, _) = self.forward(&batch, mode)?;
        Ok((candle_nn::loss::cross_entropy(&scores, &answers)?, scores))
    }

    pub(crate) fn score(&self, examples: &[Example]) -> Result<Score> {
        let (mut right, mut loss) = (0, 0.0);
        let len = examples.first().map_or(1, |example| example.ids.len());
        for examples in examples.chunks((EVALUATED / len.max(1)).max(1)) {
            let (mean, scores) = self.loss(examples, Mode::Eval)?;
            loss += f64::from(mean.to_scalar::<f32>()?) * examples.len() as f64;
            let found: Vec<u32> = scores.argmax(D::Minus1)?.to_vec1()?;
            let pairs = found.iter().zip(examples);
            right += pairs
                .filter(|(found, example)| **found == example.answer)
                .count();
        }
        let count = examples.len().max(1) as f64;
        Ok(Score {
            accuracy: right as f64 / count,
            loss: loss / count,
        })
    }
}
