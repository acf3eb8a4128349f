//! The order of a row's columns.

/// The order of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SinusoidLayout {
    /// sin, cos, sin, cos ...: the paper, PyTorch's tutorial, labml, burn.
    #[default]
    Interleaved,
    /// All sines, then all cosines: tensor2tensor, fairseq, Whisper, Marian.
    Concatenated,
    /// All cosines, then all sines: Mimi, diffusers with `flip_sin_to_cos`.
    ConcatenatedCosFirst,
}

/// What happens at an odd `d_model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum OddWidth {
    /// An error. Silent defaults differ between libraries.
    #[default]
    Reject,
    /// One pair more than fits, the last column left out; exponents count the odd
    /// `d_model` (`base^(-2i/d)`). TensorFlow's tutorial and Marian.
    Truncate,
    /// The table of width `d_model + 1` without its last column; exponents
    /// count the even width (`base^(-2i/(d+1))`). The PyPI package positional-encodings.
    RoundUp,
    /// One pair less, and a last column of zeros: tensor2tensor, fairseq, diffusers.
    ZeroPad,
}
