//! The values of arguments.
//!
//! A value that is wrong whatever the other arguments are is rejected here, so that clap names the
//! option and the value.

use std::path::PathBuf;

use candle_core::DType;
use clap::ValueEnum;
use clap::builder::{PathBufValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use pe_core::{Base, OddWidth, Preset, Recipe, RotaryRecipe, SinusoidLayout};

/// The values of an option: those of the library, their names, and their help.
type Choices<T> = [(T, &'static str)];

/// Orders of the columns.
pub(super) const LAYOUTS: &Choices<SinusoidLayout> = &[
    (SinusoidLayout::Interleaved, "sin, cos, sin, cos ..."),
    (SinusoidLayout::Concatenated, "All sines, then all cosines"),
    (
        SinusoidLayout::ConcatenatedCosFirst,
        "All cosines, then all sines",
    ),
];

/// Treatments of an odd width.
pub(super) const ODD_WIDTHS: &Choices<OddWidth> = &[
    (OddWidth::Reject, "Return an error"),
    (
        OddWidth::Truncate,
        "Leave out the last cosine (TensorFlow tutorial, Marian)",
    ),
    (
        OddWidth::RoundUp,
        "The next even width without its last column (positional-encodings)",
    ),
    (
        OddWidth::ZeroPad,
        "A last column of zeros (tensor2tensor, fairseq, diffusers)",
    ),
];

/// Types of the entries.
pub(super) const DTYPES: &Choices<DType> = &[
    (DType::F32, "32-bit floats"),
    (DType::F64, "64-bit floats"),
    (DType::F16, "16-bit floats"),
    (DType::BF16, "16-bit floats with the exponents of f32"),
];

/// Reads one of the choices by the name that it has.
pub(super) fn choice<T: Copy + Send + Sync + 'static>(
    choices: &'static Choices<T>,
    name: fn(&T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let named = choices
        .iter()
        .map(move |(value, help)| PossibleValue::new(name(value)).help(*help));
    PossibleValuesParser::new(named).try_map(move |text| {
        let found = choices.iter().find(|(value, _)| name(value) == text);
        found.map(|(value, _)| *value).ok_or("not a known name")
    })
}

/// Exact entries, or those of another library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecipeArg {
    /// Every entry the float nearest to the true value
    Exact,
    /// Frequencies exp(-2i ln(base) / d) in f32, as the PyTorch tutorial, labml and fairseq do
    ExpF32,
    /// Frequencies 1 / base^(2i / d) in f32, as Hugging Face transformers does
    PowF32,
    /// Frequencies and angles in f32 as in diffusers' get_timestep_embedding
    DiffusersF32,
    /// Rotary: rounded to f32 wherever Hugging Face transformers rounds
    HfF32,
}

impl RecipeArg {
    /// Returns the recipe of an additive table, if it is one.
    pub(crate) const fn additive(self) -> Option<Recipe> {
        match self {
            Self::Exact => Some(Recipe::Exact),
            Self::ExpF32 => Some(Recipe::ExpF32),
            Self::PowF32 => Some(Recipe::PowF32),
            Self::DiffusersF32 => Some(Recipe::DiffusersF32),
            Self::HfF32 => None,
        }
    }

    /// Returns the recipe of a rotary table, if it is one.
    pub(crate) const fn rotary(self) -> Option<RotaryRecipe> {
        match self {
            Self::Exact => Some(RotaryRecipe::Exact),
            Self::HfF32 => Some(RotaryRecipe::HfF32),
            Self::ExpF32 | Self::PowF32 | Self::DiffusersF32 => None,
        }
    }
}

/// Reads a sentence that is not blank.
pub(super) fn sentence(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("the sentence is empty"),
        _ => Ok(text.to_owned()),
    }
}

/// Reads the name of a file to write, never standard output.
pub(super) fn output() -> impl TypedValueParser<Value = PathBuf> {
    named_file("standard output is not supported for safetensors files (./- is the file named -)")
}

/// Reads the name of a file to write, or `-` for standard output.
pub(super) fn output_or_stdout() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new()
}

/// Reads the name of a page to write, never standard output.
pub(super) fn page_file() -> impl TypedValueParser<Value = PathBuf> {
    named_file("standard output is not supported for the page (./- is the file named -)")
}

/// Reads the name of a file to read, never standard input.
pub(super) fn input() -> impl TypedValueParser<Value = PathBuf> {
    named_file("standard input is not supported for such files (./- is the file named -)")
}

/// Reads the name of a picture to write, which states the format.
pub(super) fn picture() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        let ending = path.extension().map(|ending| ending.to_ascii_lowercase());
        match ending.as_ref().and_then(|ending| ending.to_str()) {
            Some("png" | "svg" | "pdf") => Ok(path),
            _ => Err("the name must end in .png, .svg, or .pdf"),
        }
    })
}

/// Reads the name of a file of vectors to write, which states the format.
pub(super) fn vectors() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.extension() {
        Some(ending) if ending == "safetensors" || ending == "jsonl" => Ok(path),
        _ => Err("the name must end in .safetensors or .jsonl"),
    })
}

/// Reads the name of a file or a repository, never standard input.
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

/// Reads the name of a preset.
pub(super) fn preset() -> impl TypedValueParser<Value = Preset> {
    let names = PossibleValuesParser::new(Preset::ALL.map(Preset::name));
    names.try_map(|name| name.parse::<Preset>())
}

/// Returns the help of an option for a preset.
pub(super) fn preset_help() -> String {
    format!(
        "Convention of a known library; the options below override its parts. One of: {}",
        Preset::ALL.map(Preset::name).join(", ")
    )
}

/// Returns the help of an option for the base of the frequencies.
pub(super) fn base_help() -> String {
    format!(
        "Base of the frequencies [default: {}]",
        Base::default().value()
    )
}

pub(super) const SPACING_HELP: &str = "\
Exponents of the base for pair i of n [default: paper]. One of:
- paper:      2i/d
- inclusive:  i/(n-1), the end point included
- shifted=S:  i/(n-S), the downscale_freq_shift of diffusers";
