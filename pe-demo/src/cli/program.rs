//! The program and its commands.

use clap::{Args, Parser, Subcommand};

use super::encode::{ENCODE_EXAMPLES, EncodeArgs};
use super::export::{EXPORT_EXAMPLES, ExportArgs};
use super::inspect::{INSPECT_EXAMPLES, InspectArgs};
use super::plot::{PlotArgs, REPORT_EXAMPLES, ReportArgs, plot_help};
use super::shell::{COMPLETIONS_EXAMPLES, CompletionsArgs, MAN_EXAMPLES, ManArgs};
use super::train::{TRAIN_EXAMPLES, TrainArgs};

const ABOUT: &str = "\
Explores positional encodings with a toy transformer encoder and in figures; trains the encoder \
with and without them; exports and inspects exact tables.

Without a command it encodes sentences: `pe-demo` is short for `pe-demo encode`. Unless --weights \
says otherwise, the encoder is not trained: what it shows follows from how it is built. The same \
input and seed give the same output.";

/// The command is `encode` if none is named: see [`parse`](super::parse).
const USAGE: &str = "pe-demo [OPTIONS] [SENTENCE]...\n       pe-demo <COMMAND>";

const EXAMPLES: &str = "\
Examples:
  pe-demo                                the built-in sentences; writes their table
  pe-demo \"To be or not to be\"           your own
  pe-demo --file text.txt --causal       one per line, looking back only
  pe-demo - < text.txt                   from standard input
  pe-demo --tokenizer google-bert/bert-base-uncased --json
  pe-demo --scheme rotary                positions in the attention instead
  pe-demo train                          what positions buy: about a minute
  pe-demo encode --weights pe-demo-train/sinusoidal.safetensors
  pe-demo export --d-model 512 --max-seq-len 5000 -o pe.safetensors
  pe-demo inspect pe.safetensors
  pe-demo inspect config.json            a model's positions, explained
  pe-demo plot -o figures                every figure
  pe-demo report -o report.html          all of them on one page
  pe-demo completions bash               for a shell; pe-demo man: the manual

Progress is shown on terminals only. Colors are too, and not where NO_COLOR is set.

Exit codes:
  0    done
  1    a failure while running (files, network, memory, size limits), or a file
       whose entries are wrong
  2    bad usage: an argument, or a combination of arguments, that makes no sense
  130  a training, or a file of vectors, that Ctrl-C stopped";

/// The program.
#[derive(Debug, Parser)]
#[command(name = "pe-demo", version, about = ABOUT, after_help = EXAMPLES)]
#[command(override_usage = USAGE, term_width = 80)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// How much is said.
    #[command(flatten)]
    pub(crate) verbosity: VerbosityArgs,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the toy encoder over sentences and show what their positions do
    #[command(after_help = ENCODE_EXAMPLES)]
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
    #[command(after_help = plot_help())]
    Plot(PlotArgs),
    /// Write all figures and their numbers as one page for a browser
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
}

/// How much is said besides results and errors.
#[derive(Debug, Args)]
pub(crate) struct VerbosityArgs {
    /// Results and errors only: no progress, nothing about files that were written
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also what is read, fetched and built, and what errors come from
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}
