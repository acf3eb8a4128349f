//! The positional encoding schemes of the encoder.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use pe_candle::{BucketDirection, T5BucketsConfig};
use serde::{Deserialize, Serialize};

/// The buckets of T5's encoders.
pub(super) const BUCKETS: T5BucketsConfig = T5BucketsConfig::new(BucketDirection::Bidirectional);

/// Returns the number of weights of the biases.
pub(super) fn bias_weights(scheme: Scheme, heads: usize) -> u64 {
    match scheme.biases() {
        Biases::Buckets => BUCKETS.num_buckets as u64 * heads as u64,
        Biases::Nothing | Biases::Slopes => 0,
    }
}

/// Positional encoding scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// The sinusoidal encoding, in training from a first position that is drawn for each step.
    SinusoidalOffsets,
    /// Scores fall with the distance, by a slope of each head.
    Alibi,
    /// A trained value for each head and bucket of distances is added to the scores.
    T5,
    /// Not at all, but tokens see only earlier ones.
    NopeCausal,
}

/// What is added to the attention scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Biases {
    Nothing,
    /// A slope times the distance.
    Slopes,
    /// Weights by buckets of distances.
    Buckets,
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
    biases: Biases,
    /// Its name in a description of an encoder; empty for the default scheme.
    in_words: &'static str,
    /// Its name in a comparison with an encoder without positions; empty if it has none.
    beside_without: &'static str,
}

const TABLE: [Entry; 8] = [
    Entry {
        scheme: Scheme::None,
        name: "none",
        help: "No positions",
        letter: 'n',
        adds: Adds::Nothing,
        rotates: false,
        biases: Biases::Nothing,
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
        biases: Biases::Nothing,
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
        biases: Biases::Nothing,
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
        biases: Biases::Nothing,
        in_words: "rotary positions",
        beside_without: "rotary",
    },
    Entry {
        scheme: Scheme::SinusoidalOffsets,
        name: "sinusoidal-offsets",
        help: "Sines and cosines, in training from a random first position",
        letter: 'o',
        adds: Adds::Sinusoids,
        rotates: false,
        biases: Biases::Nothing,
        in_words: "random first positions in training",
        beside_without: "encoding",
    },
    Entry {
        scheme: Scheme::Alibi,
        name: "alibi",
        help: "A slope of each head times the distance, subtracted from the scores",
        letter: 'a',
        adds: Adds::Nothing,
        rotates: false,
        biases: Biases::Slopes,
        in_words: "ALiBi",
        beside_without: "bias",
    },
    Entry {
        scheme: Scheme::T5,
        name: "t5",
        help: "A trained value for each head and bucket of distances, added to the scores",
        letter: 't',
        adds: Adds::Nothing,
        rotates: false,
        biases: Biases::Buckets,
        in_words: "T5 buckets",
        beside_without: "bias",
    },
    Entry {
        scheme: Scheme::NopeCausal,
        name: "nope-causal",
        help: "No positions, but tokens see only earlier ones",
        letter: 'c',
        adds: Adds::Nothing,
        rotates: false,
        biases: Biases::Nothing,
        in_words: "no positions, looking back only",
        beside_without: "mask",
    },
];

impl Scheme {
    /// All of them.
    pub const ALL: [Self; 8] = {
        let mut all = [Self::None; 8];
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

    /// Returns what is added to the attention scores.
    pub(crate) const fn biases(self) -> Biases {
        self.entry().biases
    }

    /// Returns whether training begins at random positions.
    pub(crate) const fn draws_offsets(self) -> bool {
        matches!(self, Self::SinusoidalOffsets)
    }

    /// Returns whether tokens see only earlier ones, in whatever use.
    pub(crate) const fn is_causal(self) -> bool {
        matches!(self, Self::NopeCausal)
    }

    /// Returns its name in a description of an encoder; empty for the usual one.
    pub(crate) const fn in_words(self) -> &'static str {
        self.entry().in_words
    }

    /// Returns how it tells the encoder the order, in a sentence.
    pub(crate) const fn how(self) -> &'static str {
        match (self.adds(), self.biases()) {
            (Adds::Sinusoids, _) => {
                "The encoding adds sines and cosines of its position to the vector of each token, so \
                 that equal tokens at two positions differ."
            }
            (Adds::TrainedRows, _) => {
                "The encoding adds a vector of weights, one for each position, to the vector of each \
                 token, so that equal tokens at two positions differ."
            }
            (Adds::Nothing, Biases::Slopes | Biases::Buckets) => {
                "The bias changes the weights of the sum by the distance between two tokens."
            }
            (Adds::Nothing, Biases::Nothing) => match self {
                Self::Rotary => {
                    "The weights come from a query of one token and a key of another. The rotary \
                     embedding rotates both by their positions, so that the weights depend on distances."
                }
                Self::NopeCausal => {
                    "The causal mask lets a token see only earlier ones, so that each sums over others."
                }
                _ => "A positional encoding is missing here (--scheme none).",
            },
        }
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
