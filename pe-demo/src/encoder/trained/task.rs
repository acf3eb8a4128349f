//! The questions that a training asks.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::{Deserialize, Serialize};

/// A question about a sentence with two people. The answer is one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// Who does it? The order of the words answers.
    #[default]
    Order,
    /// Who stands [`PLACES`] places before the gate? Only the distance answers.
    Distance,
}

/// The distance that answers, in tokens.
pub(crate) const PLACES: usize = 3;

impl Task {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::Order, Self::Distance];

    /// Returns the name, as on the command line and in files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Distance => "distance",
        }
    }

    /// Returns the question, as a heading.
    pub(crate) const fn question(self) -> &'static str {
        match self {
            Self::Order => "Agent of the sentence",
            Self::Distance => "Three places before the gate",
        }
    }
}

impl ValueEnum for Task {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let help = match self {
            Self::Order => "Who does it? The order of the words answers",
            Self::Distance => "Who stands three places before the gate? The distance answers",
        };
        Some(PossibleValue::new(self.name()).help(help))
    }
}
