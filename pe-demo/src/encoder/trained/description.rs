//! The description of a trained encoder.

use anyhow::{Result, ensure};
use pe_candle::PositionalEncodingConfig;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::task::Task;
use crate::encoder::config::{EncoderConfig, Norm, Residual};
use crate::encoder::scheme::{Adds, Scheme};

/// A model and its training. A training run resumes only if all of it is the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// Files of earlier versions leave it out.
    #[serde(default)]
    pub(crate) task: Task,
    pub(crate) scheme: Scheme,
    pub(crate) d_model: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) d_ff: usize,
    pub(crate) norm: Norm,
    pub(crate) vocab_size: usize,
    /// Tokens of the longest sentence in training.
    pub(crate) max_seq_len: usize,
    /// The names of the answers.
    pub(crate) answers: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) batch: usize,
    pub(crate) learning_rate: f64,
    pub(crate) dropout: f32,
}

/// The best weights on sentences that were not trained on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Best {
    /// The number of steps after which they were found.
    pub(crate) step: u64,
    pub(crate) accuracy: f64,
    pub(crate) loss: f64,
}

impl Description {
    /// Returns the encoder's configuration, with a fixed table (if its scheme has one) of `rows` rows.
    pub(super) fn encoder(&self, rows: usize) -> EncoderConfig {
        let position = PositionalEncodingConfig {
            max_seq_len: match self.scheme.adds() {
                Adds::TrainedRows => self.max_seq_len,
                Adds::Nothing | Adds::Sinusoids => rows,
            },
            dropout: self.dropout,
            seed: self.seed,
            ..PositionalEncodingConfig::new(self.d_model)
        };
        EncoderConfig {
            vocab_size: self.vocab_size,
            heads: self.heads,
            layers: self.layers,
            d_ff: self.d_ff,
            norm: self.norm,
            residual: Residual::Added,
            scheme: self.scheme,
            position,
        }
    }

    /// Checks that a training of this model, read from the file `name`, is the one wanted.
    pub(super) fn check_same(&self, wanted: &Self, name: &str) -> Result<()> {
        let fields = |model: &Self| match serde_json::to_value(model) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let (found, wanted) = (fields(self), fields(wanted));
        // Fields that follow from d_model come after it.
        let first = wanted.get_key_value("d_model");
        for (field, wanted) in first.into_iter().chain(&wanted) {
            let found = found.get(field).unwrap_or(&Value::Null);
            ensure!(
                found == wanted,
                "{name}: trained with {field} {found}, not {wanted}"
            );
        }
        Ok(())
    }
}
