//! The demo program of the workspace, as a library, so that tests can run it in process.
//!
//! ```text
//! arguments ─► cli ─┬─► encode ─► sentences ─► tokenizer ─► encoder ─► studies ─► text or JSON
//!                   ├─► train ─► the toy encoder with each scheme ─► accuracy, losses, weights
//!                   ├─► export ─► table in a safetensors file
//!                   ├─► inspect ─► what a file holds, and whether it is right; what the
//!                   │              rotary embedding of a config.json is
//!                   ├─► plot ─► figures as PNG or SVG, their numbers as JSON or CSV
//!                   └─► report ─► all figures on one page for a browser
//! ```
//!
//! [`run`] is the program without a process around it:
//!
//! ```
//! use pe_demo::Outcome;
//!
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! let args = ["pe-demo", "--no-table", "A word knows its place."];
//! let outcome = pe_demo::run(args, &mut std::io::empty(), &mut out, &mut err);
//! assert_eq!(outcome, Outcome::Success);
//! assert!(String::from_utf8(out)?.contains("position"));
//! # Ok::<(), std::string::FromUtf8Error>(())
//! ```
//!
//! The parts of the toy model are usable alone: [`encoder::Encoder`] is an ordinary
//! Candle model that takes its weights from a `VarBuilder`.

#![forbid(unsafe_code)]

pub mod attention;
mod cli;
mod console;
mod encode;
pub mod encoder;
mod export;
mod inspect;
pub mod mask;
mod model;
mod page;
mod plot;
mod report;
pub mod sentences;
pub mod studies;
pub mod tokenizer;
mod train;
pub mod weights;

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
use console::{BadUsage, Stdout};

pub use console::Outcome;

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
    let mut stdout = Stdout::new(stdout);
    let result = match Cli::try_parse_from(args) {
        Ok(cli) => {
            let result = dispatch(&cli, stdin, &mut stdout);
            if let Err(error) = &result
                && let Some(BadUsage(why)) = error.downcast_ref()
            {
                return usage(&cli.usage_error(why), stderr);
            }
            result
        }
        Err(error) if error.use_stderr() => return usage(&error, stderr),
        Err(help) => write!(stdout, "{}", help.render())
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
            // What follows a line break is a backtrace, if anything.
            let message = format!("{error:#}");
            let line = message.lines().next().unwrap_or_default();
            let line = page::clean(line, usize::MAX);
            // Where even this cannot be written, the exit code says it.
            let _ = writeln!(stderr, "pe-demo: {line}");
            Outcome::Failure
        }
    }
}

fn usage(error: &clap::Error, stderr: &mut dyn Write) -> Outcome {
    let _ = write!(stderr, "{}", error.render());
    Outcome::Usage
}

fn dispatch(cli: &Cli, stdin: &mut dyn BufRead, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &cli.command {
        None => encode::run(&cli.encode, stdin, out),
        Some(Command::Encode(args)) => encode::run(args, stdin, out),
        Some(Command::Export(args)) => export::run(args, out),
        Some(Command::Inspect(args)) => inspect::run(args, out),
        Some(Command::Train(args)) => train::run(args, out),
        Some(Command::Plot(args)) => plot::run(args, out),
        Some(Command::Report(args)) => report::run(args, out),
    }
}
