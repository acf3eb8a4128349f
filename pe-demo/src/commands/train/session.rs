//! One training run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use candle_core::{Device, Tensor, Var};
use indicatif::ProgressBar;

use super::job::{Files, Job, Scaling};
use super::optimizer::{AdamW, AdamWConfig};
use super::sentences::{Sentences, Split};
use crate::encoder::trained::checkpoint::Checkpoint;
use crate::encoder::trained::classifier::{Classifier, Example, Score};
use crate::encoder::trained::description::{Best, Description};
use crate::encoder::{Adds, Mode};

/// Steps between two looks at the validation sentences.
pub(super) const LOOK: u64 = 50;

/// Steps between two writings of the state, for runs that are killed.
const SAVE: u64 = 500;

/// Minimal pairs in the test at each length.
pub(super) const TEST_PAIRS: usize = 200;

/// Minimal pairs to choose the best weights by.
pub(super) const VALIDATION_PAIRS: usize = 150;

/// Steps of warm-up.
const WARM_UP: u64 = 100;

/// A look at the validation sentences.
pub(super) const LOOK_WIDTH: usize = 3;

/// A model in training.
pub(super) struct Session {
    job: Job,
    model: Description,
    sentences: Sentences,
    validation: Vec<Example>,
    classifier: Classifier,
    vars: BTreeMap<String, Var>,
    optimizer: AdamW,
    step: u64,
    /// The step of the state in its file.
    saved: u64,
    /// The loss of each step.
    losses: Vec<f32>,
    /// Step, loss and accuracy of each look.
    looks: Vec<f32>,
    best: Option<(Best, BTreeMap<String, Tensor>)>,
    files: Files,
}

/// The end of a training run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Finished,
    Interrupted,
}

/// The result of a training run.
#[derive(Debug)]
pub(super) struct Trained {
    pub(super) job: Job,
    pub(super) ending: Ending,
    pub(super) weights: u64,
    pub(super) step: u64,
    pub(super) losses: Vec<f32>,
    pub(super) best: Option<Best>,
    /// The tests of the best weights; none after an interruption.
    pub(super) tests: Vec<Test>,
    pub(super) time: Duration,
    pub(super) files: Files,
}

/// The answers at each length; `None` where there are no positions.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) scaling: Scaling,
    pub(super) shares: Vec<Option<Shares>>,
}

/// The shares of answers: the right person, the other person of the sentence, and nobody in it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shares {
    pub(super) right: f64,
    pub(super) other: f64,
    pub(super) nobody: f64,
}

impl Shares {
    /// Counts the answers to minimal pairs: the answer to one is the other person of the other.
    fn of(answers: &[u32], examples: &[Example]) -> Self {
        let pairs = answers.chunks(2).zip(examples.chunks(2));
        let count = |named: fn(usize) -> usize| {
            let found = pairs.clone().map(|(answers, twins)| {
                let answers = answers.iter().enumerate();
                let same = answers.filter(|(at, answer)| {
                    twins
                        .get(named(*at))
                        .is_some_and(|twin| twin.answer == **answer)
                });
                same.count()
            });
            found.sum::<usize>()
        };
        let (right, other) = (count(|at| at), count(|at| 1 - at));
        let nobody = examples.len().saturating_sub(right + other);
        let share = |count: usize| count as f64 / examples.len().max(1) as f64;
        Self {
            right: share(right),
            other: share(other),
            nobody: share(nobody),
        }
    }
}

impl Session {
    /// Starts a training run, or continues the one in the files.
    pub(super) fn new(
        job: Job,
        model: Description,
        sentences: Sentences,
        rows: usize,
        files: Files,
        resume: bool,
        device: &Device,
    ) -> Result<Self> {
        let (classifier, vars) = Classifier::trainable(&model, rows, device)?;
        let config = AdamWConfig {
            learning_rate: model.learning_rate,
            warm_up: WARM_UP,
            clip: 1.0,
            weight_decay: 0.01,
        };
        let mut session = Self {
            validation: sentences.minimal_pairs(
                Split::Validation,
                VALIDATION_PAIRS,
                model.max_seq_len,
            ),
            optimizer: AdamW::new(config, &vars),
            job,
            model,
            sentences,
            classifier,
            vars,
            step: 0,
            saved: 0,
            losses: Vec::new(),
            looks: Vec::new(),
            best: None,
            files,
        };
        if resume && session.files.state.exists() {
            session.restore()?;
        }
        Ok(session)
    }

