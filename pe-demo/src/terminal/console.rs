//! Where output goes.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

/// The exit code after Ctrl-C.
pub(crate) const INTERRUPTED: u8 = 130;

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
    /// A training that Ctrl-C stopped, of which what was reached is kept, or a file of vectors
    /// whose writing it stopped, of which nothing is. Exit code 130.
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
            Outcome::Interrupted => Self::from(INTERRUPTED),
        }
    }
}

/// Whether a stream gets colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Text alone.
    #[default]
    Off,
    /// Text with the colors of a terminal.
    On,
}

/// Which of the streams get colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Colors {
    /// Standard output.
    pub stdout: Color,
    /// Standard error.
    pub stderr: Color,
}

impl Colors {
    /// On terminals, unless `NO_COLOR` is set and not empty or `TERM` is `dumb`.
    pub fn of_this_process() -> Self {
        let (no_color, term) = (std::env::var_os("NO_COLOR"), std::env::var_os("TERM"));
        let of = |terminal| Color::of(terminal, no_color.as_deref(), term.as_deref());
        Self {
            stdout: of(io::stdout().is_terminal()),
            stderr: of(io::stderr().is_terminal()),
        }
    }
}

impl Color {
    fn of(terminal: bool, no_color: Option<&OsStr>, term: Option<&OsStr>) -> Self {
        let forbidden = no_color.is_some_and(|value| !value.is_empty());
        match terminal && !forbidden && term.is_some_and(|term| term != "dumb") {
            true => Self::On,
            false => Self::Off,
        }
    }

    /// Help or a message of clap's.
    pub(crate) fn paint(self, message: &clap::Error) -> String {
        match self {
            Self::Off => message.render().to_string(),
            Self::On => message.render().ansi().to_string(),
        }
    }
}

/// Standard output that remembers whether it failed, and whether its reader has gone away.
///
/// `pe-demo | head -1` closes the pipe early. The write that fails then ends the
/// program, but it is no failure.
pub(crate) struct Stdout<'a> {
    inner: &'a mut dyn Write,
    failed: bool,
    closed: bool,
}

impl<'a> Stdout<'a> {
    pub(crate) fn new(inner: &'a mut dyn Write) -> Self {
        Self {
            inner,
            failed: false,
            closed: false,
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.failed |= error.kind() != ErrorKind::Interrupted;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_for_terminals_where_nobody_forbids_them() {
        let of = |terminal, no_color: Option<&str>, term: Option<&str>| {
            Color::of(terminal, no_color.map(OsStr::new), term.map(OsStr::new))
        };
        assert_eq!(of(true, None, Some("xterm")), Color::On);
        assert_eq!(of(true, Some(""), Some("xterm")), Color::On);
        assert_eq!(of(true, Some("1"), Some("xterm")), Color::Off);
        assert_eq!(of(true, Some("0"), Some("xterm")), Color::Off);
        assert_eq!(of(true, None, Some("dumb")), Color::Off);
        assert_eq!(of(true, None, None), Color::Off);
        assert_eq!(of(false, None, Some("xterm")), Color::Off);
    }
}
