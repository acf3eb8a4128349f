//! Base of the frequencies and spacing of its exponents.

/// Base of the frequencies.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Base {
    /// The base itself: 10000 in the paper (elsewhere theta, max_wavelength). Frequencies are
    /// powers of `1 / base`.
    Value(f64),
    /// Frequency at exponent 1, as in the TensorFlow notebook: `base = 1 / min_rate`, for the exact
    /// value of the `f64`. (The `f64` nearest to 0.0001 is not 1/10000. For the paper's values use
    /// `Value(10000.0)`.)
    MinRate(f64),
}

impl Base {
    /// Returns the base, rounded for `MinRate`.
    pub fn value(self) -> f64 {
        match self {
            Self::Value(base) => base,
            Self::MinRate(rate) => 1.0 / rate,
        }
    }
}

impl Default for Base {
    fn default() -> Self {
        Self::Value(10000.0)
    }
}

/// Spacing of the exponents of the base over the pairs `i = 0 .. n`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Spacing {
    /// The paper's `base^(-2i/d)`. The last frequency stays above `1 / base`.
    #[default]
    Paper,
    /// `base^(-i/(n-1))`, which includes the end point `1 / base` (tensor2tensor, fairseq, Whisper,
    /// the TensorFlow notebook). A single pair has frequency 1.
    Inclusive,
    /// `base^(-i/(n-shift))`, the diffusers library's `downscale_freq_shift`. 0 is the paper's
    /// spacing at even widths; 1 includes the end point.
    Shifted(f64),
}

impl Spacing {
    /// Returns the name used in messages and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Inclusive => "inclusive",
            Self::Shifted(_) => "shifted",
        }
    }
}
