//! The base of the frequencies and the spacing of its exponents.

/// The number by whose powers the frequencies fall.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Base {
    /// `base` itself; 10000 in the paper (elsewhere: theta, max_wavelength).
    /// Frequencies are powers of `1 / base`.
    Value(f64),
    /// The frequency at exponent 1, as the TensorFlow notebook gives it:
    /// `base = 1 / min_rate`, taken of the exact value of the `f64`. (The `f64`
    /// nearest to 0.0001 is not 1/10000: for the paper's numbers use
    /// `Value(10000.0)`.)
    MinRate(f64),
}

impl Base {
    /// The base as a number, rounded for `MinRate`.
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

/// How the exponents of the base are spaced over the pairs `i = 0 .. n`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Spacing {
    /// The paper's `base^(-2i/d)`: the last frequency stays above `1 / base`.
    #[default]
    Paper,
    /// `base^(-i/(n-1))`: the end point `1 / base` included (tensor2tensor,
    /// fairseq, Whisper, the TensorFlow notebook). One pair alone has frequency 1.
    Inclusive,
    /// `base^(-i/(n-shift))`, the diffusers library's `downscale_freq_shift`.
    /// 0 is the paper's spacing at even widths, 1 includes the end point.
    Shifted(f64),
}

impl Spacing {
    /// The name used in messages and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Inclusive => "inclusive",
            Self::Shifted(_) => "shifted",
        }
    }
}
