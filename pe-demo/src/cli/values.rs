//! What the values of arguments may be.
//!
//! A value that is wrong whatever the other arguments say is refused here, so that
//! clap names the option and the value.

use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PathBufValueParser, TypedValueParser};
use pe_core::{OddWidth, Preset, Recipe, RotaryRecipe, SinusoidLayout, Spacing};

/// Where the layers normalize.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum NormArg {
    #[default]
    Post,
    Pre,
}

/// Order of the columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LayoutArg {
    /// sin, cos, sin, cos ...
    Interleaved,
    /// All sines, then all cosines
    Concatenated,
    /// All cosines, then all sines
    ConcatenatedCosFirst,
}

impl From<LayoutArg> for SinusoidLayout {
    fn from(layout: LayoutArg) -> Self {
        match layout {
            LayoutArg::Interleaved => Self::Interleaved,
            LayoutArg::Concatenated => Self::Concatenated,
            LayoutArg::ConcatenatedCosFirst => Self::ConcatenatedCosFirst,
        }
    }
}

/// What to do at an odd width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OddWidthArg {
    /// Refuse it
    Reject,
    /// Leave out the last cosine (TensorFlow tutorial, Marian)
    Truncate,
    /// The next even width without its last column (positional-encodings)
    RoundUp,
    /// A last column of zeros (tensor2tensor, fairseq, diffusers)
    ZeroPad,
}

impl From<OddWidthArg> for OddWidth {
    fn from(odd: OddWidthArg) -> Self {
        match odd {
            OddWidthArg::Reject => Self::Reject,
            OddWidthArg::Truncate => Self::Truncate,
            OddWidthArg::RoundUp => Self::RoundUp,
            OddWidthArg::ZeroPad => Self::ZeroPad,
        }
    }
}

/// Exact entries, or those of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecipeArg {
    /// Every entry the representable number nearest to the true value
    Exact,
    /// Frequencies exp(-2i ln(base) / d) in f32, as the PyTorch tutorial, labml and fairseq do
    ExpF32,
    /// Frequencies 1 / base^(2i / d) in f32, as Hugging Face transformers does
    PowF32,
    /// Rotary: rounded to f32 wherever Hugging Face transformers rounds
    HfF32,
}

impl RecipeArg {
    /// The recipe of an additive table, if it is one.
    pub(crate) const fn additive(self) -> Option<Recipe> {
        match self {
            Self::Exact => Some(Recipe::Exact),
            Self::ExpF32 => Some(Recipe::ExpF32),
            Self::PowF32 => Some(Recipe::PowF32),
            Self::HfF32 => None,
        }
    }

    /// The recipe of a rotary table, if it is one.
    pub(crate) const fn rotary(self) -> Option<RotaryRecipe> {
        match self {
            Self::Exact => Some(RotaryRecipe::Exact),
            Self::HfF32 => Some(RotaryRecipe::HfF32),
            Self::ExpF32 | Self::PowF32 => None,
        }
    }
}

/// Type of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum DTypeArg {
    /// 32-bit floats
    #[default]
    F32,
    /// 64-bit floats
    F64,
    /// 16-bit floats
    F16,
    /// 16-bit floats with the exponents of f32
    Bf16,
}

impl From<DTypeArg> for candle_core::DType {
    fn from(dtype: DTypeArg) -> Self {
        match dtype {
            DTypeArg::F32 => Self::F32,
            DTypeArg::F64 => Self::F64,
            DTypeArg::F16 => Self::F16,
            DTypeArg::Bf16 => Self::BF16,
        }
    }
}

/// Whole numbers from `least` to `most`.
///
/// # Errors
/// Of the parser: any other text, with what is expected.
pub fn whole<T>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: TryFrom<u64>,
{
    move |text| {
        let number = text.parse::<u64>().ok();
        number
            .filter(|number| (least..=most).contains(number))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| format!("not a whole number from {least} to {most}"))
    }
}

/// Positive finite numbers.
///
/// # Errors
/// Any other text, with what is expected.
pub fn positive(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("not a positive finite number"),
    }
}

/// Numbers from 0 up to but not including 1.
///
/// # Errors
/// Any other text, with what is expected.
pub fn probability(text: &str) -> Result<f32, &'static str> {
    match text.parse::<f32>() {
        Ok(number) if (0.0..1.0).contains(&number) => Ok(number),
        _ => Err("not a number of at least 0 and below 1"),
    }
}

/// Sentences that are not blank.
pub(super) fn sentence(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("the sentence is empty"),
        _ => Ok(text.to_owned()),
    }
}

/// A file to write: a name, never standard output.
pub(super) fn output() -> impl TypedValueParser<Value = PathBuf> {
    named_file("standard output is not supported for safetensors files (./- is the file named -)")
}

/// A page to write: a name, never standard output.
pub(super) fn page() -> impl TypedValueParser<Value = PathBuf> {
    named_file("standard output is not supported for the page (./- is the file named -)")
}

/// A file to read: a name, never standard input.
pub(super) fn input() -> impl TypedValueParser<Value = PathBuf> {
    named_file("standard input is not supported for such files (./- is the file named -)")
}

/// A picture to write: its name tells the format.
pub(super) fn picture() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
        match ending.as_ref().and_then(|ending| ending.to_str()) {
            Some("png" | "svg") => Ok(path),
            _ => Err("the name must end in .png or .svg"),
        }
    })
}

/// A file of vectors to write: its name tells the format.
pub(super) fn vectors() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.extension() {
        Some(ending) if ending == "safetensors" || ending == "jsonl" => Ok(path),
        _ => Err("the name must end in .safetensors or .jsonl"),
    })
}

/// A file or a repository to read from, never standard input.
pub(super) fn origin(text: &str) -> Result<String, &'static str> {
    match text {
        "" => Err("the name is empty"),
        "-" => Err("standard input is not supported for such files (./- is the file named -)"),
        _ => Ok(text.to_owned()),
    }
}

fn named_file(refusal: &'static str) -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(move |path| match path.as_os_str() == "-" {
        true => Err(refusal),
        false => Ok(path),
    })
}

pub(super) fn parse_preset(name: &str) -> pe_core::Result<Preset> {
    name.parse()
}

pub(super) fn preset_help() -> String {
    format!(
        "Convention of a known library; the options below override its parts. One of: {}",
        Preset::ALL.map(Preset::name).join(", ")
    )
}

pub(super) const SPACING_HELP: &str = "\
Exponents of the base for pair i of n [default: paper]. One of:
- paper:      2i/d
- inclusive:  i/(n-1), the end point included
- shifted=S:  i/(n-S), the downscale_freq_shift of diffusers";

/// `paper`, `inclusive` or `shifted=S` with a finite number `S`.
///
/// # Errors
/// Any other text, with what is expected.
pub fn parse_spacing(text: &str) -> Result<Spacing, &'static str> {
    match text {
        "paper" => Ok(Spacing::Paper),
        "inclusive" => Ok(Spacing::Inclusive),
        _ => text
            .strip_prefix("shifted=")
            .and_then(|shift| shift.parse().ok())
            .filter(|shift: &f64| shift.is_finite())
            .map(Spacing::Shifted)
            .ok_or("known: paper, inclusive, shifted=S with a finite number S"),
    }
}
