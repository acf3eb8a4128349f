//! The arguments of `pe-demo diagnose`.

use std::path::PathBuf;

use candle_core::DType;
use clap::Args;
use pe_core::POSITIONS;

use crate::cli::numbers::whole;
use crate::cli::values::{DTYPES, choice, input};

pub(crate) const DIAGNOSE_EXAMPLES: &str = "\
Examples:
  pe-demo diagnose --config config.json
  pe-demo diagnose --config config.json --length 131072 --dtype f16
  pe-demo diagnose --config model.gguf --json

For a rotary or sinusoidal encoding: positions that the type cannot tell apart, pairs that never turn \
once in training, errors of the usual ways to compute cosines and sines against exact values, the \
effect of the scaling on each pair, and the memory of the tables. For other schemes: the longest \
sequence, the distances that share a bucket, or the reach of each head.

Exit codes: 0 diagnosed, 1 not (files, values of keys), 2 bad usage.";

/// The model, and the sequences to look at.
#[derive(Debug, Args)]
pub(crate) struct DiagnoseArgs {
    /// A model's config.json or GGUF file
    #[arg(long, value_name = "FILE", value_parser = input())]
    pub(crate) config: PathBuf,
    /// Number of positions [default: the longest that the file states]
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<u64>(1, POSITIONS),
        allow_negative_numbers = true
    )]
    pub(crate) length: Option<u64>,
    /// Type of the model's activations
    #[arg(long, value_parser = choice(DTYPES, DType::as_str), default_value = "bf16", value_name = "TYPE")]
    pub(crate) dtype: DType,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub(crate) json: bool,
}
