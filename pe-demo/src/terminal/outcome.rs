//! The end of a run.

use std::fmt;
use std::process::ExitCode;

/// The exit code after Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

/// The end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done. Exit code 0.
    Success,
    /// A failure while running (files, network, memory, size limits), or the entries of the file
    /// inspected are wrong. Exit code 1.
    Failure,
    /// The arguments make no sense, each by itself or together. Exit code 2.
    Usage,
    /// A training that Ctrl-C stopped, of which what was reached is kept, or a file of vectors
    /// whose writing it stopped, of which nothing is. Exit code 130.
    Interrupted,
}

/// Arguments that make no sense together. The text names them.
#[derive(Debug)]
pub(crate) struct BadUsage(pub(crate) String);

impl fmt::Display for BadUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadUsage {}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Success => Self::SUCCESS,
            Outcome::Failure => Self::FAILURE,
            Outcome::Usage => Self::from(2),
            Outcome::Interrupted => Self::from(INTERRUPTED),
        }
    }
}
