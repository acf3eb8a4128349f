//! Tables of timesteps, grids, Fourier features, and biases, as options describe them.

use anyhow::{Context, Result, bail};
use pe_candle::checkpoint::{
    AlibiSpec, AnySpec, CellPoints, FourierSpec, FourierTable, FourierTableConfig, GridSpec,
    GridTable, GridTableConfig, TimestepSpec,
};
use pe_core::{
    AlibiConfig, AlibiSlopes, Base, FourierPreset, GridConfig, GridPreset, Timestep,
    TimestepConfig, TimestepPreset,
};

use super::{check_positions, preset};
use crate::cli::ExportArgs;
use crate::sources::config_json::reason;
use crate::terminal::outcome::BadUsage;
use crate::terminal::width::clean_path;

/// Returns an option that clap requires.
fn needed<T>(args: &ExportArgs, name: &str, value: Option<T>) -> Result<T, BadUsage> {
    let scheme = args.scheme.name();
    value.ok_or_else(|| BadUsage(format!("--scheme {scheme} needs {name}")))
}

/// Returns an error of the library about the options.
fn explained(args: &ExportArgs, error: impl std::fmt::Display) -> BadUsage {
    BadUsage(format!("--scheme {}: {error}", args.scheme.name()))
}

/// Returns an error of Candle about the options, without its trace.
fn bare(error: &candle_core::Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

pub(super) fn timestep(args: &ExportArgs) -> Result<AnySpec> {
    let dim = needed(args, "--d-model", args.d_model)?;
    let rows = needed(args, "--max-seq-len", args.max_seq_len)?;
    let mut config = match preset::<TimestepPreset>(args)? {
        Some(preset) => preset.config(dim),
        None => TimestepConfig::new(dim),
    };
    config.max_period = args.base.unwrap_or(config.max_period);
    if let Some(recipe) = args.recipe {
        let Some(recipe) = recipe.additive() else {
            bail!(explained(args, "--recipe hf-f32 is of --scheme rotary"));
        };
        config.recipe = recipe;
    }
    check_positions(args.start, rows)?;
    let timestep = Timestep::new(config).map_err(|error| explained(args, reason(&error)))?;
    let spec = TimestepSpec::of(timestep, args.start, rows, args.dtype);
    spec.map(AnySpec::Timestep)
        .with_context(|| clean_path(&args.output))
}

pub(super) fn grid(args: &ExportArgs) -> Result<AnySpec> {
    let d_model = needed(args, "--d-model", args.d_model)?;
    let size = needed(args, "--size", args.tables.size.clone())?.0;
    let mut grid = match preset::<GridPreset>(args)? {
        Some(preset) => preset.config(d_model),
        None => GridConfig::new(d_model, size.len()),
    };
    if let Some(base) = args.base {
        for axis in &mut grid.axes {
            axis.sinusoidal.base = Base::Value(base);
        }
    }
    let table = GridTable::new(GridTableConfig { grid, size });
    let table = table.map_err(|error| explained(args, bare(&error)))?;
    let rows = usize::try_from(table.rows())?;
    let spec = GridSpec::of(table, 0, rows, args.dtype);
    spec.map(AnySpec::Grid)
        .with_context(|| clean_path(&args.output))
}

pub(super) fn fourier(args: &ExportArgs) -> Result<AnySpec> {
    let bands = needed(args, "--bands", args.tables.bands)?;
    let size = needed(args, "--size", args.tables.size.clone())?.0;
    let preset = needed(args, "--preset", preset::<FourierPreset>(args)?)?;
    let features = preset.config(size.len(), bands);
    if features.has_matrix() {
        bail!(BadUsage(format!(
            "--preset {preset} multiplies the coordinates by a matrix of trained or drawn values, \
             which no specification gives"
        )));
    }
    let points = args.tables.points.unwrap_or(match preset {
        FourierPreset::Perceiver => CellPoints::Ends,
        _ => CellPoints::Centers,
    });
    let config = FourierTableConfig {
        features,
        size,
        points,
    };
    let table = FourierTable::new(config).map_err(|error| explained(args, bare(&error)))?;
    let rows = usize::try_from(table.rows())?;
    let spec = FourierSpec::of(table, 0, rows, args.dtype);
    spec.map(AnySpec::Fourier)
        .with_context(|| clean_path(&args.output))
}

pub(super) fn alibi(args: &ExportArgs) -> Result<AnySpec> {
    let heads = needed(args, "--heads", args.tables.heads)?;
    let rows = needed(args, "--max-seq-len", args.max_seq_len)?;
    let paper = AlibiConfig::new(heads);
    let bias_max = args.tables.bias_max.unwrap_or(paper.bias_max);
    check_positions(args.start, rows)?;
    let slopes = AlibiSlopes::new(AlibiConfig { bias_max, ..paper });
    let slopes = slopes.map_err(|error| explained(args, reason(&error)))?;
    let spec = AlibiSpec::of(slopes, args.start, rows, args.dtype);
    spec.map(AnySpec::Alibi)
        .with_context(|| clean_path(&args.output))
}
