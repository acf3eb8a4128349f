//! The command line.

mod encode;
mod export;
mod mistake;
mod plot;
mod rotary;
mod shell;
mod train;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::terminal::console::BadUsage;
pub(crate) use encode::{EncodeArgs, SAME};
pub(crate) use export::ExportArgs;
pub(crate) use plot::{DataArg, FormatArg, PlotArgs, ReportArgs};
pub use rotary::{Scaling, scaling};
pub(crate) use rotary::{TableArg, UnknownKeysArg};
pub(crate) use shell::{CompletionsArgs, ManArgs};
use train::TRAIN_EXAMPLES;
pub(crate) use train::{SchemesArg, TrainArgs};
pub(crate) use values::NormArg;
use values::input;
pub use values::{parse_spacing, positive, probability, whole};

const ABOUT: &str = "\
Explores positional encodings with a toy transformer encoder and in figures; trains the encoder \
with and without them; exports and inspects exact tables.

Without a command it encodes sentences: `pe-demo` is short for `pe-demo encode`. Unless --weights \
says otherwise, the encoder is not trained: what it shows follows from how it is built. The same \
input and seed give the same output.";

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

const INSPECT_EXAMPLES: &str = "\
Examples:
  pe-demo inspect pe.safetensors
  pe-demo inspect model.safetensors --json
  pe-demo inspect config.json

A file that begins with `{` (white space aside), or whose name ends in .json, is taken for a \
model's config.json unless there is a zero byte among its first eight, as there is in every \
safetensors file: the length of a header below 100 MB.

Exit codes: 0 if the file can be read and its table, if it says which one it is, has every \
entry right; 1 if not; 2 bad usage.";

/// The program.
#[derive(Debug, Parser)]
#[command(name = "pe-demo", version, about = ABOUT, after_help = EXAMPLES)]
#[command(args_conflicts_with_subcommands = true, term_width = 80)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// How much is said.
    #[command(flatten)]
    pub(crate) talk: TalkArgs,
    /// The arguments of `encode`, when no command is given.
    #[command(flatten)]
    pub(crate) encode: EncodeArgs,
}

impl Cli {
    /// An error about arguments that were read but make no sense together, in clap's words.
    pub(crate) fn usage_error(&self, message: &str) -> clap::Error {
        let name = self.command.as_ref().map(Command::name);
        let mut program = Self::command();
        program.build();
        let command = name.and_then(|name| program.find_subcommand(name)).cloned();
        let mut command = command.unwrap_or(program);
        command.error(ErrorKind::ValueValidation, message)
    }

    /// Returns an error if an option is given without the option that it needs.
    ///
    /// clap's own `requires` lapses where the needed option conflicts with another one given.
    pub(crate) fn check_needs(&self) -> Result<(), BadUsage> {
        let needs = match &self.command {
            None => self.encode.needs().to_vec(),
            Some(Command::Encode(args)) => args.needs().to_vec(),
            Some(Command::Export(args)) => args.rotary.needs().to_vec(),
            Some(_) => Vec::new(),
        };
        match needs.iter().find(|Need(of, on)| of.1 && !on.1) {
            Some(Need(of, on)) => Err(BadUsage(format!("{} is required by {}", on.0, of.0))),
            None => Ok(()),
        }
    }

    /// What to say if the only sentence is a word that is nearly the name of a command. What comes
    /// after `--` is a sentence.
    pub(crate) fn mistake(&self, args: &[OsString]) -> Option<String> {
        match (&self.command, &self.encode.sentences[..]) {
            (None, [word]) if !args.iter().any(|arg| arg == "--") => mistake::of(word),
            _ => None,
        }
    }
}

/// Of an error about arguments that cannot be read, one that says more: of text that is not UTF-8,
/// which arguments may be meant; of an option that sentences do not take, which command may be.
pub(crate) fn explain(error: clap::Error, args: &[OsString]) -> clap::Error {
    let help = args.get(1).is_some_and(|word| word == "help");
    let word = args
        .get(1 + usize::from(help))
        .and_then(|word| word.to_str());
    let lapse = match help {
        true => ErrorKind::InvalidSubcommand,
        false => ErrorKind::UnknownArgument,
    };
    if error.kind() == lapse
        && let Some(why) = word.and_then(mistake::of)
    {
        return Cli::command().error(ErrorKind::InvalidSubcommand, why);
    }
    let named: Vec<String> = args
        .iter()
        .skip(1)
        .filter(|arg| arg.to_str().is_none())
        .map(|arg| format!("{arg:?}"))
        .collect();
    match error.kind() {
        ErrorKind::InvalidUtf8 if !named.is_empty() => Cli::command().error(
            ErrorKind::InvalidUtf8,
            format!(
                "only names of files may be other than UTF-8: {}",
                named.join(", ")
            ),
        ),
        _ => error,
    }
}

/// An option and the option that it needs, and whether each is given.
#[derive(Debug, Clone, Copy)]
struct Need((&'static str, bool), (&'static str, bool));

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the toy encoder over sentences and show what their positions do
    #[command(after_help = encode::ENCODE_EXAMPLES)]
    Encode(EncodeArgs),
    /// Write a table of encodings to a safetensors file
    #[command(after_help = export::EXPORT_EXAMPLES)]
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
    /// Print completions for a shell
    #[command(after_help = shell::COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the manual page, or write one for each command
    #[command(after_help = shell::MAN_EXAMPLES)]
    Man(ManArgs),
}

impl Command {
    fn name(&self) -> &'static str {
        match self {
            Self::Encode(_) => "encode",
            Self::Export(_) => "export",
            Self::Inspect(_) => "inspect",
            Self::Train(_) => "train",
            Self::Plot(_) => "plot",
            Self::Report(_) => "report",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
        }
    }
}

/// How much is said besides results and errors.
#[derive(Debug, Args)]
pub(crate) struct TalkArgs {
    /// Results and errors only: no progress, nothing about files that were written
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also what is read, fetched and built, and what errors come from
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// Puts `--quiet` and `--verbose` behind the command's name where they stand before it.
///
/// A first word that is no option is the name of a command or the first sentence, and clap looks
/// for commands only where no option came before.
pub(crate) fn command_first(mut args: Vec<OsString>) -> Vec<OsString> {
    let global = |arg: &&OsString| {
        let names = ["-q", "--quiet", "-v", "--verbose"];
        arg.to_str().is_some_and(|arg| names.contains(&arg))
    };
    let options = args.iter().skip(1).take_while(global).count();
    let named = args.get(options + 1).and_then(|word| word.to_str());
    let program = Cli::command();
    if named.is_some_and(|name| name == "help" || program.find_subcommand(name).is_some()) {
        args[1..options + 2].rotate_right(1);
    }
    args
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
