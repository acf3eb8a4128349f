//! One training run of many: its task, scheme, seed, and files.

use std::fmt;
use std::path::{Path, PathBuf};

use pe_core::{RopeScaling, YarnScaling};
use serde::Serialize;

use crate::encoder::Scheme;
use crate::encoder::trained::task::Task;

/// What is trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) task: Task,
    pub(super) scheme: Scheme,
    pub(super) seed: u64,
}

impl Job {
    /// Returns the files in a directory.
    pub(super) fn files(&self, directory: &Path) -> Files {
        Files {
            weights: directory.join(format!("{self}.safetensors")),
            state: directory.join(format!("{self}.state.safetensors")),
        }
    }
}

/// The name, also of its files: `order-rotary-0`.
impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, scheme, seed } = self;
        write!(f, "{}-{}-{seed}", task.name(), scheme.name())
    }
}

/// The files of a training run.
#[derive(Debug, Clone)]
pub(super) struct Files {
    pub(super) weights: PathBuf,
    pub(super) state: PathBuf,
}

/// The frequencies of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scaling {
    /// Those of the training.
    None,
    /// Position interpolation: all frequencies divided by one number.
    Linear,
    /// YaRN.
    Yarn,
}

impl Scaling {
    /// Returns the scalings that the weights of a scheme are tested with.
    pub(super) fn of(scheme: Scheme) -> &'static [Self] {
        match scheme.rotates() {
            true => &[Self::None, Self::Linear, Self::Yarn],
            false => &[Self::None],
        }
    }

    /// Returns the name, as in files.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Linear => "linear",
            Self::Yarn => "yarn",
        }
    }

    /// Returns the name of a scheme that is tested with it.
    pub(super) fn name(self, scheme: Scheme) -> String {
        match self {
            Self::None => scheme.name().to_owned(),
            _ => format!("{} {}", scheme.name(), self.word()),
        }
    }

    /// Returns the scaling by the factor of a length, or `None` if nothing is scaled: sentences of the
    /// trained length need none.
    pub(super) fn at(self, len: usize, trained: usize) -> Option<RopeScaling> {
        let factor = len as f64 / trained as f64;
        match self {
            _ if len <= trained => None,
            Self::None => None,
            Self::Linear => Some(RopeScaling::Linear { factor }),
            Self::Yarn => Some(RopeScaling::Yarn(YarnScaling::new(factor, trained))),
        }
    }
}
