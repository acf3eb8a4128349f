//! What is read is not written over.

use std::path::{Path, PathBuf};

use crate::cli::{Cli, Command};
use crate::terminal::console::BadUsage;

/// A file, and the option that names it or the words for one that no option names.
pub(crate) type Named = (&'static str, PathBuf);

/// Checks the files of a command before it runs: every one that it would write, by an option or by
/// default, against every one that its arguments say it reads.
///
/// # Errors
/// Returns an error if one of them is both.
pub(crate) fn check_command(cli: &Cli) -> Result<(), BadUsage> {
    let (outputs, inputs) = match &cli.command {
        None => (cli.encode.outputs(), cli.encode.inputs()),
        Some(Command::Encode(args)) => (args.outputs(), args.inputs()),
        Some(Command::Export(args)) => {
            let config = args.rotary.config.iter().cloned();
            let inputs = config.map(|path| ("--config", path)).collect();
            (vec![("--output", args.output.clone())], inputs)
        }
        Some(Command::Plot(args)) => {
            let config = args.config.iter().cloned();
            let inputs = config.map(|path| ("--config", path)).collect();
            (args.outputs(), inputs)
        }
        // These write nothing, or read nothing but what they wrote themselves.
        Some(
            Command::Inspect(_)
            | Command::Train(_)
            | Command::Report(_)
            | Command::Completions(_)
            | Command::Man(_),
        ) => return Ok(()),
    };
    check(&outputs, &inputs)
}

/// Checks that no file to write is one of those to read, by whatever name: the result would take the
/// place of what it was made from.
///
/// # Errors
/// Returns an error if one is.
pub(crate) fn check(outputs: &[Named], inputs: &[Named]) -> Result<(), BadUsage> {
    for (writes, output) in outputs {
        if let Some((reads, input)) = inputs.iter().find(|(_, input)| same(output, input)) {
            return Err(BadUsage(format!(
                "{writes} {} would replace what {reads} {} reads",
                output.display(),
                input.display()
            )));
        }
    }
    Ok(())
}

/// Whether two names are of one file. A file that is not there is no other.
fn same(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b || linked(&a, &b),
        _ => false,
    }
}

/// Whether two files share their content.
#[cfg(unix)]
fn linked(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn linked(_: &Path, _: &Path) -> bool {
    false
}
