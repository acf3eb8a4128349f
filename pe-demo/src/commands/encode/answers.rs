//! The answers of a trained encoder.

use anyhow::Result;
use serde::Serialize;

use crate::commands::studies::Section;
use crate::encoder::trained::checkpoint::Checkpoint;
use crate::encoder::trained::classifier::Classifier;
use crate::encoder::trained::task::Task;
use crate::encoder::{Batch, Mode};
use crate::terminal::page::Page;
use crate::terminal::width::clean;
use crate::text::tokenizer::Sentence;

/// The most answers that are shown.
const FEW: usize = 10;

/// An answer for each sentence.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Answers {
    answers: Vec<Answer>,
    #[serde(skip)]
    task: Task,
}

/// The likeliest answer and its probability.
#[derive(Debug, Serialize)]
struct Answer {
    answer: String,
    probability: f32,
}

impl Answers {
    /// Asks the classifier about each sentence.
    pub(super) fn of(
        checkpoint: &Checkpoint,
        classifier: &Classifier,
        sentences: &[Sentence],
    ) -> Result<Self> {
        let mut answers = Vec::new();
        for sentence in sentences {
            let batch = Batch::new(&[&sentence.ids()], 0, classifier.encoder.device())?;
            let (scores, _) = classifier.forward(&batch, Mode::Eval)?;
            let shares = classifier.probabilities(&scores)?.get(0)?;
            let named = checkpoint.model.answers.iter();
            let named = named.zip(shares.to_vec1::<f32>()?);
            let best = named.max_by(|a, b| a.1.total_cmp(&b.1));
            answers.extend(best.map(|(answer, probability)| Answer {
                answer: answer.clone(),
                probability,
            }));
        }
        Ok(Self {
            answers,
            task: checkpoint.model.task,
        })
    }
}

impl Section for Answers {
    fn print(&self, page: &mut Page, _: &[Sentence]) {
        page.heading(self.task.question());
        for (index, answer) in self.answers.iter().take(FEW).enumerate() {
            page.line(format!(
                "{:>3}  {:<12} {:>5.1} %",
                index + 1,
                clean(&answer.answer, 12),
                100.0 * answer.probability
            ));
        }
        if let Some(more @ 1..) = self.answers.len().checked_sub(FEW) {
            page.line(format!("     and {more} more (--json lists them)"));
        }
        page.paragraph(match self.task {
            Task::Order => {
                "The likeliest of the people that the encoder was trained to tell apart. Only \
                 sentences about two of them, one of whom does something to the other, have an \
                 answer."
            }
            Task::Distance => {
                "The likeliest of the people that the encoder was trained to tell apart. Only rows \
                 of things with two of them before a gate have an answer, such as \"hat king dwarf \
                 lamp stone gate\"."
            }
        });
    }
}
