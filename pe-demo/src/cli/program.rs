//! The program and its commands.

use clap::{Args, Parser, Subcommand};

use super::encode::{ENCODE_EXAMPLES, EncodeArgs};
use super::export::{EXPORT_EXAMPLES, ExportArgs};
use super::files::convert::{CONVERT_EXAMPLES, ConvertArgs};
use super::files::diagnose::{DIAGNOSE_EXAMPLES, DiagnoseArgs};
use super::files::identify::{IDENTIFY_EXAMPLES, IdentifyArgs};
use super::files::inspect::{INSPECT_EXAMPLES, InspectArgs};
use super::files::resize::{RESIZE_EXAMPLES, ResizeArgs};
use super::plot::{PlotArgs, REPORT_EXAMPLES, ReportArgs, plot_help};
use super::shell::{COMPLETIONS_EXAMPLES, CompletionsArgs, MAN_EXAMPLES, ManArgs};
use super::train::{TRAIN_EXAMPLES, TrainArgs};

const ABOUT: &str = "\
Explore positional encodings with a toy transformer encoder and in figures. Train the encoder \
with and without them. Export and inspect exact tables.";

const LONG_ABOUT: &str = "\
Explore positional encodings with a toy transformer encoder and in figures. Train the encoder \
with and without them. Export and inspect exact tables.

Without a command it encodes sentences: `pe-demo` is short for `pe-demo encode`, and takes its \
options. The encoder is not trained unless --weights is given: its results follow from its \
architecture. The same input and seed give the same output.";

/// The command is `encode` if none is named: see [`parse`](super::parse).
const USAGE: &str = "pe-demo [OPTIONS] [SENTENCE]...\n       pe-demo <COMMAND>";

const FEW_EXAMPLES: &str = "\
Examples:
  pe-demo                                two sentences of the same words
  pe-demo diagnose --config config.json  a model's positions
  pe-demo COMMAND -h                     the options of a command";

const EXAMPLES: &str = "\
Examples:
  pe-demo                                the built-in sentences; writes a table
  pe-demo \"To be or not to be\"           your own
  pe-demo --file text.txt --causal       one per line, with a look-ahead mask
  pe-demo - < text.txt                   from standard input
  pe-demo --tokenizer google-bert/bert-base-uncased --json
  pe-demo --scheme rotary                positions in the attention instead
  pe-demo train                          with and without positions: three minutes
  pe-demo encode --weights pe-demo-train/order-sinusoidal-0.safetensors
  pe-demo export --d-model 512 --max-seq-len 5000 -o pe.safetensors
  pe-demo inspect pe.safetensors
  pe-demo inspect config.json            a model's positions, explained
  pe-demo diagnose --config config.json  and what they are worth
  pe-demo identify table.npy             the convention of any table
  pe-demo plot -o figures                every figure
  pe-demo report -o report.html          all of them on one page
  pe-demo completions bash               for a shell; pe-demo man: the manual

Progress and colors appear on terminals only, colors not if NO_COLOR is set, \
and everywhere if CLICOLOR_FORCE is.

Exit codes:
  0    done
  1    a failure while running (files, network, memory, size limits), or a file
       with wrong entries
  2    bad usage: an invalid argument or combination of arguments
  130  a training run, or a file of vectors, that Ctrl-C stopped";

/// The program.
#[derive(Debug, Parser)]
#[command(name = "pe-demo", version, about = ABOUT, long_about = LONG_ABOUT)]
#[command(override_usage = USAGE, after_help = FEW_EXAMPLES, after_long_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Amount of output.
    #[command(flatten)]
    pub(crate) verbosity: VerbosityArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Encode sentences and show the effect of positions
    #[command(after_long_help = ENCODE_EXAMPLES)]
    Encode(EncodeArgs),
    /// Write a table of encodings to a safetensors file
    #[command(after_long_help = EXPORT_EXAMPLES)]
    Export(ExportArgs),
    /// Show the contents of a safetensors file, verify its table; explain a config.json
    #[command(after_long_help = INSPECT_EXAMPLES)]
    Inspect(InspectArgs),
    /// Diagnose a model's positions: pairs, errors, scaling, memory
    #[command(after_long_help = DIAGNOSE_EXAMPLES)]
    Diagnose(DiagnoseArgs),
    /// Recognize the convention of tables from their numbers
    #[command(after_long_help = IDENTIFY_EXAMPLES)]
    Identify(IdentifyArgs),
    /// Convert a table to another convention, or weights to the other pair layout
    #[command(after_long_help = CONVERT_EXAMPLES)]
    Convert(ConvertArgs),
    /// Resize a learned grid of encodings in a safetensors file
    #[command(after_long_help = RESIZE_EXAMPLES)]
    Resize(ResizeArgs),
    /// Train the encoder on tasks of order and distance, with and without positions
    #[command(after_long_help = TRAIN_EXAMPLES)]
    Train(TrainArgs),
    /// Draw figures of encodings: rates, maps, distances, rings
    #[command(after_long_help = plot_help())]
    Plot(PlotArgs),
    /// Write all figures and their numbers as one page for a browser
    #[command(after_long_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Print completions for a shell
    #[command(after_long_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    #[command(after_long_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

/// Amount of output besides results and errors.
#[derive(Debug, Args)]
pub(crate) struct VerbosityArgs {
    /// Print results and errors only
    #[arg(
        short,
        long,
        global = true,
        conflicts_with = "verbose",
        display_order = 900
    )]
    pub(crate) quiet: bool,
    /// Print what is read, fetched, and built, and the causes of errors
    #[arg(short, long, global = true, display_order = 901)]
    pub(crate) verbose: bool,
}
