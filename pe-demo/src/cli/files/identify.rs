//! The arguments of `pe-demo identify`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::values::input;

pub(crate) const IDENTIFY_EXAMPLES: &str = "\
Examples:
  pe-demo identify table.npy
  pe-demo identify model.safetensors --tensor embed_positions.weight
  pe-demo identify tables.npz --json

Formats: safetensors, NumPy's .npy and .npz, .csv, and GGUF. Recognized from the numbers alone: \
sinusoidal tables (layout, spacing, base, first position, recipe), cosines and sines of rotary \
embeddings, their frequencies with the scaling, slopes of ALiBi, and grids. A table that follows \
none of these is learned.

With --json each tensor is one line with one JSON object: tensor, dtype, shape, scheme (sinusoidal, \
rotary, inv_freq, alibi, grid, learned, unknown), preset, layout, spacing, base, start, recipe, \
equal_share, largest_error, and what else is known. What does not apply is null.

Exit codes: 0 the file was read; 1 it cannot be read, or has no such tensor; 2 bad usage.";

/// The file with the tables.
#[derive(Debug, Args)]
pub(crate) struct IdentifyArgs {
    /// A file with one or more tensors
    #[arg(value_name = "FILE", value_parser = input())]
    pub(crate) file: PathBuf,
    /// Name of one tensor [default: all tensors]
    #[arg(long, value_name = "NAME")]
    pub(crate) tensor: Option<String>,
    /// Print one JSON object per tensor, each on a line
    #[arg(long)]
    pub(crate) json: bool,
}
