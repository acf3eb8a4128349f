//! What a trained encoder makes of a sentence.

use anyhow::Result;
use serde::Serialize;

use crate::encoder::trained::checkpoint::Checkpoint;
use crate::encoder::trained::classifier::Classifier;
use crate::encoder::{Batch, Mode};
use crate::text::tokenizer::Sentence;

/// The likeliest answer and its probability.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Answer {
    pub(super) answer: String,
    pub(super) probability: f32,
}

impl Answer {
    /// One for each sentence.
    pub(super) fn all(
        checkpoint: &Checkpoint,
        classifier: &Classifier,
        sentences: &[Sentence],
    ) -> Result<Vec<Self>> {
        let mut answers = Vec::new();
        for sentence in sentences {
            let batch = Batch::new(&[&sentence.ids()], 0, classifier.encoder.device())?;
            let (scores, _) = classifier.forward(&batch, Mode::Eval)?;
            let shares = classifier
                .probabilities(&scores)?
                .get(0)?
                .to_vec1::<f32>()?;
            let named = checkpoint.model.answers.iter().zip(shares);
            let best = named.max_by(|a, b| a.1.total_cmp(&b.1));
            answers.extend(best.map(|(answer, probability)| Self {
                answer: answer.clone(),
                probability,
            }));
        }
        Ok(answers)
    }
}
