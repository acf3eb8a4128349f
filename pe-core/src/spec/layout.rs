//! Order of the columns of a row.

/// Order of the columns.
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

impl_names!(SinusoidLayout, "layout");

impl SinusoidLayout {
    /// All layouts.
    pub const ALL: [Self; 3] = [
        Self::Interleaved,
        Self::Concatenated,
        Self::ConcatenatedCosFirst,
    ];

    /// Returns the name used in messages, in files, and on command lines, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Interleaved => "interleaved",
            Self::Concatenated => "concatenated",
            Self::ConcatenatedCosFirst => "concatenated-cos-first",
        }
    }
}

/// Treatment of an odd `d_model`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum OddWidth {
    /// Returns an error, because silent defaults differ between libraries.
    #[default]
    Reject,
    /// Keeps an incomplete last pair, without its last column. Exponents count the odd `d_model`
    /// (`base^(-2i/d)`). TensorFlow's tutorial and Marian.
    Truncate,
    /// Drops the last column of the table of width `d_model + 1`. Exponents count the even width
    /// (`base^(-2i/(d+1))`). The PyPI package positional-encodings.
    RoundUp,
    /// Appends a column of zeros to the complete pairs: tensor2tensor, fairseq, diffusers.
    ZeroPad,
}

impl_names!(OddWidth, "treatment of odd widths");

impl OddWidth {
    /// All treatments.
    pub const ALL: [Self; 4] = [Self::Reject, Self::Truncate, Self::RoundUp, Self::ZeroPad];

    /// Returns the name used in messages, in files, and on command lines, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Truncate => "truncate",
            Self::RoundUp => "round-up",
            Self::ZeroPad => "zero-pad",
        }
    }
}
