//! The arguments of `pe-demo inspect`.

use std::path::PathBuf;

use clap::Args;

use super::values::input;

pub(super) const INSPECT_EXAMPLES: &str = "\
Examples:
  pe-demo inspect pe.safetensors
  pe-demo inspect model.safetensors --json
  pe-demo inspect config.json

A file that begins with `{` (white space aside), or whose name ends in .json, is taken for a \
model's config.json unless there is a zero byte among its first eight, as there is in every \
safetensors file: the length of a header below 100 MB.

Exit codes: 0 if the file can be read and its table, if it says which one it is, has every \
entry right; 1 if not; 2 bad usage.";

/// Which file to inspect.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// A safetensors file, or the config.json of a Hugging Face model
    #[arg(value_name = "FILE", value_parser = input())]
    pub(crate) file: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
