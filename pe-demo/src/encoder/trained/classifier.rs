//! The encoder with an answer read off its first token.

use std::collections::BTreeMap;

use candle_core::{D, DType, Device, Result, Tensor, Var};
use candle_nn::{Linear, Module, VarBuilder};
use pe_candle::RopeScaling;

use super::description::Description;
use crate::encoder::batch::Batch;
use crate::encoder::config::Mode;
use crate::encoder::linear::linear;
use crate::encoder::mask::Sight;
use crate::encoder::stack::{Encoder, EncoderOutput};
use crate::encoder::weights::Seeded;

/// Tokens evaluated together, in sentences of one length.
const EVALUATED: usize = 384;

/// An encoder, and a linear map from the last vector of `[CLS]` to a score for each answer. (Where tokens
/// see only earlier ones, it is the vector of the last token.)
///
/// Without positions that vector does not depend on the order of the tokens.
#[derive(Debug, Clone)]
pub(crate) struct Classifier {
    pub(crate) encoder: Encoder,
    answer: Linear,
}

/// A sentence and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Example {
    pub(crate) ids: Vec<u32>,
    /// The index of the right answer.
    pub(crate) answer: u32,
}

/// The answers to a set of sentences.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Score {
    /// The likeliest answer to each sentence.
    pub(crate) answers: Vec<u32>,
    /// The share of right answers.
    pub(crate) accuracy: f64,
    /// The mean cross entropy in nats.
    pub(crate) loss: f64,
}

impl Classifier {
    /// Builds the model of a description, with a fixed table (if its scheme has one) of `rows` rows.
    pub(crate) fn new(model: &Description, rows: usize, vb: &VarBuilder<'_>) -> Result<Self> {
        Ok(Self {
            encoder: Encoder::new(model.encoder(rows), &vb.pp("encoder"))?,
            answer: linear(model.d_model, model.answers.len(), vb.pp("answer"))?,
        })
    }

    /// Builds a model to be trained, its weights drawn from the description's seed.
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

    /// Returns the same weights with scaled rotary frequencies, if the scheme rotates.
    pub(crate) fn rescaled(&self, scaling: &RopeScaling) -> Result<Self> {
        Ok(Self {
            encoder: self.encoder.rescaled(scaling)?,
            answer: self.answer.clone(),
        })
    }

    /// Returns the number of weights, the answer's included.
    pub(crate) fn weights(&self) -> u64 {
        let answer =
            self.answer.weight().elem_count() + self.answer.bias().map_or(0, Tensor::elem_count);
        self.encoder.config().parameters().unwrap_or(0) + answer as u64
    }

    /// Returns a score for each answer [B, A], and the output of the encoder.
    pub(crate) fn forward(&self, batch: &Batch, mode: Mode) -> Result<(Tensor, EncoderOutput)> {
        let output = self.encoder.forward(batch, Sight::Whole, mode)?;
        let last = output.last()?;
        let read = match self.encoder.config().scheme.is_causal() {
            false => last.narrow(1, 0, 1)?.squeeze(1)?,
            true => {
                let (_, len, _) = last.dims3()?;
                let ends = batch.lengths().iter().enumerate();
                let ends = ends.map(|(row, length)| (row * len + length.saturating_sub(1)) as u32);
                let ends = Tensor::from_iter(ends, self.encoder.device())?;
                last.flatten(0, 1)?.index_select(&ends, 0)?
            }
        };
        Ok((self.answer.forward(&read)?, output))
    }

    /// Returns the probability of each answer [B, A].
    pub(crate) fn probabilities(&self, scores: &Tensor) -> Result<Tensor> {
        candle_nn::ops::softmax(scores, D::Minus1)
    }

    /// Returns the mean cross entropy of the answers in nats, and the scores.
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

    /// Returns the answers to sentences of one length.
    pub(crate) fn score(&self, examples: &[Example]) -> Result<Score> {
        let (mut answers, mut loss) = (Vec::with_capacity(examples.len()), 0.0);
        let len = examples.first().map_or(1, |example| example.ids.len());
        for examples in examples.chunks((EVALUATED / len.max(1)).max(1)) {
            let (mean, scores) = self.loss(examples, Mode::Eval)?;
            loss += f64::from(mean.to_scalar::<f32>()?) * examples.len() as f64;
            answers.extend(scores.argmax(D::Minus1)?.to_vec1::<u32>()?);
        }
        let pairs = answers.iter().zip(examples);
        let right = pairs.filter(|(answer, example)| **answer == example.answer);
        let count = examples.len().max(1) as f64;
        Ok(Score {
            accuracy: right.count() as f64 / count,
            loss: loss / count,
            answers,
        })
    }
}
