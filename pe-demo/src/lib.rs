//! The demo program of the workspace, as a library, so that tests can run it in process.
//!
//! ```text
//! arguments ─► cli ─┬─► encode ─► sentences ─► tokenizer ─► encoder ─► studies ─► text or JSON
//!                   │                                                  └─► vectors in a file
//!                   ├─► train ─► the toy encoder with each scheme ─► accuracy, losses, weights
//!                   ├─► export ─► table in a safetensors file
//!                   ├─► inspect ─► what a file holds, and whether it is right; what the
//!                   │              rotary embedding of a config.json is
//!                   ├─► diagnose ─► what the positions of a config.json are worth at a length
//!                   ├─► identify ─► the convention of tables, from their numbers
//!                   ├─► convert ─► a table in another convention, weights in the other pair layout
//!                   ├─► resize ─► a learned grid of a safetensors file in another size
//!                   ├─► plot ─► figures as PNG, SVG, or PDF, their numbers as JSON or CSV
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

pub use cli::numbers;
pub use commands::studies;
pub use encoder::{attention, mask, weights};
pub use sources::origin;
pub use text::{sentences, tokenizer};

use std::ffi::OsString;
use std::io::{BufRead, Write};

use cli::{Command, VerbosityArgs};
use commands::{
    convert, diagnose, encode, export, identify, inspect, plot, report, resize, shell, train,
};
use terminal::log::{Log, Verbosity};
use terminal::outcome::BadUsage;
use terminal::process::{self, Work};
use terminal::stdout::Stdout;

pub use terminal::color::{Color, Terminal};
pub use terminal::outcome::Outcome;

/// Runs the program: `args` as the system hands them over, the program's name first.
///
/// Results and help go to `stdout`. A failure while running is one line on `stderr` that
/// begins with `pe-demo: `. Bad usage is a message of several lines in clap's form, the first of
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
    run_in(Terminal::default(), args, stdin, stdout, stderr)
}

/// Does the same as [`run`] for a terminal: with colors where they are wanted, and paragraphs of its width.
pub fn run_in<I, A>(
    terminal: Terminal,
    args: I,
    stdin: &mut dyn BufRead,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Outcome
where
    I: IntoIterator<Item = A>,
    A: Into<OsString> + Clone,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    terminal.begin();
    let mut stdout = Stdout::new(stdout);
    let mut log = Log::new(stderr);
    let result = match cli::parse(&args) {
        Ok(parsed) => {
            log.verbosity = verbosity(&parsed.cli.verbosity);
            let usage_error = parsed.usage_error();
            dispatch(parsed.cli.command, stdin, &mut stdout, &mut log).map_err(|error| match error
                .downcast_ref()
            {
                Some(BadUsage(why)) => usage_error(why).into(),
                None => error,
            })
        }
        Err(error) if error.use_stderr() => Err(error.into()),
        Err(help) => write!(stdout, "{}", terminal.stdout.paint(&help))
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
        Err(error) => match error.downcast_ref() {
            Some(usage) => {
                log.usage(terminal.stderr.paint(usage));
                Outcome::Usage
            }
            None => {
                log.error(&match stdout.has_failed() {
                    true => error.context("standard output"),
                    false => error,
                });
                Outcome::Failure
            }
        },
    }
}

fn verbosity(args: &VerbosityArgs) -> Verbosity {
    match (args.quiet, args.verbose) {
        (true, _) => Verbosity::Quiet,
        (_, true) => Verbosity::Verbose,
        _ => Verbosity::Normal,
    }
}

/// Checks the options of a command and runs it.
fn dispatch(
    command: Command,
    stdin: &mut dyn BufRead,
    out: &mut dyn Write,
    log: &mut Log<'_>,
) -> anyhow::Result<Outcome> {
    process::settle(match command {
        Command::Completions(_) | Command::Man(_) => Work::Alone,
        _ => Work::Threaded,
    })?;
    let mut nowhere = std::io::sink();
    // The output of these is about the files that they write.
    let about_files: &mut dyn Write = match log.verbosity {
        Verbosity::Quiet => &mut nowhere,
        Verbosity::Normal | Verbosity::Verbose => &mut *out,
    };
    match command {
        Command::Encode(args) => encode::run(&encode::Options::new(args)?, stdin, out, log),
        Command::Export(args) => {
            let options = export::Options::new(args)?;
            match options.to_stdout() {
                true => export::run(&options, out),
                false => export::run(&options, about_files),
            }
        }
        Command::Convert(args) => convert::run(&convert::Options::new(args)?, about_files),
        Command::Diagnose(args) => diagnose::run(&diagnose::Options::from(args), out),
        Command::Identify(args) => {
            identify::run(&args.file, args.tensor.as_deref(), args.json, out)
        }
        Command::Inspect(args) => inspect::run(&args.file, args.json, out),
        Command::Resize(args) => resize::run(&resize::Options::new(args)?, about_files),
        Command::Train(args) => train::run(&train::Options::new(args)?, out, log),
        Command::Plot(args) => plot::run(&plot::Options::new(args)?, about_files),
        Command::Report(args) => report::run(&report::Options::from(args), about_files),
        Command::Completions(args) => shell::completions(args.shell, out),
        Command::Man(args) => match args.output {
            Some(directory) => shell::manual(&directory, about_files),
            None => shell::man(args.command.as_deref(), out),
        },
    }
}