    pub(super) fn step(&self) -> u64 {
        self.step
    }

    /// Trains up to a number of steps, then tests the best weights at each of the lengths.
    ///
    /// The files written do not depend on earlier interruptions, bit for bit.
    pub(super) fn run(
        mut self,
        steps: u64,
        lengths: &[usize],
        bars: &[ProgressBar; 2],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Trained> {
        let start = Instant::now();
        let [bar, all] = bars;
        let mut ending = Ending::Finished;
        while self.step < steps {
            if stop() {
                ending = Ending::Interrupted;
                break;
            }
            self.advance()?;
            bar.inc(1);
            all.inc(1);
            if self.step.is_multiple_of(LOOK) {
                let score = self.look()?;
                bar.set_message(format!(
                    "loss {:.3}, {:>5.1} % right",
                    score.loss,
                    100.0 * score.accuracy
                ));
            }
            if self.step.is_multiple_of(SAVE) && self.step != steps {
                self.save()?;
            }
        }
        // A training that was not begun has no state.
        if self.saved != self.step {
            self.save()?;
        }
        let mut tests = Vec::new();
        if ending == Ending::Finished {
            bar.set_message("testing");
            if !self.step.is_multiple_of(LOOK) {
                // Not in the state: a longer run would not look here.
                self.look()?;
            }
            tests = self.test(lengths)?;
        }
        bar.finish_and_clear();
        Ok(Trained {
            job: self.job,
            ending,
            weights: self.classifier.weights(),
            step: self.step,
            losses: self.losses,
            best: self.best.map(|(best, _)| best),
            tests,
            time: start.elapsed(),
            files: self.files,
        })
    }

    fn advance(&mut self) -> Result<()> {
        let batch = self.model.batch as u64;
        let examples: Vec<Example> = (self.step * batch..(self.step + 1) * batch)
            .map(|index| self.sentences.train(index, self.model.max_seq_len))
            .collect();
        let (loss, _) = self.classifier.loss(&examples, Mode::Train)?;
        let value = loss.to_scalar::<f32>()?;
        let at = || format!("{}: step {}", self.job, self.step + 1);
        ensure!(value.is_finite(), "{}: the loss is {value}", at());
        self.optimizer.step(&loss.backward()?).with_context(at)?;
        self.losses.push(value);
        self.step += 1;
        Ok(())
    }

    /// Looks at the validation sentences, and keeps the weights if they are the best so far.
    fn look(&mut self) -> Result<Score> {
        let score = self.classifier.score(&self.validation)?;
        // A state with it would be rejected.
        ensure!(
            (score.loss as f32).is_finite(),
            "{}: step {}: the loss on the validation sentences is {}",
            self.job,
            self.step,
            score.loss
        );
        self.looks
            .extend([self.step as f32, score.loss as f32, score.accuracy as f32]);
        let better = self
            .best
            .as_ref()
            .is_none_or(|(best, _)| (score.accuracy, -score.loss) > (best.accuracy, -best.loss));
        if better {
            let best = Best {
                step: self.step,
                accuracy: score.accuracy,
                loss: score.loss,
            };
            self.best = Some((best, self.weights()?));
            self.write_best()?;
        }
        Ok(score)
    }

    /// Copies of the current weights.
    fn weights(&self) -> Result<BTreeMap<String, Tensor>> {
        let copy = |(name, var): (&String, &Var)| Ok((name.clone(), var.as_tensor().copy()?));
        self.vars.iter().map(copy).collect()
    }

    fn write_best(&self) -> Result<()> {
        match &self.best {
            Some((best, weights)) => {
                Checkpoint::write(&self.files.weights, &self.model, None, Some(*best), weights)
            }
            None => Ok(()),
        }
    }

    fn save(&mut self) -> Result<()> {
        let mut tensors = BTreeMap::new();
        let mut put = |prefix: &str, weights: BTreeMap<String, Tensor>| {
            let named = weights.into_iter();
            tensors.extend(named.map(|(name, weight)| (format!("{prefix}{name}"), weight)));
        };
        put(WEIGHTS, self.weights()?);
        if let Some((_, weights)) = &self.best {
            put(BEST, weights.clone());
        }
        tensors.extend(self.optimizer.state()?);
        let rows = |values: &[f32], width| {
            Tensor::from_slice(values, (values.len() / width, width), &Device::Cpu)
        };
        tensors.insert(LOSSES.to_owned(), rows(&self.losses, 1)?);
        tensors.insert(LOOKS.to_owned(), rows(&self.looks, LOOK_WIDTH)?);
        let best = self.best.as_ref().map(|(best, _)| *best);
        self.saved = self.step;
        Checkpoint::write(
            &self.files.state,
            &self.model,
            Some(self.step),
            best,
            &tensors,
        )
    }

    fn restore(&mut self) -> Result<()> {
        let path = &self.files.state;
        let mut file = Checkpoint::read(path)?;
        let name = path.display();
        let step = file
            .step
            .with_context(|| format!("{name}: not the state of a training"))?;
        file.check_numbers()?;
        for (name, var) in &self.vars {
            let weight = file.take(&format!("{WEIGHTS}{name}"), var.dims())?;
            var.set(&weight.to_device(var.device())?)?;
        }
        self.best = match file.best {
            None => None,
            Some(best) => {
                let mut weights = BTreeMap::new();
                for (name, var) in &self.vars {
                    let weight = file.take(&format!("{BEST}{name}"), var.dims())?;
                    weights.insert(name.clone(), weight.to_device(var.device())?);
                }
                Some((best, weights))
            }
        };
        self.losses = file.take_rows(LOSSES, 1)?;
        self.looks = file.take_rows(LOOKS, LOOK_WIDTH)?;
        ensure!(
            self.losses.len() as u64 == step,
            "{name}: {} losses of {step} steps",
            self.losses.len()
        );
        self.optimizer
            .restore(step, &mut |name, shape| file.take(name, shape))?;
        file.finish()?;
        self.classifier.encoder.set_dropout_step(step);
        (self.step, self.saved) = (step, step);
        self.write_best()
    }

    /// Tests the best weights at each of the lengths.
    fn test(&self, lengths: &[usize]) -> Result<Vec<Test>> {
        if let Some((_, weights)) = &self.best {
            for (name, var) in &self.vars {
                if let Some(weight) = weights.get(name) {
                    var.set(weight)?;
                }
            }
        }
        let (scheme, trained) = (self.model.scheme, self.model.max_seq_len);
        let mut tests: Vec<Test> = Scaling::of(scheme)
            .iter()
            .map(|scaling| Test {
                scaling: *scaling,
                shares: Vec::new(),
            })
            .collect();
        for len in lengths {
            let examples = self.sentences.minimal_pairs(Split::Test, TEST_PAIRS, *len);
            let mut unscaled = None;
            for test in &mut tests {
                let shares = match (test.scaling.at(*len, trained), scheme.adds()) {
                    (None, Adds::TrainedRows) if *len > trained => None,
                    (None, _) if unscaled.is_some() => unscaled,
                    (None, _) => Some(shares(&self.classifier, &examples)?),
                    (Some(scaling), _) => {
                        Some(shares(&self.classifier.rescaled(&scaling)?, &examples)?)
                    }
                };
                unscaled = unscaled.or(shares);
                test.shares.push(shares);
            }
        }
        Ok(tests)
    }
}

fn shares(classifier: &Classifier, examples: &[Example]) -> Result<Shares> {
    let score = classifier.score(examples)?;
    Ok(Shares::of(&score.answers, examples))
}

/// Before the names of weights in the file of a state.
const WEIGHTS: &str = "weights.";
const BEST: &str = "best.";

/// The names of the history there.
const LOSSES: &str = "history.loss";
const LOOKS: &str = "history.validation";
