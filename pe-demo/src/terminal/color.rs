//! The terminal of a run: colors of the output streams, and the width of lines.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};

use super::width::WIDTH;

/// Whether a stream gets colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Text alone.
    #[default]
    Off,
    /// Text with the colors of a terminal.
    On,
}

/// The terminal of a run, as far as standard output and standard error are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Terminal {
    /// Colors of standard output.
    pub stdout: Color,
    /// Colors of standard error.
    pub stderr: Color,
    /// Columns of the terminal that standard output is; `None` if it is a file, a pipe, or a buffer.
    pub columns: Option<usize>,
}

/// The most columns of a paragraph: longer lines are hard to read.
const MOST_COLUMNS: usize = 100;

/// The least columns of a paragraph.
const LEAST_COLUMNS: usize = 20;

thread_local! {
    static TERMINAL: Cell<Terminal> = const {
        Cell::new(Terminal { stdout: Color::Off, stderr: Color::Off, columns: None })
    };
}

impl Terminal {
    /// Returns colors for terminals, unless `NO_COLOR` is set and not empty or `TERM` is `dumb`. A
    /// `CLICOLOR_FORCE` that is set, and neither empty nor 0, gives them to files and pipes, too.
    pub fn of_this_process() -> Self {
        let variables = ["NO_COLOR", "CLICOLOR_FORCE", "TERM"].map(std::env::var_os);
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let width = || terminal_size::terminal_size_of(&stdout);
        let terminal = stdout.is_terminal();
        Self {
            stdout: Color::of(terminal, &variables),
            stderr: Color::of(stderr.is_terminal(), &variables),
            columns: terminal.then(|| width().map_or(WIDTH, |(columns, _)| columns.0.into())),
        }
    }

    /// Returns the terminal of the run on this thread: a file if there is none.
    pub(crate) fn current() -> Self {
        TERMINAL.get()
    }

    /// Begins a run on this thread.
    pub(crate) fn begin(self) {
        TERMINAL.set(self);
    }

    /// Returns whether standard output is a terminal.
    pub(crate) const fn is_terminal(self) -> bool {
        self.columns.is_some()
    }

    /// Returns the columns of paragraphs on standard output: those of the terminal within limits, or 80.
    pub(crate) fn paragraph(self) -> usize {
        let columns = self.columns.unwrap_or(WIDTH);
        columns.clamp(LEAST_COLUMNS, MOST_COLUMNS)
    }
}

impl Color {
    fn of(terminal: bool, [no_color, force, term]: &[Option<OsString>; 3]) -> Self {
        let set =
            |value: &Option<OsString>| value.as_deref().is_some_and(|value| !value.is_empty());
        let forced = set(force) && force.as_deref() != Some(OsStr::new("0"));
        let able = terminal && term.as_deref().is_some_and(|term| term != "dumb");
        match !set(no_color) && (forced || able) {
            true => Self::On,
            false => Self::Off,
        }
    }

    /// Formats help or a message of clap's.
    pub(crate) fn paint(self, message: &clap::Error) -> String {
        match self {
            Self::Off => message.render().to_string(),
            Self::On => message.render().ansi().to_string(),
        }
    }

    /// Returns a text in a style.
    pub(crate) fn styled(self, text: &str, style: Style) -> String {
        match (self, text) {
            (Self::Off, _) | (_, "") => text.to_owned(),
            (Self::On, _) => format!("\x1b[{}m{text}\x1b[0m", style as u8),
        }
    }
}

/// The number of a style of text in terminals.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    Bold = 1,
    Faint = 2,
    Green = 32,
    Yellow = 33,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_for_terminals_where_nobody_forbids_them() {
        let of = |terminal, variables: [Option<&str>; 3]| {
            Color::of(terminal, &variables.map(|value| value.map(OsString::from)))
        };
        for (terminal, variables, color) in [
            (true, [None, None, Some("xterm")], Color::On),
            (true, [Some(""), None, Some("xterm")], Color::On),
            (true, [Some("1"), None, Some("xterm")], Color::Off),
            (true, [Some("0"), None, Some("xterm")], Color::Off),
            (true, [None, None, Some("dumb")], Color::Off),
            (true, [None, None, None], Color::Off),
            (false, [None, None, Some("xterm")], Color::Off),
            (false, [None, Some("1"), None], Color::On),
            (false, [None, Some("0"), Some("xterm")], Color::Off),
            (false, [None, Some(""), Some("xterm")], Color::Off),
            (true, [Some("1"), Some("1"), Some("xterm")], Color::Off),
        ] {
            assert_eq!(of(terminal, variables), color, "{terminal} {variables:?}");
        }
    }

    #[test]
    fn styles_are_for_colors() {
        assert_eq!(Color::On.styled("a", Style::Bold), "\x1b[1ma\x1b[0m");
        assert_eq!(Color::Off.styled("a", Style::Green), "a");
    }
}
