//! The demo program of the workspace, as a library, so that tests can run it in process.
//!
//! ```text
//! arguments ─► cli ─┬─► encode ─► sentences ─► tokenizer ─► encoder ─► studies ─► text or JSON
//!                   │                                                  └─► vectors in a file
//!                   ├─► train ─► the toy encoder with each scheme ─► accuracy, losses, weights
//!                   ├─► export ─► table in a safetensors file
//!                   ├─► inspect ─► what a file holds, and whether it is right; what the
//!                   │              rotary embedding of a config.json is
//!                   ├─► plot ─► figures as PNG or SVG, their numbers as JSON or CSV
//!                   ├─► report ─► all figures on one page for a browser
//!                   └─► shell ─► completions, manual pages
//! ```
//!
//! [`run`] is the program without a process around it:
//!
//! ```
//! use pe_demo::Outcome;
//!
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let args = ["pe-demo", "A word knows its place."];
//! let outcome = pe_demo::run(args, &mut std::io::empty(), &mut out, &mut err);
//! assert_eq!(outcome, Outcome::Success);
//! assert!(String::from_utf8(out)?.contains("position"));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```
//!
//! The parts of the toy model are usable alone: [`encoder::Encoder`] is an ordinary
//! Candle model that takes its weights from a `VarBuilder`.

#![forbid(unsafe_code)]

mod chart;
mod cli;
mod commands;
pub mod encoder;
mod figures;
mod sources;
mod terminal;
mod text;
mod words;

pub use commands::studies;
pub use encoder::{attention, mask, weights};
pub use sources::origin;
pub use text::{sentences, tokenizer};

/// How the command line reads numbers: what its options are given to, before anything is done
/// with them.
///
/// ```
/// use pe_demo::numbers;
///
/// assert_eq!(numbers::whole::<usize>(1, 4096)("512"), Ok(512));
/// assert!(numbers::whole::<usize>(1, 4096)("1e3").is_err());
/// assert!(numbers::positive("NaN").is_err());
/// assert_eq!(numbers::scaling("linear:factor=4")?.keys["factor"], 4);
/// # Ok::<(), String>(())
/// ```
pub mod numbers {
    pub use crate::cli::{Scaling, parse_spacing, positive, probability, scaling, whole};
}

use std::ffi::OsString;
use std::io::{BufRead, Write};

use clap::Parser;

use cli::{Cli, Command};
use commands::{encode, export, inspect, shell, train};
use sources::overwrite;
use terminal::console::{BadUsage, Stdout};
use terminal::log::{Log, Verbosity};
use terminal::process::{self, Work};

pub use terminal::console::{Colors, Outcome};

/// Runs the program: `args` as the system hands them over, the program's name first.
///
/// Results and help go to `stdout`. A failure while running is one line on `stderr` that
/// begins with `pe-demo: `; bad usage is a message of several lines in clap's form, the first of
/// which begins with `error: `. A `stdout` whose reader has gone away ends the run quietly.
pub fn run<I, A>(
    args: I,
    stdin: &mut dyn BufRead,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Outcome
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    run_in(Colors::default(), args, stdin, stdout, stderr)
}

/// As [`run`], with colors in help and in messages about bad usage where they are wanted.
pub fn run_in<I, A>(
    colors: Colors,
    args: I,
    stdin: &mut dyn BufRead,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Outcome
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    let args = cli::command_first(args.into_iter().map(Into::into).collect());
    let mut stdout = Stdout::new(stdout);
    let mut log = Log::new(stderr);
    let usage = |error: &clap::Error, log: &mut Log<'_>| {
        log.usage(colors.stderr.paint(error));
        Outcome::Usage
    };
    let result = match Cli::try_parse_from(&args) {
        Ok(cli) => {
            if let Some(why) = cli.mistake(&args) {
                return usage(&cli.usage_error(&why), &mut log);
            }
            log.verbosity = match (cli.talk.quiet, cli.talk.verbose) {
                (true, _) => Verbosity::Quiet,
                (_, true) => Verbosity::Verbose,
                _ => Verbosity::Normal,
            };
            let result = dispatch(&cli, stdin, &mut stdout, &mut log);
            if let Err(error) = &result
                && let Some(BadUsage(why)) = error.downcast_ref()
            {
                return usage(&cli.usage_error(why), &mut log);
            }
            result
        }
        Err(error) if error.use_stderr() => {
            return usage(&cli::explain(error, &args), &mut log);
        }
        Err(help) => write!(stdout, "{}", colors.stdout.paint(&help))
            .map(|()| Outcome::Success)
            .map_err(Into::into),
    };
    let result = result.and_then(|outcome| {
        stdout.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(outcome) => outcome,
        Err(_) if stdout.is_closed() => Outcome::Success,
        Err(error) => {
            log.error(&match stdout.has_failed() {
                true => error.context("standard output"),
                false => error,
            });
            Outcome::Failure
        }
    }
}

fn dispatch(
    cli: &Cli,
    stdin: &mut dyn BufRead,
    out: &mut dyn Write,
    log: &mut Log<'_>,
) -> anyhow::Result<Outcome> {
    cli.check_needs()?;
    overwrite::check_command(cli)?;
    process::settle(match &cli.command {
        Some(Command::Completions(_) | Command::Man(_)) => Work::Alone,
        _ => Work::Threaded,
    })?;
    let mut nowhere = std::io::sink();
    // What these print is about the files that they write.
    let about_files: &mut dyn Write = match log.verbosity {
        Verbosity::Quiet => &mut nowhere,
        Verbosity::Normal | Verbosity::Verbose => &mut *out,
    };
    match &cli.command {
        None => encode::run(&cli.encode, stdin, out, log),
        Some(Command::Encode(args)) => encode::run(args, stdin, out, log),
        Some(Command::Export(args)) => export::run(args, about_files),
        Some(Command::Inspect(args)) => inspect::run(args, out),
        Some(Command::Train(args)) => train::run(args, out, log),
        Some(Command::Plot(args)) => commands::plot::run(args, about_files),
        Some(Command::Report(args)) => commands::report::run(args, about_files),
        Some(Command::Completions(args)) => shell::completions(args, out),
        Some(Command::Man(args)) if args.output.is_some() => shell::man(args, about_files),
        Some(Command::Man(args)) => shell::man(args, out),
    }
}
