//! The arguments of `pe-demo train`.

use std::path::PathBuf;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use pe_core::MAX_D_MODEL;

use super::numbers::{positive, probability, whole};
use crate::encoder::device::DeviceName;
use crate::encoder::trained::task::Task;
use crate::encoder::{DEFAULT_HEADS, DEFAULT_LAYERS, Scheme};

pub(super) const TRAIN_EXAMPLES: &str = "\
Examples:
  pe-demo train                          all of it, about three minutes
  pe-demo train --scheme alibi,t5,rotary --task distance
  pe-demo train --scheme rotary --seeds 1 --steps 3000 -o long
  pe-demo train --test-lengths 24,100
  pe-demo train --resume                 continue after Ctrl-C
  pe-demo encode --weights pe-demo-train/order-rotary-0.safetensors

The weights with the best validation accuracy are kept and tested, not the last ones. \
Sentences, weights, and dropout follow from the seed: on the CPU of one machine the same \
arguments give the same files, byte for byte. Files of an earlier training run are replaced, \
others are not.

--device cuda and --device metal need a build with the feature of that name; their results \
may differ from the CPU's in the last bits.

Exit codes: 0 trained, 1 a failure (files, sizes), 2 bad usage, 130 interrupted.";

/// The schemes to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schemes {
    All,
    One(Scheme),
}

impl TrainArgs {
    /// Returns the schemes, each once, in their usual order.
    pub(crate) fn schemes(&self) -> Vec<Scheme> {
        let asked = |one: &Scheme| {
            let asked = |schemes: &Schemes| {
                matches!(schemes, Schemes::All) || *schemes == Schemes::One(*one)
            };
            self.scheme.iter().any(asked)
        };
        Scheme::ALL.into_iter().filter(asked).collect()
    }

    /// Returns the tasks, each once, in their usual order.
    pub(crate) fn tasks(&self) -> Vec<Task> {
        let asked = |one: &Task| {
            let asked = |tasks: &Tasks| matches!(tasks, Tasks::All) || *tasks == Tasks::One(*one);
            self.task.iter().any(asked)
        };
        Task::ALL.into_iter().filter(asked).collect()
    }
}

/// The tasks to train on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tasks {
    All,
    One(Task),
}

impl ValueEnum for Tasks {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::All, Self::One(Task::Order), Self::One(Task::Distance)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::All => Some(PossibleValue::new("all").help("All tasks")),
            Self::One(task) => task.to_possible_value(),
        }
    }
}

impl ValueEnum for Schemes {
    fn value_variants<'a>() -> &'a [Self] {
        const COUNT: usize = Scheme::ALL.len() + 1;
        const VARIANTS: [Schemes; COUNT] = {
            let mut variants = [Schemes::All; COUNT];
            let mut at = 1;
            while at < COUNT {
                variants[at] = Schemes::One(Scheme::ALL[at - 1]);
                at += 1;
            }
            variants
        };
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::All => Some(PossibleValue::new("all").help("All schemes, in parallel")),
            Self::One(scheme) => scheme.to_possible_value(),
        }
    }
}

/// The training.
#[derive(Debug, Args)]
pub(crate) struct TrainArgs {
    /// Positional encoding schemes, such as alibi,t5
    #[arg(
        help_heading = "Experiment",
        long,
        value_enum,
        value_delimiter = ',',
        default_values_t = [Schemes::All],
        value_name = "SCHEME"
    )]
    pub(crate) scheme: Vec<Schemes>,
    /// Tasks, such as distance
    #[arg(
        help_heading = "Experiment",
        long,
        value_enum,
        value_delimiter = ',',
        default_values_t = [Tasks::All],
        value_name = "TASK"
    )]
    pub(crate) task: Vec<Tasks>,
    /// Training runs of each scheme and task; the results are means, with the range
    #[arg(
        help_heading = "Experiment",
        long,
        default_value_t = 3,
        value_name = "N",
        value_parser = whole::<u64>(1, 100),
        allow_negative_numbers = true
    )]
    pub(crate) seeds: u64,
    /// Training steps
    #[arg(
        help_heading = "Training",
        long,
        default_value_t = 600,
        value_name = "N",
        value_parser = whole::<u64>(1, 1_000_000),
        allow_negative_numbers = true
    )]
    pub(crate) steps: u64,
    /// Sentences per step
    #[arg(
        help_heading = "Training",
        long,
        default_value_t = 24,
        value_name = "N",
        value_parser = whole::<usize>(1, 1024),
        allow_negative_numbers = true
    )]
    pub(crate) batch: usize,
    /// Maximum sequence length in training
    #[arg(
        help_heading = "Training",
        long,
        default_value_t = 16,
        value_name = "N",
        value_parser = whole::<usize>(8, 256),
        allow_negative_numbers = true
    )]
    pub(crate) length: usize,
    /// Sequence lengths of the tests, next to the trained one [default: 1.5, 2, 3, and 4 times that]
    #[arg(
        help_heading = "Experiment",
        long,
        value_delimiter = ',',
        value_name = "N",
        value_parser = whole::<usize>(8, 1024),
        allow_negative_numbers = true
    )]
    pub(crate) test_lengths: Vec<usize>,
    /// Width of the token embeddings
    #[arg(
        help_heading = "Encoder",
        long,
        default_value_t = 64,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) d_model: usize,
    /// Attention heads per layer
    #[arg(
        help_heading = "Encoder",
        long,
        default_value_t = DEFAULT_HEADS,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) heads: usize,
    /// Number of layers
    #[arg(
        help_heading = "Encoder",
        long,
        default_value_t = DEFAULT_LAYERS,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) layers: usize,
    /// Peak learning rate, reached after 100 steps
    #[arg(
        help_heading = "Training",
        long,
        default_value_t = 0.002,
        value_name = "R",
        value_parser = positive,
        allow_hyphen_values = true
    )]
    pub(crate) learning_rate: f64,
    /// Dropout probability, at least 0 and below 1
    #[arg(
        help_heading = "Training",
        long,
        default_value_t = 0.1,
        value_name = "P",
        value_parser = probability,
        allow_hyphen_values = true
    )]
    pub(crate) dropout: f32,
    /// First seed of sentences, weights, and dropout
    #[arg(
        help_heading = "Training",
        long,
        default_value_t = 0,
        value_name = "N",
        value_parser = whole::<u64>(0, u64::MAX),
        allow_negative_numbers = true
    )]
    pub(crate) seed: u64,
    /// Directory for weights and losses, created if needed
    #[arg(
        help_heading = "Output",
        short,
        long,
        default_value = "pe-demo-train",
        value_name = "DIR"
    )]
    pub(crate) output: PathBuf,
    /// Resume the training run in the directory
    #[arg(help_heading = "Output", long)]
    pub(crate) resume: bool,
    /// Device: cpu, cuda, cuda:N, or metal
    #[arg(help_heading = "Output", long, value_name = "DEVICE", default_value_t)]
    pub(crate) device: DeviceName,
    /// Print one JSON document instead of text
    #[arg(help_heading = "Output", long)]
    pub(crate) json: bool,
}
