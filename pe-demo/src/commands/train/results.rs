//! The results of `pe-demo train`, as text and as JSON.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use super::TEST_PAIRS;
use super::chart::{self, Curve};
use super::options::{Options, Settings};
use super::session::{Ending, LOOK, Trained, VALIDATION_PAIRS};
use super::task::{PEOPLE, SHORTEST};
use crate::encoder::Scheme;
use crate::terminal::log::Verbosity;
use crate::terminal::numbers::{percent, seconds, thousands};
use crate::terminal::page::Page;
use crate::terminal::width::{clean_path, pad_left};

/// The training loss is averaged over this many steps at the end.
const LAST: usize = 50;

/// All that is shown.
#[derive(Debug, Serialize)]
pub(super) struct Results {
    program: &'static str,
    version: &'static str,
    settings: Settings,
    /// The share of right answers that two names to choose from give to a guess.
    chance: f64,
    test_sentences: usize,
    /// Tokens of the sentences of each test.
    test_lengths: Vec<usize>,
    schemes: Vec<Line>,
    /// The schemes that were trained at a time, each on one thread.
    parallel: usize,
    losses_files: [PathBuf; 2],
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Line {
    scheme: Scheme,
    weights: u64,
    steps: u64,
    interrupted: bool,
    /// The mean loss of the last steps of training, with dropout.
    loss: Option<f64>,
    /// The step of the weights that are kept and tested: those that did best on the validation
    /// sentences.
    best_step: Option<u64>,
    /// The loss of these weights on the validation sentences.
    validation_loss: Option<f64>,
    /// Their share of right answers there.
    validation_accuracy: Option<f64>,
    /// The share of right answers at each length; null where there are no positions, none after
    /// an interruption.
    accuracy: Vec<Option<f64>>,
    seconds: f64,
    weights_file: Option<PathBuf>,
    state_file: PathBuf,
    #[serde(skip)]
    losses: Vec<f32>,
}

impl Results {
    pub(super) fn of(
        options: &Options,
        test_lengths: Vec<usize>,
        trained: &[Trained],
        parallel: usize,
        losses_files: [PathBuf; 2],
        time: Duration,
    ) -> Self {
        Self {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            settings: options.settings,
            chance: 0.5,
            test_sentences: 2 * TEST_PAIRS,
            test_lengths,
            schemes: trained.iter().map(Line::of).collect(),
            parallel,
            losses_files,
            seconds: time.as_secs_f64(),
        }
    }

    /// Returns all of it as text; a quiet run shows the figures alone.
    pub(super) fn page(&self, verbosity: Verbosity) -> Page {
        let mut page = Page::new();
        let quiet = verbosity == Verbosity::Quiet;
        if !quiet {
            self.introduction(&mut page);
        }
        match self.schemes.iter().any(|line| line.interrupted) {
            false => self.accuracies(&mut page),
            true => self.interruption(&mut page),
        }
        self.losses(&mut page, quiet);
        if quiet {
            return page;
        }
        self.curves(&mut page);
        self.files(&mut page);
        page
    }

    fn introduction(&self, page: &mut Page) {
        let settings = &self.settings;
        page.line(format!(
            "{} {}: does a transformer need to be told the order of the words?",
            self.program, self.version
        ));
        page.wrap(
            "",
            &format!(
                "d_model {}, {} layers of {} heads, pre-norm, dropout {}, seed {}; {} steps of {} \
                 sentences of {SHORTEST} to {} tokens",
                settings.d_model,
                settings.layers,
                settings.heads,
                settings.dropout,
                settings.seed,
                settings.steps,
                settings.batch,
                settings.length
            ),
        );
        page.heading("Agent of the sentence");
        page.line("  the king feared the dwarf.                              king");
        page.line("  the dwarf feared the king.                              dwarf");
        page.line("  last year the dwarf from the city never feared the king.");
        page.line("                                                          dwarf");
        page.line("");
        page.paragraph(&format!(
            "The answer is one of {} people. Sentences come in twins with the same words, so that \
             only the order tells which of the two named is meant: guessing between them gives \
             50%. The pairs of people in the test are not in the training data.",
            PEOPLE.len()
        ));
    }

    fn interruption(&self, page: &mut Page) {
        page.heading("Interrupted");
        for line in &self.schemes {
            page.line(format!(
                "  {:<19} {:>6} of {} steps done",
                line.scheme.name(),
                line.steps,
                self.settings.steps
            ));
        }
        page.paragraph(
            "The best weights so far are kept. The same command with --resume goes on to the same \
             bits as if nothing had happened.",
        );
    }

    fn accuracies(&self, page: &mut Page) {
        page.heading(&format!(
            "Accuracy on {} new sentences of each length",
            thousands(self.test_sentences as u64)
        ));
        let mut header = format!("  {:<19}{:>9}", "scheme", "weights");
        for (index, len) in self.test_lengths.iter().enumerate() {
            let times = len / self.settings.length;
            let title = match index {
                0 => format!("{len} tokens"),
                _ => format!("{len} ({times} x)"),
            };
            header += &pad_left(&title, 12);
        }
        page.line(header);
        for line in &self.schemes {
            let mut text = format!("  {:<19}{:>9}", line.scheme.name(), thousands(line.weights));
            for accuracy in &line.accuracy {
                let cell = accuracy.map_or("no rows".to_owned(), percent);
                text += &pad_left(&cell, 12);
            }
            page.line(text);
        }
        page.line("");
        for line in &self.schemes {
            page.wrap(
                &format!("{}: ", line.scheme.name()),
                &line.verdict(&self.test_lengths),
            );
        }
    }

