//! Inexact values of well-known f32 recipes, reproduced.
//!
//! A model trained with a library's f32 table sometimes needs the values of that table. A recipe
//! rounds where the library rounds: the frequency to f32, the angle (position x frequency) to f32,
//! the sine and cosine of that angle to f32. The elementary functions in between are correctly
//! rounded here, so the result is the same on every machine.
//!
//! The libraries are not reproducible: their exp, pow, sin, and cos change with library version and
//! CPU. In each step they are close. The frequencies of torch and NumPy are within 1 and 2 ulp of
//! the recipe's (equal in 97% and 53% of the pairs or more), and their sine and cosine of an angle
//! within 1 ulp. But if a frequency differs by an ulp, the position multiplies the difference: up
//! to 5e-4 (torch) and 1e-3 (NumPy) at positions below 5,000. If a frequency agrees, so does its
//! column, to one ulp. For the exact bits of a checkpoint, load the table from the checkpoint
//! (`pe_candle::checkpoint`).

/// Choice between exact entries and the f32 arithmetic of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Recipe {
    /// Every entry is the representable number nearest to the true value.
    #[default]
    Exact,
    /// `inv_freq = exp(k * c)` in f32. The paper's spacing has `k = 2i`, `c = f32(-ln(base) / d)`
    /// (PyTorch's tutorial, labml). The inclusive spacing has `k = i`,
    /// `c = f32(-ln(base) / (n - 1))` (fairseq, M2M100). Not defined for shifted spacing.
    ExpF32,
    /// `inv_freq = 1 / base^(2i / d)` in f32, as in Hugging Face's transformers. Defined for the
    /// paper's spacing.
    PowF32,
    /// `inv_freq = exp(f32(f32(-ln(base)) * i) / f32(n - s))` in f32, as in diffusers'
    /// `get_timestep_embedding`. A scale of the timesteps multiplies the rounded angle. Defined for
    /// shifted spacing.
    DiffusersF32,
}

impl_names!(Recipe, "recipe");

impl Recipe {
    /// All recipes.
    pub const ALL: [Self; 4] = [Self::Exact, Self::ExpF32, Self::PowF32, Self::DiffusersF32];

    /// Returns the name used in messages, in files, and on command lines, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::ExpF32 => "exp-f32",
            Self::PowF32 => "pow-f32",
            Self::DiffusersF32 => "diffusers-f32",
        }
    }
}

/// Choice between exact entries and the f32 arithmetic of Hugging Face's transformers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum RotaryRecipe {
    /// Frequencies are real numbers. Every entry is the representable number nearest to
    /// `attention_factor x cos(position x inv_freq)`, with one rounding.
    #[default]
    Exact,
    /// Rounds to f32 where transformers rounds: the frequency, the angle (position x frequency),
    /// its cosine and sine, and their product with the attention factor. The elementary functions
    /// are correctly rounded, so the result is the same on every machine.
    ///
    /// torch's own functions are not. Frequencies are within 3 ulp of those that transformers computes
    /// with torch, and fewer than one in 50 differ by more than 1 ulp. Between the fast and the slow pairs of
    /// `llama3` they are within `3 + factor` ulp, because that formula multiplies rounding errors by up to
    /// `factor`. The position multiplies the difference of a frequency. Cosines and sines of equal
    /// frequencies are within 2 ulp.
    HfF32,
}

impl_names!(RotaryRecipe, "rotary recipe");

impl RotaryRecipe {
    /// All recipes.
    pub const ALL: [Self; 2] = [Self::Exact, Self::HfF32];

    /// Returns the name used in messages, in files, and on command lines, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::HfF32 => "hf-f32",
        }
    }
}
