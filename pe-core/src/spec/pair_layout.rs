//! The two columns of a head that form a pair.

/// Columns that rotate together.
///
/// Terms like "rotate half" mean different layouts in different libraries, so these names describe
/// where the columns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum PairLayout {
    /// Columns `i` and `i + rotary_dim/2`: GPT-NeoX, Hugging Face's Llama, most models on the hub.
    #[default]
    #[cfg_attr(feature = "serde", serde(alias = "half_split"))]
    HalfSplit,
    /// Columns `2i` and `2i + 1`: GPT-J, Meta's own Llama files, Cohere.
    Interleaved,
}

impl_names!(PairLayout, "pair layout");

impl PairLayout {
    /// All layouts.
    pub const ALL: [Self; 2] = [Self::HalfSplit, Self::Interleaved];

    /// Returns the name used in messages, in files, and on command lines, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HalfSplit => "half-split",
            Self::Interleaved => "interleaved",
        }
    }

    /// Returns the two columns of pair `pair` out of `pairs`.
    pub const fn columns(self, pair: usize, pairs: usize) -> (usize, usize) {
        match self {
            Self::HalfSplit => (pair, pair + pairs),
            Self::Interleaved => (2 * pair, 2 * pair + 1),
        }
    }
}
