//! The command line.

mod plot;
mod rotary;
mod train;
mod values;

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};
use pe_core::{MAX_D_MODEL, POSITIONS, Preset, Spacing};

pub(crate) use plot::{DataArg, FormatArg, PlotArgs, ReportArgs};
pub(crate) use rotary::{RotaryArgs, TableArg, UnknownKeysArg};
pub use rotary::{Scaling, scaling};
use train::TRAIN_EXAMPLES;
pub(crate) use train::{SchemeArg, SchemesArg, TrainArgs};
pub(crate) use values::{DTypeArg, LayoutArg, NormArg, OddWidthArg, RecipeArg};
use values::{SPACING_HELP, parse_preset, preset_help};
use values::{input, output, picture, sentence};
pub use values::{parse_spacing, positive, probability, whole};

const ABOUT: &str = "\
Shows what positional encodings do, with a toy transformer encoder and in figures;
trains it with and without them; exports and inspects exact tables.

Without a command it encodes sentences: `pe-demo` is short for `pe-demo encode`.
Unless --weights says otherwise the encoder is not trained: what it shows follows
from how it is built. The same input and seed give the same output.";

const EXAMPLES: &str = "\
Examples:
  pe-demo                                the built-in sentences
  pe-demo \"To be or not to be\"           your own
  pe-demo --file text.txt --causal       one per line, looking back only
  pe-demo - < text.txt                   from standard input
  pe-demo --tokenizer google-bert/bert-base-uncased --json
  pe-demo --scheme rotary                positions in the attention instead
  pe-demo train                          what positions buy: about a minute
  pe-demo encode --weights pe-demo-train/sinusoidal.safetensors
  pe-demo export --d-model 512 --max-seq-len 5000 -o pe.safetensors
  pe-demo inspect pe.safetensors
  pe-demo inspect config.json            a model's rotary embedding, explained
  pe-demo plot -o figures                every figure
  pe-demo report -o report.html          all of them on one page

Exit codes:
  0    done
  1    a failure while running (files, network, memory, size limits), or a file
       whose entries are wrong
  2    bad usage: an argument, or a combination of arguments, that makes no sense
  130  a training that Ctrl-C stopped";

const EXPORT_EXAMPLES: &str = "\
Examples:
  pe-demo export --d-model 512 --max-seq-len 5000 -o pe.safetensors
  pe-demo export --d-model 384 --max-seq-len 1500 --preset whisper -o w.st
  pe-demo export --d-model 64 --max-seq-len 4096 --start 1000000 --dtype bf16 \\
      --base 500000 -o far.safetensors
  pe-demo export --scheme rotary --config config.json -o rotary.safetensors
  pe-demo export --scheme rotary --head-dim 128 --theta 500000 \\
      --scaling linear:factor=4 --max-seq-len 8192 -o rotary.safetensors

The file holds the tensor `pe` [max_seq_len, d_model], or for --scheme rotary
`cos` and `sin` [max_seq_len, rotary_dim/2] and `inv_freq`, and what they are.

Exit codes: 0 written, 1 not written (files, memory, size limits), 2 bad usage.";

const INSPECT_EXAMPLES: &str = "\
Examples:
  pe-demo inspect pe.safetensors
  pe-demo inspect model.safetensors --json
  pe-demo inspect config.json

A file that begins with `{` (white space aside), or whose name ends in .json, is
taken for a model's config.json unless there is a zero byte among its first eight,
as there is in every safetensors file: the length of a header below 100 MB.

Exit codes: 0 if the file can be read and its table, if it says which one it is,
has every entry right; 1 if not; 2 bad usage.";

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

