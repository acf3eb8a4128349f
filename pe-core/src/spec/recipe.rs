//! The inexact numbers of well-known f32 recipes, made reproducible.
//!
//! Models trained with a reference's f32 table are sometimes wanted with its
//! numbers. A recipe rounds where the reference rounds: the frequency to f32, the
//! angle (position x frequency) to f32, the sine and cosine of that angle to
//! f32. The elementary functions in between are correctly rounded here, so the
//! result is the same on every machine.
//!
//! The references are not: their exp, pow, sin and cos change with library and
//! processor. Step by step they are close. torch's and NumPy's frequencies are within
//! 1 and 2 units in the last place of the recipe's (equal in 97 and 53 % of the pairs
//! or more), and their sine and cosine of an angle within 1. But where a frequency
//! does differ by a unit, the position multiplies the difference: up to 5e-4 (torch) and
//! 1e-3 (NumPy) at positions below 5,000. Where a frequency agrees, so does its
//! column, to one unit. For the very bits of one checkpoint, load the table from the
//! checkpoint (`pe_candle::checkpoint`).

/// Whether a table is exact or follows the f32 arithmetic of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Recipe {
    /// Every entry is the representable number nearest to the true value.
    #[default]
    Exact,
    /// `inv_freq = exp(k * c)` in f32, where with the paper's spacing `k = 2i`,
    /// `c = f32(-ln(base) / d)` (PyTorch's tutorial, labml), and with the inclusive
    /// one `k = i`, `c = f32(-ln(base) / (n - 1))` (fairseq, M2M100). Not defined
    /// for shifted spacing.
    ExpF32,
    /// `inv_freq = 1 / base^(2i / d)` in f32, as Hugging Face's transformers
    /// compute it. Defined for the paper's spacing.
    PowF32,
}

impl Recipe {
    /// The name used in messages and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::ExpF32 => "exp-f32",
            Self::PowF32 => "pow-f32",
        }
    }
}

/// Whether frequencies and tables are exact or follow the f32 arithmetic of
/// Hugging Face's transformers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum RotaryRecipe {
    /// Frequencies are real numbers; every entry is the representable number nearest
    /// to `attention_factor x cos(position x inv_freq)`, with one rounding.
    #[default]
    Exact,
    /// Rounded to f32 where transformers rounds: the frequency, the angle
    /// (position x frequency), its cosine and sine, and their product with the attention
    /// factor. The elementary functions are correctly rounded, so that the result is the
    /// same on every machine; torch's own differ by a unit in the last place here and there.
    HfF32,
}

impl RotaryRecipe {
    /// The name used in messages and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::HfF32 => "hf-f32",
        }
    }
}
