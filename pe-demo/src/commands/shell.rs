//! `pe-demo completions` and `pe-demo man`: the command line described for shells and readers.

use std::io::Write;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, CompletionsArgs, ManArgs};
use crate::terminal::console::{BadUsage, Outcome};

/// The program's name.
const NAME: &str = env!("CARGO_PKG_NAME");

/// Prints completions.
pub(crate) fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<Outcome> {
    // The generator panics where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut text);
    out.write_all(&text)?;
    Ok(Outcome::Success)
}

/// Prints a manual page, or writes all of them.
pub(crate) fn man(args: &ManArgs, out: &mut dyn Write) -> Result<Outcome> {
    let program = program();
    let Some(directory) = &args.output else {
        let command = match &args.command {
            None => Some(&program),
            Some(name) => program.find_subcommand(name),
        };
        let Some(command) = command else {
            let names: Vec<&str> = program
                .get_subcommands()
                .map(clap::Command::get_name)
                .collect();
            return Err(BadUsage(format!(
                "there is no command {:?}; there are {}",
                args.command.as_deref().unwrap_or_default(),
                names.join(", ")
            ))
            .into());
        };
        out.write_all(&page(command)?)?;
        return Ok(Outcome::Success);
    };
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let commands = program
        .get_subcommands()
        .filter(|command| command.get_name() != "help");
    for command in std::iter::once(&program).chain(commands) {
        let name = command.get_display_name().unwrap_or(NAME);
        let path = directory.join(format!("{name}.1"));
        let page = page(command)?;
        pe_candle::checkpoint::replace(&path, |file| file.write_all(&page))
            .with_context(|| path.display().to_string())?;
        writeln!(out, "wrote {}", crate::terminal::page::path(&path))?;
    }
    Ok(Outcome::Success)
}

/// The command line, complete: what clap adds to commands included.
fn program() -> clap::Command {
    let mut program = Cli::command();
    program.build();
    program
}

fn page(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
