//! Messages on standard error.

use std::fmt::Display;
use std::io::Write;

use anyhow::Error;
use indicatif::ProgressDrawTarget;

use crate::terminal::width::clean;

/// Amount of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verbosity {
    /// Errors.
    Quiet,
    /// Remarks and progress too.
    #[default]
    Normal,
    /// Details of the work and of errors too.
    Verbose,
}

/// Standard error: lines that begin with the program's name, and bars.
pub(crate) struct Log<'a> {
    stderr: &'a mut dyn Write,
    pub(crate) verbosity: Verbosity,
}

impl<'a> Log<'a> {
    pub(crate) fn new(stderr: &'a mut dyn Write) -> Self {
        Self {
            stderr,
            verbosity: Verbosity::default(),
        }
    }

    /// Prints a remark in one line.
    pub(crate) fn note(&mut self, text: impl Display) {
        if self.verbosity != Verbosity::Quiet {
            self.line(&text.to_string());
        }
    }

    /// Prints a detail of the work in a verbose run.
    pub(crate) fn detail(&mut self, text: impl Display) {
        if self.verbosity == Verbosity::Verbose {
            self.line(&text.to_string());
        }
    }

    /// Prints a failure in one line, and its backtrace, if it has one, in a verbose run.
    pub(crate) fn error(&mut self, error: &Error) {
        let message = format!("{error:#}");
        // Where a backtrace begins, if there is one. Other ends of lines are those of names.
        let end = message.find("\n   0: ").unwrap_or(message.len());
        let (said, backtrace) = message.split_at(end);
        self.line(said.trim_end());
        if self.verbosity == Verbosity::Verbose {
            for line in backtrace.lines().skip(1) {
                let _ = writeln!(self.stderr, "{}", clean(line, usize::MAX));
            }
        }
    }

    /// Prints a message of several lines about bad usage.
    pub(crate) fn usage(&mut self, text: String) {
        let _ = write!(self.stderr, "{text}");
    }

    /// Returns the target of progress bars: standard error, if it is a terminal.
    pub(crate) fn draw_target(&self) -> ProgressDrawTarget {
        match self.verbosity {
            Verbosity::Quiet => ProgressDrawTarget::hidden(),
            Verbosity::Normal | Verbosity::Verbose => ProgressDrawTarget::stderr(),
        }
    }

    fn line(&mut self, text: &str) {
        // Where even this cannot be written, the exit code says it.
        let _ = writeln!(self.stderr, "pe-demo: {}", clean(text, usize::MAX));
    }
}
