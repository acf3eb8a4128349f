//! The arguments of `pe-demo inspect`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::values::input;

pub(crate) const INSPECT_EXAMPLES: &str = "\
Examples:
  pe-demo inspect pe.safetensors
  pe-demo inspect model.safetensors --json
  pe-demo inspect config.json
  pe-demo inspect model.gguf

A file is treated as a config.json if it begins with `{` or its name ends in .json, unless one \
of its first eight bytes is zero, as in every safetensors file.

Exit codes: 0 if the file can be read and every entry of a table with a specification is \
right; 1 if not; 2 bad usage.";

/// The file to inspect.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A safetensors file, or a model's config.json or GGUF file
    #[arg(value_name = "FILE", value_parser = input())]
    pub(crate) file: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
