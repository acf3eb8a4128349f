//! The results of `pe-demo train`: numbers of each training, and of all seeds together.

mod findings;
mod page;

use std::path::PathBuf;

use serde::Serialize;

use super::job::Scaling;
use super::losses;
use super::options::{Options, Settings};
use super::session::{Ending, Shares, TEST_PAIRS, Trained};
use crate::encoder::Scheme;
use crate::encoder::trained::task::Task;

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
    /// The sentences of each length and seed.
    test_sentences: usize,
    /// Tokens of the sentences of each test.
    test_lengths: Vec<usize>,
    trainings: Vec<Training>,
    /// A row for each task, scheme, and scaling; none after an interruption.
    results: Vec<Row>,
    /// The trainings at a time, each on one thread.
    parallel: usize,
    pub(super) files: Vec<PathBuf>,
    pub(super) seconds: f64,
    /// The mean losses of the seeds of each task and scheme.
    #[serde(skip)]
    losses: Vec<(Task, Scheme, Vec<f32>)>,
}

#[derive(Debug, Serialize)]
struct Training {
    task: Task,
    scheme: Scheme,
    seed: u64,
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
    seconds: f64,
    weights_file: Option<PathBuf>,
    state_file: PathBuf,
}

/// The tests of a scheme, of all seeds. Lists have an entry for each length, which is null where the
/// scheme has no positions.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) task: Task,
    pub(super) scheme: Scheme,
    scaling: Scaling,
    /// The share of right answers.
    #[serde(rename = "accuracy")]
    pub(super) spread: Vec<Option<Spread>>,
    /// The mean share of answers that name the other person of the sentence.
    other: Vec<Option<f64>>,
    /// The mean share of answers that name somebody who is not in the sentence.
    nobody: Vec<Option<f64>>,
    #[serde(skip)]
    pub(super) runs: Vec<Vec<Option<Shares>>>,
}

/// The mean and the range over the seeds.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Results {
    /// Summarizes the trainings, which are in the order of the options.
    pub(super) fn of(options: &Options, trained: &[Trained], parallel: usize) -> Self {
        let seeds = usize::try_from(options.settings.seeds).unwrap_or(usize::MAX);
        let groups = trained.chunks(seeds.max(1));
        let finished = trained.iter().all(|one| one.ending == Ending::Finished);
        let rows = groups.clone().filter(|_| finished).flat_map(Row::all);
        let losses = groups.filter_map(|group| {
            let job = group.first()?.job;
            let mean = losses::mean(group, job.task, job.scheme);
            Some((job.task, job.scheme, mean))
        });
        Self {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            settings: options.settings,
            chance: 0.5,
            test_sentences: 2 * TEST_PAIRS,
            test_lengths: options.lengths.clone(),
            trainings: trained.iter().map(Training::of).collect(),
            results: rows.collect(),
            parallel,
            files: Vec::new(),
            seconds: 0.0,
            losses: losses.collect(),
        }
    }

    /// Returns whether no training was interrupted.
    pub(super) fn finished(&self) -> bool {
        !self.trainings.iter().any(|one| one.interrupted)
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.results.iter()
    }

    pub(super) fn tasks(&self) -> Vec<Task> {
        let mut tasks: Vec<Task> = self.trainings.iter().map(|one| one.task).collect();
        tasks.dedup();
        tasks
    }

    pub(super) fn schemes(&self) -> Vec<Scheme> {
        let first = self.trainings.first().map(|one| one.task);
        let same = self.trainings.iter().filter(|one| Some(one.task) == first);
        let mut schemes: Vec<Scheme> = same.map(|one| one.scheme).collect();
        schemes.dedup();
        schemes
    }

    pub(super) fn seeds(&self) -> impl Iterator<Item = u64> + use<> {
        self.settings.seed..=self.settings.seed + (self.settings.seeds - 1)
    }

    pub(super) fn lengths(&self) -> &[usize] {
        &self.test_lengths
    }

    pub(super) fn trained_length(&self) -> usize {
        self.settings.length
    }

    pub(super) fn chance(&self) -> f64 {
        self.chance
    }
}

impl Training {
    fn of(trained: &Trained) -> Self {
        let last = trained.losses.len().saturating_sub(LAST);
        let last = &trained.losses[last..];
        let sum: f64 = last.iter().copied().map(f64::from).sum();
        Self {
            task: trained.job.task,
            scheme: trained.job.scheme,
            seed: trained.job.seed,
            weights: trained.weights,
            steps: trained.step,
            interrupted: trained.ending == Ending::Interrupted,
            loss: (!last.is_empty()).then(|| sum / last.len() as f64),
            best_step: trained.best.map(|best| best.step),
            validation_loss: trained.best.map(|best| best.loss),
            validation_accuracy: trained.best.map(|best| best.accuracy),
            seconds: trained.time.as_secs_f64(),
            weights_file: trained.best.map(|_| trained.files.weights.clone()),
            state_file: trained.files.state.clone(),
        }
    }
}

impl Training {
    fn weights(&self) -> Option<&PathBuf> {
        self.weights_file.as_ref()
    }

    /// Returns the file of the state, if there was a step.
    fn state(&self) -> Option<&PathBuf> {
        (self.steps > 0).then_some(&self.state_file)
    }
}

impl Row {
    /// Returns a row for each scaling from the trainings of a task and scheme.
    fn all(group: &[Trained]) -> Vec<Self> {
        let Some(first) = group.first() else {
            return Vec::new();
        };
        let row = |index: usize, scaling: Scaling| {
            let runs: Vec<Vec<Option<Shares>>> = group
                .iter()
                .filter_map(|one| Some(one.tests.get(index)?.shares.clone()))
                .collect();
            let of = |share: fn(&Shares) -> f64| -> Vec<Option<Spread>> {
                let count = runs.first().map_or(0, Vec::len);
                (0..count).map(|at| Spread::of(&runs, at, share)).collect()
            };
            let mean = |share| of(share).into_iter().map(|spread| Some(spread?.mean));
            Self {
                task: first.job.task,
                scheme: first.job.scheme,
                scaling,
                spread: of(|shares| shares.right),
                other: mean(|shares| shares.other).collect(),
                nobody: mean(|shares| shares.nobody).collect(),
                runs,
            }
        };
        let tests = first.tests.iter().enumerate();
        tests.map(|(at, test)| row(at, test.scaling)).collect()
    }

    /// Returns the name of the scheme, with the scaling.
    pub(super) fn name(&self) -> String {
        self.scaling.name(self.scheme)
    }

    /// Returns the name of the scaling.
    pub(super) fn scaling(&self) -> &'static str {
        self.scaling.word()
    }
}

impl Spread {
    fn of(runs: &[Vec<Option<Shares>>], at: usize, share: fn(&Shares) -> f64) -> Option<Self> {
        let values: Option<Vec<f64>> = runs
            .iter()
            .map(|run| run.get(at).copied().flatten().as_ref().map(share))
            .collect();
        let values = values.filter(|values| !values.is_empty())?;
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}
