//! The training run of one scheme.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use candle_core::{Device, Tensor, Var};
use indicatif::ProgressBar;

use super::optimizer::{AdamW, AdamWConfig};
use super::task::{Split, Task};
use crate::encoder::trained::checkpoint::Checkpoint;
use crate::encoder::trained::classifier::{Classifier, Example, Score};
use crate::encoder::trained::description::{Best, Description};
use crate::encoder::{Adds, Mode, Scheme};
use crate::terminal::interrupt::Interrupt;

/// Steps between two looks at the validation sentences.
pub(super) const LOOK: u64 = 50;

/// Steps between two writings of the state, for runs that are killed.
const SAVE: u64 = 500;

/// Minimal pairs to choose the best weights by.
pub(super) const VALIDATION_PAIRS: usize = 150;

/// Steps of warm-up.
const WARM_UP: u64 = 100;

/// A look at the validation sentences.
pub(super) const LOOK_WIDTH: usize = 3;

/// A model in training.
pub(super) struct Session {
    model: Description,
    task: Task,
    validation: Vec<Example>,
    classifier: Classifier,
    vars: BTreeMap<String, Var>,
    optimizer: AdamW,
    step: u64,
    /// The loss of each step.
    losses: Vec<f32>,
    /// Step, loss and accuracy of each look.
    looks: Vec<f32>,
    best: Option<(Best, BTreeMap<String, Tensor>)>,
    files: Files,
}

/// The files of a scheme.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) weights: PathBuf,
    pub(super) state: PathBuf,
}

impl Files {
    pub(super) fn of(directory: &Path, scheme: Scheme) -> Self {
        let name = scheme.name();
        Self {
            weights: directory.join(format!("{name}.safetensors")),
            state: directory.join(format!("{name}.state.safetensors")),
        }
    }
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
    pub(super) scheme: Scheme,
    pub(super) ending: Ending,
    pub(super) weights: u64,
    pub(super) step: u64,
    pub(super) losses: Vec<f32>,
    pub(super) best: Option<Best>,
    /// The right answers at each length of the test; `None` where there are no positions.
    pub(super) accuracy: Vec<Option<f64>>,
    pub(super) time: Duration,
    pub(super) files: Files,
}

impl Session {
    /// Starts a training run, or continues the one in the files.
    pub(super) fn new(
        model: Description,
        task: Task,
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
            validation: task.minimal_pairs(Split::Validation, VALIDATION_PAIRS, model.max_seq_len),
            optimizer: AdamW::new(config, &vars),
            model,
            task,
            classifier,
            vars,
            step: 0,
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

    pub(super) fn scheme(&self) -> Scheme {
        self.model.scheme
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
        tests: &[(usize, Vec<Example>)],
        bar: &ProgressBar,
        interrupt: &Interrupt,
    ) -> Result<Trained> {
        let start = Instant::now();
        let mut ending = Ending::Finished;
        while self.step < steps {
            if interrupt.asked() {
                ending = Ending::Interrupted;
                break;
            }
            self.advance()?;
            bar.inc(1);
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
        self.save()?;
        let mut accuracy = Vec::new();
        if ending == Ending::Finished {
            bar.set_message("testing");
            if !self.step.is_multiple_of(LOOK) {
                // Not in the state: a longer run would not look here.
                self.look()?;
            }
            accuracy = self.test(tests)?;
        }
        bar.finish_and_clear();
        Ok(Trained {
            scheme: self.model.scheme,
            ending,
            weights: self.classifier.weights(),
            step: self.step,
            losses: self.losses,
            best: self.best.map(|(best, _)| best),
            accuracy,
            time: start.elapsed(),
            files: self.files,
        })
    }

    fn advance(&mut self) -> Result<()> {
        let batch = self.model.batch as u64;
        let examples: Vec<Example> = (self.step * batch..(self.step + 1) * batch)
            .map(|index| self.task.train(index, self.model.max_seq_len))
            .collect();
        let (loss, _) = self.classifier.loss(&examples, Mode::Train)?;
        let value = loss.to_scalar::<f32>()?;
        let at = || format!("{}: step {}", self.model.scheme.name(), self.step + 1);
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
            self.model.scheme.name(),
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

    fn save(&self) -> Result<()> {
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
        file.check_same(&self.model)?;
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
        self.step = step;
        self.write_best()
    }

    /// The right answers of the best weights at each of the lengths.
    fn test(&self, tests: &[(usize, Vec<Example>)]) -> Result<Vec<Option<f64>>> {
        if let Some((_, weights)) = &self.best {
            for (name, var) in &self.vars {
                if let Some(weight) = weights.get(name) {
                    var.set(weight)?;
                }
            }
        }
        let (scheme, rows) = (self.model.scheme, self.model.max_seq_len);
        let score = |(len, examples): &(usize, Vec<Example>)| match scheme.adds() {
            Adds::TrainedRows if *len > rows => Ok(None),
            _ => Ok(Some(self.classifier.score(examples)?.accuracy)),
        };
        tests.iter().map(score).collect()
    }
}

/// Before the names of weights in the file of a state.
const WEIGHTS: &str = "weights.";
const BEST: &str = "best.";

/// The names of the history there.
const LOSSES: &str = "history.loss";
const LOOKS: &str = "history.validation";
