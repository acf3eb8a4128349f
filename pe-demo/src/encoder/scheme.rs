//! The positional encoding schemes of the encoder.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use serde::{Deserialize, Serialize};

/// Positional encoding scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Not at all: for comparison.
    None,
    /// The sinusoidal encoding, added once before the first layer.
    #[default]
    Sinusoidal,
    /// A trained vector per position, added once before the first layer. Positions beyond those it
    /// was built for have none.
    Learned,
    /// Queries and keys are rotated by angles that grow with the position, in every layer.
    Rotary,
}

/// Positions added to the token embeddings before the first layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adds {
    Nothing,
    /// Rows of a table that is computed, for positions of any length.
    Sinusoids,
    /// Rows that are weights: there are as many as were trained.
    TrainedRows,
}

/// The properties of a scheme. The program has no other list of schemes.
struct Entry {
    scheme: Scheme,
    name: &'static str,
    help: &'static str,
    /// Draws its curve in a terminal.
    letter: char,
    adds: Adds,
    /// Whether it rotates queries and keys.
    rotates: bool,
    /// Its name in a description of an encoder; empty for the default scheme.
    in_words: &'static str,
    /// Its name in a comparison with an encoder without positions; empty if it has none.
    beside_without: &'static str,
}

const TABLE: [Entry; 4] = [
    Entry {
        scheme: Scheme::None,
        name: "none",
        help: "No positions",
        letter: 'n',
        adds: Adds::Nothing,
        rotates: false,
        in_words: "no positions",
        beside_without: "",
    },
    Entry {
        scheme: Scheme::Sinusoidal,
        name: "sinusoidal",
        help: "Sines and cosines, added before the first layer",
        letter: 's',
        adds: Adds::Sinusoids,
        rotates: false,
        in_words: "",
        beside_without: "encoding",
    },
    Entry {
        scheme: Scheme::Learned,
        name: "learned",
        help: "A trained vector per position, added before the first layer",
        letter: 'l',
        adds: Adds::TrainedRows,
        rotates: false,
        in_words: "learned positions",
        beside_without: "encoding",
    },
    Entry {
        scheme: Scheme::Rotary,
        name: "rotary",
        help: "Queries and keys rotated by their position, in every layer",
        letter: 'r',
        adds: Adds::Nothing,
        rotates: true,
        in_words: "rotary positions",
        beside_without: "rotary",
    },
];

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 4] = {
        let mut all = [Self::None; 4];
        let mut at = 0;
        while at < all.len() {
            all[at] = TABLE[at].scheme;
            at += 1;
        }
        all
    };

    const fn entry(self) -> &'static Entry {
        &TABLE[self as usize]
    }

    /// Returns the name, as on the command line and in files.
    pub const fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the letter that draws its curve in a terminal.
    pub(crate) const fn letter(self) -> char {
        self.entry().letter
    }

    /// Returns the addition before the first layer.
    pub(crate) const fn adds(self) -> Adds {
        self.entry().adds
    }

    /// Returns whether queries and keys are rotated.
    pub(crate) const fn rotates(self) -> bool {
        self.entry().rotates
    }

    /// Returns its name in a description of an encoder; empty for the usual one.
    pub(crate) const fn in_words(self) -> &'static str {
        self.entry().in_words
    }

    /// Returns its name in a comparison with an encoder without positions; empty if it has none.
    pub(crate) const fn beside_without(self) -> &'static str {
        self.entry().beside_without
    }
}

impl ValueEnum for Scheme {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name()).help(self.entry().help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_lists_each_scheme_at_its_place_and_with_its_own_letter() {
        for (at, entry) in TABLE.iter().enumerate() {
            assert_eq!(entry.scheme as usize, at);
            let stored = serde_json::to_value(entry.scheme).expect("a name");
            assert_eq!(stored, entry.name);
            let same = TABLE.iter().filter(|other| other.letter == entry.letter);
            assert_eq!(same.count(), 1, "{}", entry.letter);
        }
    }
}
