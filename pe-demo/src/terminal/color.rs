//! Colors of the output streams.

use std::ffi::OsStr;
use std::io::{self, IsTerminal};

/// Whether a stream gets colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Color {
    /// Text alone.
    #[default]
    Off,
    /// Text with the colors of a terminal.
    On,
}

/// Whether each stream gets colors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Colors {
    /// Standard output.
    pub stdout: Color,
    /// Standard error.
    pub stderr: Color,
}

impl Colors {
    /// Returns colors for terminals, unless `NO_COLOR` is set and not empty or `TERM` is `dumb`.
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
