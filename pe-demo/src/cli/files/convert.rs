//! The arguments of `pe-demo convert`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use pe_core::{PairLayout, Preset, SinusoidLayout};

use crate::cli::numbers::whole;
use crate::cli::values::{input, output, preset};

pub(crate) const CONVERT_EXAMPLES: &str = "\
Examples:
  pe-demo convert table.npy --to whisper -o whisper.safetensors
  pe-demo convert pe.safetensors --layout concatenated -o halves.safetensors
  pe-demo convert meta.safetensors --layout half-split --config config.json -o hf.safetensors
  pe-demo convert model.safetensors --layout interleaved --num-heads 32 --num-kv-heads 8 \\
      --head-dim 128 -o interleaved.safetensors

A table is recognized as by `pe-demo identify`. Where both conventions have the same sines and cosines, \
their columns are permuted and keep their bits. Else the table is computed again, exactly, for the same \
positions and base. With heads (--config or --num-heads) the query and key weights of a whole checkpoint \
are permuted between the pair layouts. What cannot be converted is named, and no file is written.

Exit codes: 0 written, 1 not written (files, memory, no conversion), 2 bad usage.";

/// The file to convert.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// A file with a table, or a safetensors checkpoint
    #[arg(value_name = "FILE", value_parser = input())]
    pub(crate) file: PathBuf,
    /// Name of the tensor [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) tensor: Option<String>,
    /// Convention of a known library
    #[arg(
        long,
        value_name = "PRESET",
        value_parser = preset(),
        hide_possible_values = true,
        required_unless_present = "layout",
        conflicts_with = "layout",
        long_help = to_help()
    )]
    pub(crate) to: Option<Preset>,
    /// Order of the columns, or layout of the pairs
    #[arg(long, value_name = "LAYOUT", value_parser = layouts())]
    pub(crate) layout: Option<LayoutArg>,
    /// A config.json with the heads of the checkpoint
    #[arg(long, value_name = "FILE", value_parser = input(), conflicts_with_all = ["to", "tensor"])]
    pub(crate) config: Option<PathBuf>,
    /// Query heads of the checkpoint
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(1, 1 << 16),
        conflicts_with_all = ["config", "to", "tensor"],
        requires = "head_dim"
    )]
    pub(crate) num_heads: Option<usize>,
    /// Key heads [default: those of the queries]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, 1 << 16), requires = "num_heads")]
    pub(crate) num_kv_heads: Option<usize>,
    /// Width of a head
    #[arg(long, value_name = "N", value_parser = whole::<usize>(1, 1 << 20), requires = "num_heads")]
    pub(crate) head_dim: Option<usize>,
    /// Rotated columns of a head [default: all]
    #[arg(long, value_name = "N", value_parser = whole::<usize>(2, 1 << 20), requires = "num_heads")]
    pub(crate) rotary_dim: Option<usize>,
    /// File to write
    #[arg(short, long, value_name = "FILE", value_parser = output())]
    pub(crate) output: PathBuf,
}

/// A layout of columns by its name: `interleaved` is one of both kinds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LayoutArg {
    pub(crate) columns: Option<SinusoidLayout>,
    pub(crate) pairs: Option<PairLayout>,
}

fn layouts() -> impl TypedValueParser<Value = LayoutArg> {
    let columns = SinusoidLayout::ALL.map(SinusoidLayout::name);
    let names = columns.into_iter().chain([PairLayout::HalfSplit.name()]);
    PossibleValuesParser::new(names).map(|name| LayoutArg {
        columns: name.parse().ok(),
        pairs: name.parse().ok(),
    })
}

fn to_help() -> String {
    format!(
        "Convention of a known library; base and positions stay. One of: {}",
        Preset::ALL.map(Preset::name).join(", ")
    )
}
