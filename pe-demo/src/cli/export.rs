//! The arguments of `pe-demo export`.

pub(super) mod rotary;
mod tables;

use std::path::PathBuf;

use candle_core::DType;
use clap::Args;
use pe_core::{MAX_D_MODEL, OddWidth, POSITIONS, SinusoidLayout, Spacing};

use self::rotary::{RotaryArgs, TableArg};
use self::tables::{TableArgs, any_preset, any_preset_help};
use super::numbers::{parse_spacing, positive, whole};
use super::values::{DTYPES, LAYOUTS, ODD_WIDTHS, RecipeArg, SPACING_HELP};
use super::values::{base_help, choice, output_or_stdout};

pub(super) const EXPORT_EXAMPLES: &str = "\
Examples:
  pe-demo export --d-model 512 --max-seq-len 5000 -o pe.safetensors
  pe-demo export --d-model 384 --max-seq-len 1500 --preset whisper -o w.st
  pe-demo export --d-model 64 --max-seq-len 4096 --start 1000000 --dtype bf16 \\
      --base 500000 -o far.safetensors
  pe-demo export --scheme rotary --config config.json -o rotary.safetensors
  pe-demo export --scheme rotary --head-dim 128 --theta 500000 \\
      --scaling linear:factor=4 --max-seq-len 8192 -o rotary.safetensors
  pe-demo export --scheme timestep --preset flux --d-model 256 \\
      --max-seq-len 1000 -o timesteps.safetensors
  pe-demo export --scheme grid --preset vit-mae --d-model 768 --size 14x14 \\
      -o grid.safetensors
  pe-demo export --scheme fourier --preset perceiver --bands 64 \\
      --size 224x224 -o pixels.safetensors
  pe-demo export --scheme alibi --heads 12 --max-seq-len 2048 -o alibi.st

The file holds the tensor `pe` [rows, width], or for --scheme rotary `cos` and `sin` \
[max_seq_len, rotary_dim/2] and `inv_freq`, or for --scheme alibi `bias` [max_seq_len, heads] \
and `slopes`, and what they are.

Exit codes: 0 written, 1 not written (files, memory, size limits), 2 bad usage.";

/// The table to write.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Kind of table; each has its own options
    #[arg(
        help_heading = "Table",
        long,
        value_enum,
        default_value_t,
        value_name = "SCHEME"
    )]
    pub(crate) scheme: TableArg,
    /// Width of the table
    #[arg(
        help_heading = "Table",
        long,
        value_name = "N",
        required_unless_present = "scheme",
        required_if_eq_any([("scheme", "sinusoidal"), ("scheme", "timestep"), ("scheme", "grid")]),
        value_parser = whole::<usize>(1, MAX_D_MODEL as u64),
        allow_negative_numbers = true
    )]
    pub(crate) d_model: Option<usize>,
    /// Number of rows, one per position, timestep, or distance (rotary: up to max_position_embeddings)
    #[arg(
        help_heading = "Table",
        long,
        value_name = "N",
        required_unless_present = "scheme",
        required_if_eq_any([("scheme", "sinusoidal"), ("scheme", "timestep"), ("scheme", "alibi")]),
        value_parser = whole::<usize>(1, POSITIONS),
        allow_negative_numbers = true
    )]
    pub(crate) max_seq_len: Option<usize>,
    /// Position of the first row
    #[arg(
        help_heading = "Table",
        hide_short_help = true,
        long,
        default_value_t = 0,
        value_name = "P",
        value_parser = whole::<u64>(0, POSITIONS - 1),
        allow_negative_numbers = true
    )]
    pub(crate) start: u64,
    /// Convention of a known library; other options override its parts
    #[arg(
        help_heading = "Convention",
        long,
        value_parser = any_preset(),
        required_if_eq("scheme", "fourier"),
        value_name = "NAME",
        hide_possible_values = true,
        long_help = any_preset_help()
    )]
    pub(crate) preset: Option<String>,
    #[arg(
        help_heading = "Convention",
        long,
        help = base_help(),
        value_name = "B",
        value_parser = positive,
        allow_hyphen_values = true
    )]
    pub(crate) base: Option<f64>,
    /// Smallest frequency instead of the base: base = 1 / R
    #[arg(
        help_heading = "Convention",
        hide_short_help = true,
        long,
        value_name = "R",
        conflicts_with = "base",
        value_parser = positive,
        allow_hyphen_values = true
    )]
    pub(crate) min_rate: Option<f64>,
    /// Order of the columns [default: interleaved]
    #[arg(hide_short_help = true, help_heading = "Convention", long, value_parser = choice(LAYOUTS, |layout| layout.name()), value_name = "LAYOUT")]
    pub(crate) layout: Option<SinusoidLayout>,
    /// Exponents of the base [default: paper]
    #[arg(help_heading = "Convention", hide_short_help = true, long, value_parser = parse_spacing, value_name = "SPACING", long_help = SPACING_HELP)]
    pub(crate) spacing: Option<Spacing>,
    /// Treatment of an odd width [default: reject]
    #[arg(help_heading = "Convention", hide_short_help = true, long, value_parser = choice(ODD_WIDTHS, |width| width.name()), value_name = "HOW")]
    pub(crate) odd_width: Option<OddWidth>,
    /// Exact entries, or those of another library's f32 arithmetic [default: exact]
    ///
    /// A recipe rounds where that library rounds, with correctly rounded functions in between. It does
    /// not reproduce a checkpoint bit for bit, because torch's own frequencies differ by one f32 ulp in
    /// up to 3% of the pairs, depending on the CPU. The position multiplies that difference (up to
    /// 5e-4 at positions below 5000). For those bits load the checkpoint's table.
    #[arg(help_heading = "Convention", long, value_enum, value_name = "RECIPE")]
    pub(crate) recipe: Option<RecipeArg>,
    /// Type of the entries
    #[arg(help_heading = "Table", long, value_parser = choice(DTYPES, DType::as_str), default_value = "f32", value_name = "TYPE")]
    pub(crate) dtype: DType,
    /// File to write; `-` is standard output
    #[arg(help_heading = "Table", short, long, value_name = "FILE", value_parser = output_or_stdout())]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) rotary: RotaryArgs,
    #[command(flatten)]
    pub(crate) tables: TableArgs,
}
