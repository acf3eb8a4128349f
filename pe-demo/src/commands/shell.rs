//! `pe-demo completions` and `pe-demo man`: the command line described for shells and readers.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::command;
use crate::sources::write::write;
use crate::terminal::outcome::{BadUsage, Outcome};
use crate::terminal::width::clean_path;

/// The program's name.
const NAME: &str = env!("CARGO_PKG_NAME");

/// Prints completions.
pub(crate) fn completions(shell: Shell, out: &mut dyn Write) -> Result<Outcome> {
    // The generator panics where it cannot write.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command(), NAME, &mut text);
    if shell == Shell::Fish {
        text.extend(fish_values().into_bytes());
    }
    out.write_all(&text)?;
    Ok(Outcome::Success)
}

/// Returns the values of arguments without a name, such as figures, which the generator leaves out.
fn fish_values() -> String {
    let mut text = String::new();
    for command in program().get_subcommands() {
        for argument in command.get_positionals() {
            let values = argument.get_possible_values();
            let names: Vec<&str> = values.iter().map(|value| value.get_name()).collect();
            if !names.is_empty() {
                text += &format!(
                    "complete -c {NAME} -n \"__fish_pe_demo_using_subcommand {}\" -f -a \"{}\"\n",
                    command.get_name(),
                    names.join(" ")
                );
            }
        }
    }
    text
}

/// Prints the manual page of the program or of a command.
pub(crate) fn man(name: Option<&str>, out: &mut dyn Write) -> Result<Outcome> {
    let program = program();
    let command = match name {
        None => Some(&program),
        Some(name) => program.find_subcommand(name),
    };
    let Some(command) = command else {
        let names = program.get_subcommands().map(clap::Command::get_name);
        bail!(BadUsage(format!(
            "there is no command {:?}; there are {}",
            name.unwrap_or_default(),
            names.collect::<Vec<_>>().join(", ")
        )));
    };
    out.write_all(&manual_page(command)?)?;
    Ok(Outcome::Success)
}

/// Writes the manual pages of the program and of every command.
pub(crate) fn manual(directory: &Path, out: &mut dyn Write) -> Result<Outcome> {
    let program = program();
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let commands = program
        .get_subcommands()
        .filter(|command| command.get_name() != "help");
    for command in std::iter::once(&program).chain(commands) {
        let name = command.get_display_name().unwrap_or(NAME);
        let path = directory.join(format!("{name}.1"));
        write(&path, &manual_page(command)?)?;
        writeln!(out, "wrote {}", clean_path(&path))?;
    }
    Ok(Outcome::Success)
}

/// Returns the command line with what clap adds to commands.
fn program() -> clap::Command {
    let mut program = command();
    program.build();
    program
}

fn manual_page(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}
