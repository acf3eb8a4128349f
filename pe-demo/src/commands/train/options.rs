//! The options of `pe-demo train`, checked.

use std::path::PathBuf;

use serde::Serialize;

use super::job::Job;
use crate::cli::TrainArgs;
use crate::encoder::check_widths;
use crate::encoder::device::DeviceName;
use crate::terminal::outcome::BadUsage;

/// The lengths of the test without `--test-lengths`, in halves of the trained length.
const LENGTHS: [usize; 5] = [2, 3, 4, 6, 8];

/// The training, and its files.
#[derive(Debug)]
pub(crate) struct Options {
    /// What is trained: all seeds of a scheme, all schemes of a task, all tasks.
    pub(super) jobs: Vec<Job>,
    /// Tokens of the sentences of each test, in ascending order.
    pub(super) lengths: Vec<usize>,
    pub(super) settings: Settings,
    pub(super) output: PathBuf,
    pub(super) resume: bool,
    pub(super) device: DeviceName,
    pub(super) json: bool,
}

/// The settings of each training run.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Settings {
    pub(super) steps: u64,
    pub(super) batch: usize,
    /// The first seed.
    pub(super) seed: u64,
    pub(super) seeds: u64,
    /// Tokens of the longest sentence.
    pub(super) length: usize,
    pub(super) d_model: usize,
    pub(super) heads: usize,
    pub(super) layers: usize,
    pub(super) learning_rate: f64,
    pub(super) dropout: f32,
}

impl Options {
    /// Checks the arguments together.
    pub(crate) fn new(args: TrainArgs) -> Result<Self, BadUsage> {
        let TrainArgs { d_model, heads, .. } = args;
        let schemes = args.schemes();
        check_widths(d_model, heads, schemes.iter().copied()).map_err(|error| {
            BadUsage(error.of(&format!("--d-model {d_model}"), &format!("--heads {heads}")))
        })?;
        let last = args.seed.checked_add(args.seeds - 1).ok_or_else(|| {
            BadUsage(format!(
                "--seed {} and --seeds {} ask for seeds of more than 64 bits",
                args.seed, args.seeds
            ))
        })?;
        let mut jobs = Vec::new();
        for task in args.tasks() {
            for scheme in &schemes {
                let job = |seed| Job {
                    task,
                    scheme: *scheme,
                    seed,
                };
                jobs.extend((args.seed..=last).map(job));
            }
        }
        let mut lengths = match args.test_lengths.is_empty() {
            true => LENGTHS.map(|halves| halves * args.length / 2).to_vec(),
            false => args.test_lengths,
        };
        lengths.push(args.length);
        lengths.sort_unstable();
        lengths.dedup();
        Ok(Self {
            jobs,
            lengths,
            settings: Settings {
                steps: args.steps,
                batch: args.batch,
                seed: args.seed,
                seeds: args.seeds,
                length: args.length,
                d_model,
                heads,
                layers: args.layers,
                learning_rate: args.learning_rate,
                dropout: args.dropout,
            },
            output: args.output,
            resume: args.resume,
            device: args.device,
            json: args.json,
        })
    }
}