    /// Prints the losses, and which weights are kept.
    fn losses(&self, page: &mut Page, quiet: bool) {
        page.heading("Losses (nats), and the weights that are kept and tested");
        page.line("                          kept     validation           training");
        page.line(format!(
            "  {:<19}{:>9}{:>11}{:>9}{:>11}{:>11}",
            "scheme", "step", "loss", "right", "loss", "time"
        ));
        let number = |loss: Option<f64>| loss.map_or("-".to_owned(), |loss| format!("{loss:.3}"));
        for line in &self.schemes {
            let step = line.best_step.map(thousands);
            page.line(format!(
                "  {:<19}{:>9}{:>11}{:>9}{:>11}{:>11}",
                line.scheme.name(),
                step.unwrap_or("-".to_owned()),
                number(line.validation_loss),
                line.validation_accuracy.map_or("-".to_owned(), percent),
                number(line.loss),
                seconds(Duration::from_secs_f64(line.seconds))
            ));
        }
        if quiet {
            return;
        }
        page.line("");
        page.paragraph(&format!(
            "Kept and tested are the weights of the step with the most right answers to {} \
             validation sentences of the trained length (of equals, that with the least loss), not \
             those of the last step; they are looked at every {LOOK} steps and at the end. Training \
             loss: the mean of the last {LAST} steps, with dropout. Knowing both names and guessing \
             between them is ln 2 = 0.693.",
            2 * VALIDATION_PAIRS
        ));
        let together = seconds(Duration::from_secs_f64(self.seconds));
        page.paragraph(&match (self.schemes.len(), self.parallel) {
            (1, _) => format!("All together took {together}."),
            (_, 1) => format!("One scheme was trained after another, in {together}."),
            (count, parallel) => format!(
                "The {count} schemes were trained in parallel, {parallel} at a time on one thread \
                 each; their times overlap. All together took {together}."
            ),
        });
    }

    fn curves(&self, page: &mut Page) {
        page.heading("Loss in training (nats)");
        let curves: Vec<Curve<'_>> = self
            .schemes
            .iter()
            .map(|line| Curve {
                letter: line.scheme.letter(),
                name: line.scheme.name(),
                values: &line.losses,
            })
            .collect();
        chart::draw(page, &curves);
    }

    /// Every file that was written.
    fn files(&self, page: &mut Page) {
        page.heading("Files");
        for line in &self.schemes {
            if let Some(file) = &line.weights_file {
                page.wrap("  weights  ", &clean_path(file));
            }
        }
        for line in &self.schemes {
            page.wrap("  state    ", &clean_path(&line.state_file));
        }
        for file in &self.losses_files {
            page.wrap("  losses   ", &clean_path(file));
        }
        page.line("  state is what --resume goes on from");
        page.line("  look at what was learned with: pe-demo encode --weights FILE");
    }
}

impl Line {
    fn of(trained: &Trained) -> Self {
        let last = trained.losses.len().saturating_sub(LAST);
        let last = &trained.losses[last..];
        let sum: f64 = last.iter().copied().map(f64::from).sum();
        Self {
            scheme: trained.scheme,
            weights: trained.weights,
            steps: trained.step,
            interrupted: trained.ending == Ending::Interrupted,
            loss: (!last.is_empty()).then(|| sum / last.len() as f64),
            best_step: trained.best.map(|best| best.step),
            validation_loss: trained.best.map(|best| best.loss),
            validation_accuracy: trained.best.map(|best| best.accuracy),
            accuracy: trained.accuracy.clone(),
            seconds: trained.time.as_secs_f64(),
            weights_file: trained.best.map(|_| trained.files.weights.clone()),
            state_file: trained.files.state.clone(),
            losses: trained.losses.clone(),
        }
    }

    /// Describes the figures in words.
    fn verdict(&self, lengths: &[usize]) -> String {
        let Some(Some(trained)) = self.accuracy.first().copied() else {
            return "not tested".to_owned();
        };
        let mut text = match trained {
            share if share >= 0.9 => "tells who does it at the trained length".to_owned(),
            share if share > 0.55 => "does better than a guess at the trained length".to_owned(),
            _ if self.scheme == Scheme::None => {
                "no better than a guess: it sees which words there are, not their order".to_owned()
            }
            _ => format!(
                "no better than a guess: {} {} too short a training to tell",
                thousands(self.steps),
                if self.steps == 1 {
                    "step is"
                } else {
                    "steps are"
                }
            ),
        };
        if trained <= 0.55 {
            return text;
        }
        let rows = lengths.first().copied().unwrap_or(0);
        if self.accuracy.contains(&None) {
            text += &format!("; it has {rows} rows, and cannot read longer sentences");
        }
        for (len, accuracy) in lengths.iter().zip(&self.accuracy).skip(1) {
            text += &match accuracy {
                None => continue,
                Some(share) if *share >= trained - 0.05 => format!("; as good at {len}"),
                Some(share) if *share > 0.55 => format!("; loses some at {len}"),
                Some(_) => format!("; fails at {len}"),
            };
        }
        text
    }
}
