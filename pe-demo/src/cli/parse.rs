//! Reading of a command line.

use std::ffi::{OsStr, OsString};

use clap::FromArgMatches;
use clap::error::ErrorKind;

use super::help::command;
use super::mistake;
use super::program::{Cli, Command};

/// A command line that was read.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) cli: Cli,
    /// The name of the command.
    name: String,
}

/// Reads a command line, the program's name first. Sentences without a command are those of
/// `encode`.
///
/// # Errors
/// Returns an error if the arguments cannot be read, or if help is asked for.
pub(crate) fn parse(args: &[OsString]) -> Result<Parsed, clap::Error> {
    let named = names_a_command(args);
    let mut words = args.to_vec();
    if !named {
        words.insert(words.len().min(1), DEFAULT.into());
    }
    let matches = command()
        .try_get_matches_from(words)
        .map_err(|error| explain(error, args))?;
    let parsed = Parsed {
        cli: Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command()))?,
        name: matches.subcommand_name().unwrap_or(DEFAULT).to_owned(),
    };
    match (&parsed.cli.command, named) {
        (Command::Encode(encode), false) => match &encode.sentences[..] {
            // What comes after `--` is a sentence.
            [word] if !args.iter().any(|arg| arg == "--") => match mistake::of(word) {
                Some(why) => Err(parsed.usage_error()(&why)),
                None => Ok(parsed),
            },
            _ => Ok(parsed),
        },
        _ => Ok(parsed),
    }
}

/// The command of a line that names none.
const DEFAULT: &str = "encode";

/// Returns whether the first word after `--quiet` and `--verbose` is a command, or asks for the help or the
/// version of the program.
fn names_a_command(args: &[OsString]) -> bool {
    let quiet_or_verbose = |arg: &&OsString| {
        let names = ["-q", "--quiet", "-v", "--verbose"];
        names.iter().any(|name| *arg == name)
    };
    let first = args.iter().skip(1).find(|arg| !quiet_or_verbose(arg));
    let own = ["help", "-h", "--help", "-V", "--version"];
    let known = |word: &str| own.contains(&word) || command().find_subcommand(word).is_some();
    first.and_then(|word| word.to_str()).is_some_and(known)
}

impl Parsed {
    /// Returns what turns a message into an error of clap's: arguments were read but make no sense
    /// together.
    pub(crate) fn usage_error(&self) -> impl Fn(&str) -> clap::Error + use<> {
        let name = self.name.clone();
        move |message| {
            let mut program = command();
            program.build();
            let command = program.find_subcommand(&name).cloned();
            let mut command = command.unwrap_or(program);
            command.error(ErrorKind::ValueValidation, message)
        }
    }
}

/// Replaces an error about arguments that cannot be read by one that says more: which arguments may
/// be meant if a text is not UTF-8, or which command if an option is unknown to sentences.
fn explain(error: clap::Error, args: &[OsString]) -> clap::Error {
    let help = args.get(1).is_some_and(|word| word == "help");
    let word = args.get(1 + usize::from(help));
    let lapse = match help {
        true => ErrorKind::InvalidSubcommand,
        false => ErrorKind::UnknownArgument,
    };
    if error.kind() == lapse
        && let Some(why) = word.and_then(|word| word.to_str()).and_then(mistake::of)
    {
        return command().error(ErrorKind::InvalidSubcommand, why);
    }
    let other: Vec<String> = args
        .iter()
        .skip(1)
        .filter(|arg| arg.to_str().is_none())
        .map(|arg| format!("{:?}", OsStr::new(arg)))
        .collect();
    match error.kind() {
        ErrorKind::InvalidUtf8 if !other.is_empty() => command().error(
            ErrorKind::InvalidUtf8,
            format!(
                "only names of files may be other than UTF-8: {}",
                other.join(", ")
            ),
        ),
        _ => error,
    }
}
