//! What is said on standard error.

use std::fmt::Display;
use std::io::Write;

use anyhow::Error;
use indicatif::ProgressDrawTarget;

use crate::terminal::width::clean;

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Verbosity {
    /// Errors.
    Quiet,
    /// Remarks and progress too.
    #[default]
    Normal,
    /// What is done, and all about errors, too.
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

    /// A remark, in one line.
    pub(crate) fn note(&mut self, text: impl Display) {
        if self.verbosity != Verbosity::Quiet {
            self.line(&text.to_string());
        }
    }

    /// What is being done, for those who want to know.
    pub(crate) fn detail(&mut self, text: impl Display) {
        if self.verbosity == Verbosity::Verbose {
            self.line(&text.to_string());
        }
    }

    /// A failure: one line, and its backtrace, if it has one, where much is to be said.
    pub(crate) fn error(&mut self, error: &Error) {
        let message = format!("{error:#}");
        // Where a backtrace begins, if there is one; other ends of lines are those of names.
        let end = message.find("\n   0: ").unwrap_or(message.len());
        let (said, backtrace) = message.split_at(end);
        self.line(said.trim_end());
        if self.verbosity == Verbosity::Verbose {
            for line in backtrace.lines().skip(1) {
                let _ = writeln!(self.stderr, "{}", clean(line, usize::MAX));
            }
        }
    }

    /// A message of several lines about bad usage.
    pub(crate) fn usage(&mut self, text: String) {
        let _ = write!(self.stderr, "{text}");
    }

    /// Where bars are drawn: on standard error, if it is a terminal.
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
