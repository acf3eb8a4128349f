//! The arguments of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  pe-demo completions bash > ~/.local/share/bash-completion/completions/pe-demo
  pe-demo completions zsh > ~/.zfunc/_pe-demo
  pe-demo completions fish > ~/.config/fish/completions/pe-demo.fish
  pe-demo completions powershell >> $PROFILE";

pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  pe-demo man | man -l -
  pe-demo man train | man -l -
  pe-demo man -o ~/.local/share/man/man1

Exit codes: 0 written, 1 not written (files), 2 bad usage.";

/// The shell.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// The manual page, and its destination.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Command to describe, instead of the program
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    pub(crate) command: Option<String>,
    /// Directory for the pages of the program and of every command, created if needed
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}
