//! A figure of the catalog.

use std::fmt::Display;

use anyhow::Result;

use super::source::Settings;
use crate::chart::Figure;

/// A figure that can be asked for.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    /// Title; `{}` is a number that the settings decide.
    pub(crate) title: &'static str,
    /// One line for `--help`.
    pub(crate) summary: &'static str,
    /// Explanation of the figure on the page.
    pub(crate) about: &'static str,
    /// The settings that change it.
    pub(crate) uses: &'static [Setting],
    pub(super) builder: fn(&Self, &Settings) -> Result<Figure>,
}

impl Entry {
    /// Builds the figure.
    ///
    /// # Errors
    /// Returns an error if the settings do not suit the figure, or if a file of theirs cannot be read.
    pub(crate) fn build(&self, settings: &Settings) -> Result<Figure> {
        (self.builder)(self, settings)
    }

    /// Returns the title with a number that the settings decide.
    pub(super) fn title_with(&self, number: impl Display) -> String {
        self.title.replace("{}", &number.to_string())
    }
}

/// One of the options about the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Setting {
    Preset,
    DModel,
    MaxSeqLen,
    Start,
    Base,
    Config,
}

impl Setting {
    /// Returns the option's name on the command line.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Preset => "--preset",
            Self::DModel => "--d-model",
            Self::MaxSeqLen => "--max-seq-len",
            Self::Start => "--start",
            Self::Base => "--base",
            Self::Config => "--config",
        }
    }
}
