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
        let verbose = self.verbosity == Verbosity::Verbose;
        let message = match verbose {
            true => format!("{error:#}"),
            false => without_backtrace(error),
        };
        // Where a backtrace begins, if there is one. Other ends of lines are those of names.
        let end = message.find("\n   0: ").unwrap_or(message.len());
        let (said, backtrace) = message.split_at(end);
        self.line(said.trim_end());
        if verbose {
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

/// Returns the message of a failure and of its causes. A backtrace is not even formatted: that reads the debugging
/// information of the whole program, and the standard library waits forever where this needs more memory than there is.
fn without_backtrace(error: &Error) -> String {
    let cause = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref() {
        Some(error) => of_candle(error),
        None => cause.to_string(),
    };
    error.chain().map(cause).collect::<Vec<_>>().join(": ")
}

fn of_candle(error: &candle_core::Error) -> String {
    use candle_core::Error::{Context, WithBacktrace, WithPath};
    match error {
        WithBacktrace { inner, .. } => of_candle(inner),
        WithPath { inner, path } => format!("path: {path:?} {}", of_candle(inner)),
        Context { inner, context } => format!("{context}\n{}", of_candle(inner)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    /// Candle's message has the backtrace in it, if there is one.
    #[test]
    fn failures_are_one_line_with_their_causes() {
        let inner = candle_core::Error::Msg("inner".to_owned());
        let inner = candle_core::Error::WithBacktrace {
            inner: Box::new(inner.with_path("p")),
            backtrace: Box::new(std::backtrace::Backtrace::force_capture()),
        };
        let error = Err::<(), _>(inner.context("in the middle"))
            .context("outer")
            .expect_err("an error");
        assert!(format!("{error:#}").contains("\n   0: "));
        let said = "outer: in the middle\npath: \"p\" inner";
        assert_eq!(without_backtrace(&error), said);
        let mut lines = Vec::new();
        Log::new(&mut lines).error(&error);
        let said = "pe-demo: outer: in the middle\\npath: \"p\" inner\n";
        assert_eq!(String::from_utf8_lossy(&lines), said);
    }
}
