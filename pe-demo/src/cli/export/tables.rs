//! The arguments of tables of grids, Fourier features, and biases.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use pe_candle::checkpoint::CellPoints;
use pe_core::{FourierPreset, GridPreset, MAX_HEADS, Preset, TimestepPreset};

use crate::cli::files::resize::{Sides, sides};
use crate::cli::numbers::{positive, whole};

/// The options of a grid, of Fourier features, or of biases.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of --scheme grid, fourier, and alibi")]
pub(crate) struct TableArgs {
    /// Sides of the grid, such as 14x14
    #[arg(
        long,
        value_name = "SIDES",
        value_parser = sides,
        required_if_eq_any([("scheme", "grid"), ("scheme", "fourier")])
    )]
    pub(crate) size: Option<Sides>,
    /// Fourier: frequencies of each coordinate
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(1, 4096),
        required_if_eq("scheme", "fourier"),
        allow_negative_numbers = true
    )]
    pub(crate) bands: Option<usize>,
    /// Fourier: cells from -1 to 1 (ends), or their centers in 0 to 1 [default: ends for perceiver]
    #[arg(hide_short_help = true, long, value_name = "WHERE", value_parser = points())]
    pub(crate) points: Option<CellPoints>,
    /// ALiBi: attention heads
    #[arg(
        long,
        value_name = "N",
        value_parser = whole::<usize>(1, MAX_HEADS as u64),
        required_if_eq("scheme", "alibi"),
        allow_negative_numbers = true
    )]
    pub(crate) heads: Option<usize>,
    /// ALiBi: exponent of the last slope, alibi_bias_max of MPT [default: 8]
    #[arg(hide_short_help = true, long, value_name = "B", value_parser = positive, allow_hyphen_values = true)]
    pub(crate) bias_max: Option<f64>,
}

fn points() -> impl TypedValueParser<Value = CellPoints> {
    let names = PossibleValuesParser::new(CellPoints::ALL.map(CellPoints::name));
    names.try_map(|text| {
        let found = CellPoints::ALL
            .into_iter()
            .find(|points| points.name() == text);
        found.ok_or("not a known name")
    })
}

/// Returns the names of the presets of each kind of table.
fn presets() -> [(&'static str, Vec<&'static str>); 4] {
    [
        ("sinusoidal", Preset::ALL.map(Preset::name).to_vec()),
        (
            "timestep",
            TimestepPreset::ALL.map(TimestepPreset::name).to_vec(),
        ),
        ("grid", GridPreset::ALL.map(GridPreset::name).to_vec()),
        (
            "fourier",
            FourierPreset::ALL.map(FourierPreset::name).to_vec(),
        ),
    ]
}

/// Reads the name of a preset of any kind of table.
pub(super) fn any_preset() -> impl TypedValueParser<Value = String> {
    let mut names: Vec<&str> = presets().into_iter().flat_map(|(_, names)| names).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(*name));
    PossibleValuesParser::new(names)
}

/// Returns the help of an option for a preset of any kind of table.
pub(super) fn any_preset_help() -> String {
    let mut text = "Convention of a known library; other options override its parts:".to_owned();
    for (scheme, names) in presets() {
        text += &format!("\n- {scheme}: {}", names.join(", "));
    }
    text
}