impl Cli {
    /// An error about arguments that were read but make no sense together, in clap's words.
    pub(crate) fn usage_error(&self, message: &str) -> clap::Error {
        let name = match &self.command {
            None => None,
            Some(Command::Encode(_)) => Some("encode"),
            Some(Command::Export(_)) => Some("export"),
            Some(Command::Inspect(_)) => Some("inspect"),
            Some(Command::Train(_)) => Some("train"),
            Some(Command::Plot(_)) => Some("plot"),
            Some(Command::Report(_)) => Some("report"),
        };
        let mut program = Self::command();
        program.build();
        let command = name.and_then(|name| program.find_subcommand(name)).cloned();
        let mut command = command.unwrap_or(program);
        command.error(ErrorKind::ValueValidation, message)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the toy encoder over sentences and show what their positions do
    Encode(EncodeArgs),
    /// Write a table of encodings to a safetensors file
    #[command(after_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Show what a safetensors file holds and whether it is right; explain a config.json
    #[command(after_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Train the toy encoder on a task that word order decides, with and without positions
    #[command(after_help = TRAIN_EXAMPLES)]
    Train(TrainArgs),
    /// Draw figures of encodings: rates, maps, distances, rings
    #[command(after_help = plot::plot_help())]
    Plot(PlotArgs),
    /// Write all figures and their numbers as one page for a browser
    #[command(after_help = plot::REPORT_EXAMPLES)]
    Report(ReportArgs),
}

/// What to encode, and with what.
#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// Sentences to encode instead of the built-in ones; `-` alone reads standard input
    #[arg(value_name = "SENTENCE", value_parser = sentence)]
    pub(crate) sentences: Vec<String>,
    /// Read sentences from a file, one per line; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "sentences")]
    pub(crate) file: Option<PathBuf>,
    /// A tokenizer.json, or a repository on the Hugging Face hub: owner/name[@revision]
    #[arg(long, value_name = "FILE|REPO", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) tokenizer: Option<String>,
    /// Weights that `pe-demo train` made; what the encoder is follows from them
    #[arg(
        long,
        value_name = "FILE",
        value_parser = input(),
        conflicts_with_all = [
            "tokenizer", "scheme", "d_model", "heads", "layers", "max_seq_len", "norm", "causal",
            "seed", "table"
        ]
    )]
    pub(crate) weights: Option<PathBuf>,
    /// Draw where the tokens of the first sentence look: a file that ends in .svg or .png
    #[arg(long, value_name = "FILE", value_parser = picture(), requires = "weights")]
    pub(crate) attention: Option<PathBuf>,
    /// How positions come in
    #[arg(long, value_enum, default_value_t, value_name = "SCHEME")]
    pub(crate) scheme: SchemeArg,
    /// Width of the vectors
    #[arg(
        long,
        default_value_t = 256,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) d_model: usize,
    /// Attention heads of each layer
    #[arg(
        long,
        default_value_t = 4,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) heads: usize,
    /// Layers of the encoder
    #[arg(
        long,
        default_value_t = 2,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) layers: usize,
    /// Rows of the table [default: 50, or more if a sentence is longer]
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(1, POSITIONS),
        allow_negative_numbers = true
    )]
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
    #[arg(
        long,
        default_value_t = 0,
        value_name = "N",
        value_parser = whole::<u64>(0, u64::MAX),
        allow_negative_numbers = true
    )]
    pub(crate) seed: u64,
    /// Where to write the table of sinusoidal encodings [default: pe-demo-table.safetensors]
    #[arg(long, value_name = "FILE", value_parser = output(), conflicts_with = "no_table")]
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
    /// Kind of table; each has options of its own
    #[arg(long, value_enum, default_value_t, value_name = "SCHEME")]
    pub(crate) scheme: TableArg,
    /// Width of the table
    #[arg(
        long,
        value_name = "N",
        required_unless_present = "scheme",
        required_if_eq("scheme", "sinusoidal"),
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) d_model: Option<usize>,
    /// Number of rows, one per position [rotary: up to the model's longest]
    #[arg(
        long,
        value_name = "N",
        required_unless_present = "scheme",
        required_if_eq("scheme", "sinusoidal"),
        value_parser = whole::<usize>(1, POSITIONS),
        allow_negative_numbers = true
    )]
    pub(crate) max_seq_len: Option<usize>,
    /// Position of the first row
    #[arg(
        long,
        default_value_t = 0,
        value_name = "P",
        value_parser = whole::<u64>(0, POSITIONS - 1),
        allow_negative_numbers = true
    )]
    pub(crate) start: u64,
    /// Convention of a known library; the options below override its parts
    #[arg(long, value_parser = parse_preset, value_name = "NAME", long_help = preset_help())]
    pub(crate) preset: Option<Preset>,
    /// The number whose powers the frequencies are [default: 10000]
    #[arg(
        long,
        value_name = "B",
        value_parser = positive,
        allow_hyphen_values = true
    )]
    pub(crate) base: Option<f64>,
    /// The smallest frequency instead of the base: base = 1 / R
    #[arg(
        long,
        value_name = "R",
        conflicts_with = "base",
        value_parser = positive,
        allow_hyphen_values = true
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
    ///
    /// A recipe rounds where the reference rounds, with correctly rounded functions
    /// in between. It does not give a checkpoint's very bits: torch's own
    /// frequencies differ by one f32 ulp in up to 3 % of the pairs, depending on the
    /// CPU, and the position multiplies that difference (up to 5e-4 at positions below
    /// 5000). For those bits load the checkpoint's table.
    #[arg(long, value_enum, value_name = "RECIPE")]
    pub(crate) recipe: Option<RecipeArg>,
    /// Type of the entries
    #[arg(long, value_enum, default_value_t, value_name = "TYPE")]
    pub(crate) dtype: DTypeArg,
    /// File to write
    #[arg(short, long, value_name = "FILE", value_parser = output())]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) rotary: RotaryArgs,
}

/// Which file to look at.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A safetensors file, or the config.json of a Hugging Face model
    #[arg(value_name = "FILE", value_parser = input())]
    pub(crate) file: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
