//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use pe_core::{OddWidth, Preset, Recipe, SinusoidLayout, Spacing};

const ABOUT: &str = "\
Shows what positional encodings do, with a toy transformer encoder; exports and
inspects exact tables.

Without a command it encodes sentences: `pe-demo` is short for `pe-demo encode`.
The encoder is not trained: what it shows follows from how it is built. The same
input and seed give the same output.";

const EXAMPLES: &str = "\
Examples:
  pe-demo                                the built-in sentences
  pe-demo \"To be or not to be\"           your own
  pe-demo --file text.txt --causal       one per line, looking back only
  pe-demo - < text.txt                   from standard input
  pe-demo --tokenizer google-bert/bert-base-uncased --json
  pe-demo export --d-model 512 --max-seq-len 5000 -o pe.safetensors
  pe-demo inspect pe.safetensors

Exit codes: 0 done, 1 something went wrong or entries are wrong, 2 bad usage.";

const EXPORT_EXAMPLES: &str = "\
Examples:
  pe-demo export --d-model 512 --max-seq-len 5000 -o pe.safetensors
  pe-demo export --d-model 384 --max-seq-len 1500 --preset whisper -o w.st
  pe-demo export --d-model 64 --max-seq-len 4096 --start 1000000 --dtype bf16 \\
      --base 500000 -o far.safetensors

The file holds the tensor `pe` [max_seq_len, d_model] and its specification.";

const INSPECT_EXAMPLES: &str = "\
Exit codes: 0 if the file can be read and its table, if it says which one it is,
has every entry right; 1 if not.";

/// The program.
#[derive(Debug, Parser)]
#[command(name = "pe-demo", version, about = ABOUT, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, term_width = 80)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// The arguments of `encode`, when no command is given.
    #[command(flatten)]
    pub(crate) encode: EncodeArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the toy encoder over sentences and show what their positions do
    Encode(EncodeArgs),
    /// Write a table of encodings to a safetensors file
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Show what a safetensors file holds and whether its table is right
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
}

/// What to encode, and with what.
#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// Sentences to encode instead of the built-in ones; `-` reads standard input
    #[arg(value_name = "SENTENCE")]
    pub(crate) sentences: Vec<String>,
    /// Read sentences from a file, one per line; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "sentences")]
    pub(crate) file: Option<PathBuf>,
    /// A tokenizer.json, or a repository on the Hugging Face hub: owner/name[@revision]
    #[arg(long, value_name = "FILE|REPO")]
    pub(crate) tokenizer: Option<String>,
    /// Width of the vectors
    #[arg(long, default_value_t = 256, value_name = "N")]
    pub(crate) d_model: usize,
    /// Attention heads of each layer
    #[arg(long, default_value_t = 4, value_name = "N")]
    pub(crate) heads: usize,
    /// Layers of the encoder
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub(crate) layers: usize,
    /// Rows of the table [default: 50, or more if a sentence is longer]
    #[arg(long, value_name = "N")]
    pub(crate) max_seq_len: Option<usize>,
    /// Normalise after each residual connection (post) or before each layer (pre)
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "WHERE",
        hide_possible_values = true
    )]
    pub(crate) norm: NormArg,
    /// Let tokens look only at what came before them
    #[arg(long)]
    pub(crate) causal: bool,
    /// Seed of the encoder's weights
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Where to write the table of encodings [default: pe-demo-table.safetensors]
    #[arg(long, value_name = "FILE", conflicts_with = "no_table")]
    pub(crate) table: Option<PathBuf>,
    /// Do not write the table
    #[arg(long)]
    pub(crate) no_table: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which table to write.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Width of the table
    #[arg(long, value_name = "N")]
    pub(crate) d_model: usize,
    /// Number of rows, one per position
    #[arg(long, value_name = "N")]
    pub(crate) max_seq_len: usize,
    /// Position of the first row
    #[arg(long, default_value_t = 0, value_name = "P")]
    pub(crate) start: u64,
    /// Convention of a known library; the options below override its parts
    #[arg(long, value_parser = parse_preset, value_name = "NAME", long_help = preset_help())]
    pub(crate) preset: Option<Preset>,
    /// The number whose powers the frequencies are [default: 10000]
    #[arg(long, value_name = "B", allow_negative_numbers = true)]
    pub(crate) base: Option<f64>,
    /// The smallest frequency instead of the base: base = 1 / R
    #[arg(
        long,
        value_name = "R",
        conflicts_with = "base",
        allow_negative_numbers = true
    )]
    pub(crate) min_rate: Option<f64>,
    /// Order of the columns [default: interleaved]
    #[arg(long, value_enum, value_name = "LAYOUT")]
    pub(crate) layout: Option<LayoutArg>,
    /// Exponents of the base [default: paper]
    #[arg(long, value_parser = parse_spacing, value_name = "SPACING", long_help = SPACING_HELP)]
    pub(crate) spacing: Option<Spacing>,
    /// What to do at an odd width [default: reject]
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) odd_width: Option<OddWidthArg>,
    /// Exact entries, or those of a reference's f32 arithmetic [default: exact]
    #[arg(long, value_enum, value_name = "RECIPE")]
    pub(crate) recipe: Option<RecipeArg>,
    /// Type of the entries
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    pub(crate) dtype: DTypeArg,
    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// Which file to look at.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A safetensors file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the layers normalise.
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
    /// Frequencies exp(-2i ln(base) / d) in f32 (PyTorch tutorial, labml, fairseq)
    ExpF32,
    /// Frequencies 1 / base^(2i / d) in f32 (Hugging Face transformers)
    PowF32,
}

impl From<RecipeArg> for Recipe {
    fn from(recipe: RecipeArg) -> Self {
        match recipe {
            RecipeArg::Exact => Self::Exact,
            RecipeArg::ExpF32 => Self::ExpF32,
            RecipeArg::PowF32 => Self::PowF32,
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

fn parse_preset(name: &str) -> pe_core::Result<Preset> {
    name.parse()
}

fn preset_help() -> String {
    format!(
        "Convention of a known library; the options below override its parts. One of: {}",
        Preset::ALL.map(Preset::name).join(", ")
    )
}

const SPACING_HELP: &str = "\
Exponents of the base for pair i of n [default: paper]. One of:
- paper:      2i/d
- inclusive:  i/(n-1), the end point included
- shifted=S:  i/(n-S), the downscale_freq_shift of diffusers";

fn parse_spacing(text: &str) -> Result<Spacing, String> {
    match text {
        "paper" => Ok(Spacing::Paper),
        "inclusive" => Ok(Spacing::Inclusive),
        _ => text
            .strip_prefix("shifted=")
            .and_then(|shift| shift.parse().ok())
            .map(Spacing::Shifted)
            .ok_or_else(|| "known: paper, inclusive, shifted=S with a number S".to_owned()),
    }
}
