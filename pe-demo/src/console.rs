//! Where output goes.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Done. Exit code 0.
    Success,
    /// A failure while running (files, network, memory, size limits), or the entries of the file
    /// inspected are wrong. Exit code 1.
    Failure,
    /// The arguments make no sense, each by itself or together. Exit code 2.
    Usage,
    /// A training that Ctrl-C stopped; what was reached is kept. Exit code 130.
    Interrupted,
}

/// Arguments that make no sense together; the text names them.
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
            Outcome::Interrupted => Self::from(130),
        }
    }
}

/// Standard output that remembers whether its reader has gone away.
///
/// `pe-demo | head -1` closes the pipe early. The write that fails then ends the
/// program, but it is no failure.
pub(crate) struct Stdout<'a> {
    inner: &'a mut dyn Write,
    closed: bool,
}

impl<'a> Stdout<'a> {
    pub(crate) fn new(inner: &'a mut dyn Write) -> Self {
        Self {
            inner,
            closed: false,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.closed |= error.kind() == ErrorKind::BrokenPipe;
        }
        result
    }
}

impl Write for Stdout<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.note(result)
    }
}
