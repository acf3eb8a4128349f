//! The arguments of `pe-demo resize`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use pe_core::{MAX_GRID_SIDE, ResizeKernel, ResizePreset};

use crate::cli::numbers::whole;
use crate::cli::values::{input, output};

pub(crate) const RESIZE_EXAMPLES: &str = "\
Examples:
  pe-demo resize vit.safetensors --tensor pos_embed --from 14x14 --to 24x24 \\
      --preset timm -o vit-384.safetensors
  pe-demo resize model.safetensors --tensor position_embedding.weight \\
      --from 16x16 --to 32x20 --kernel bilinear --antialias -o out.safetensors

The tensor has shape [N, D], [1, N, D], [1, H, W, D] or [1, D, H, W]. Rows that are not of the \
grid, such as that of a class token, are kept. All other tensors and the metadata are unchanged.

Exit codes: 0 written, 1 not written (files, memory, size limits), 2 bad usage.";

/// The grid to resize, and its file.
#[derive(Debug, Args)]
pub(crate) struct ResizeArgs {
    /// A safetensors file
    #[arg(value_name = "FILE", value_parser = input())]
    pub(crate) file: PathBuf,
    /// Name of the tensor
    #[arg(long, value_name = "NAME")]
    pub(crate) tensor: String,
    /// Sides of the grid, such as 14x14
    #[arg(long, value_name = "SIDES", value_parser = sides)]
    pub(crate) from: Sides,
    /// Sides after resizing
    #[arg(long, value_name = "SIDES", value_parser = sides)]
    pub(crate) to: Sides,
    /// Way of resizing of a known model or library
    #[arg(
        long,
        value_name = "NAME",
        value_parser = presets(),
        hide_possible_values = true,
        required_unless_present = "kernel",
        conflicts_with_all = ["kernel", "antialias", "align_corners"],
        long_help = preset_help()
    )]
    pub(crate) preset: Option<ResizePreset>,
    /// Function that weights the neighbors
    #[arg(long, value_name = "KERNEL", value_parser = kernels())]
    pub(crate) kernel: Option<ResizeKernel>,
    /// Widen the kernel where the grid shrinks
    #[arg(long)]
    pub(crate) antialias: bool,
    /// Keep the places of the first and the last position
    #[arg(long)]
    pub(crate) align_corners: bool,
    /// Rows after the grid, which are kept [default: 0, or the preset's]
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(0, u64::from(u32::MAX)),
        allow_negative_numbers = true
    )]
    pub(crate) rows_after: Option<usize>,
    /// File to write
    #[arg(short, long, value_name = "FILE", value_parser = output())]
    pub(crate) output: PathBuf,
}

/// Sides of a grid.
#[derive(Debug, Clone)]
pub(crate) struct Sides(pub(crate) Vec<usize>);

/// Reads one to four sides, with an `x` between two.
pub(crate) fn sides(text: &str) -> Result<Sides, String> {
    const MOST: usize = 4;
    let side = whole::<usize>(1, MAX_GRID_SIDE as u64);
    let sides: Result<Vec<usize>, String> = text.split('x').take(MOST + 1).map(side).collect();
    match sides {
        Ok(sides) if sides.len() <= MOST => Ok(Sides(sides)),
        _ => Err(format!(
            "not one to {MOST} sides from 1 to {MAX_GRID_SIDE}, such as 14x14"
        )),
    }
}

/// Reads the name of a preset.
fn presets() -> impl TypedValueParser<Value = ResizePreset> {
    let names = PossibleValuesParser::new(ResizePreset::ALL.map(ResizePreset::name));
    names.try_map(|name| name.parse::<ResizePreset>())
}

fn preset_help() -> String {
    format!(
        "Way of resizing of a known model or library. One of: {}",
        ResizePreset::ALL.map(ResizePreset::name).join(", ")
    )
}

/// Reads the name of a kernel.
fn kernels() -> impl TypedValueParser<Value = ResizeKernel> {
    let names = PossibleValuesParser::new(ResizeKernel::ALL.map(ResizeKernel::name));
    names.try_map(|name| name.parse::<ResizeKernel>())
}
