//! Tables of any scheme in words.

use std::ops::Range;

use pe_candle::checkpoint::{AlibiSpec, AnySpec, CellPoints, FourierSpec, GridSpec, TimestepSpec};
use pe_core::{
    AngleUnit, AxisCoordinates, FourierBands, FourierCoordinates, FourierLayout, GridAxis,
    GridLayout, Recipe, SinusoidLayout,
};

use super::additive::{self, kebab};
use super::rotary;
use crate::terminal::numbers::{short, three_digits};

/// Describes a table.
pub(crate) fn describe(spec: &AnySpec) -> String {
    match spec {
        AnySpec::Sinusoidal(spec) => additive::table(spec),
        AnySpec::Rotary(spec) => rotary::table(spec),
        AnySpec::Timestep(spec) => timestep(spec),
        AnySpec::Grid(spec) => grid(spec),
        AnySpec::Fourier(spec) => fourier(spec),
        AnySpec::Alibi(spec) => alibi(spec),
        other => format!("{other:?}"),
    }
}

/// Returns the names of a column and of the position of a row.
pub(crate) fn places(spec: &AnySpec) -> [&'static str; 2] {
    match spec {
        AnySpec::Rotary(_) => ["pair", "position"],
        AnySpec::Timestep(_) => ["column", "timestep"],
        AnySpec::Fourier(_) => ["column", "cell"],
        AnySpec::Alibi(_) => ["head", "distance"],
        _ => ["column", "position"],
    }
}

const NEAREST: &str = "every entry the nearest number of its type";

/// Describes the numbers of a range: `distances 0 to 99`.
fn range(what: &str, range: Range<u64>) -> String {
    match range.is_empty() {
        true => format!("no {what}"),
        false => format!("{what} {} to {}", range.start, range.end - 1),
    }
}

fn size(sides: &[usize]) -> String {
    let sides: Vec<String> = sides.iter().map(usize::to_string).collect();
    sides.join(" x ")
}

fn timestep(spec: &TimestepSpec) -> String {
    let config = spec.config();
    let order = match config.layout {
        SinusoidLayout::ConcatenatedCosFirst => "cosines, then sines",
        SinusoidLayout::Concatenated => "sines, then cosines",
        SinusoidLayout::Interleaved => "sines and cosines in turn",
    };
    let mut text = format!(
        "{}; max_period {}, {order}, downscale_freq_shift {}",
        range("timesteps", spec.positions()),
        short(config.max_period),
        short(config.downscale_freq_shift),
    );
    for (name, value) in [("scale", config.scale), ("amplitude", config.amplitude)] {
        if value != 1.0 {
            text += &format!(", {name} {}", short(value));
        }
    }
    match config.recipe {
        Recipe::Exact => format!("{text}; {NEAREST}"),
        recipe => format!("{text}; entries of the recipe {}", recipe.name()),
    }
}

fn grid(spec: &GridSpec) -> String {
    let config = spec.config();
    let grid = &config.grid;
    let axis = |axis: &GridAxis| {
        let coordinates = match axis.coordinates {
            AxisCoordinates::Index => String::new(),
            AxisCoordinates::Count => " from 1".to_owned(),
            AxisCoordinates::Normalized { scale } => format!(" from 0 to {}", three_digits(scale)),
            AxisCoordinates::Scaled {
                base_size,
                interpolation_scale,
            } => {
                let base = base_size.map(|base| format!(" onto {}", short(base)));
                format!(
                    "{} over {}",
                    base.unwrap_or_default(),
                    short(interpolation_scale)
                )
            }
            other => format!(" {other:?}"),
        };
        format!(
            "{} {} columns of side {}{coordinates}",
            axis.sinusoidal.d_model,
            kebab(&axis.sinusoidal.layout),
            axis.side
        )
    };
    let axes: Vec<String> = grid.axes.iter().map(axis).collect();
    let order = match grid.layout {
        GridLayout::SinesFirst => ", the sines of all sides first",
        _ => "",
    };
    let zeros = match grid.prefix_rows {
        0 => String::new(),
        1 => " after a row of zeros".to_owned(),
        rows => format!(" after {rows} rows of zeros"),
    };
    format!(
        "{} of a grid of {}{zeros}; {}{order}; {NEAREST}",
        range("rows", spec.positions()),
        size(&config.size),
        axes.join(", "),
    )
}

fn fourier(spec: &FourierSpec) -> String {
    let config = spec.config();
    let features = &config.features;
    let points = match config.points {
        CellPoints::Ends => "from -1 to 1",
        _ => "at their centers in 0 to 1",
    };
    let bands = match &features.bands {
        FourierBands::Octaves { bands } => format!("{bands} octaves from 1"),
        FourierBands::Geometric { bands, base } => {
            format!(
                "{bands} frequencies from 1 below {} by equal factors",
                short(*base)
            )
        }
        FourierBands::Linear { bands, .. } => {
            format!("{bands} frequencies from 1 to half the resolution")
        }
        other => format!("{other:?}"),
    };
    let unit = match features.unit {
        AngleUnit::Turns => "turns",
        AngleUnit::HalfTurns => "half turns",
        AngleUnit::Radians => "radians",
    };
    let order = match features.layout {
        FourierLayout::ByBand => "sines and cosines by frequency",
        FourierLayout::ConcatenatedCosFirst => "cosines, then sines",
        _ => "sines, then cosines",
    };
    let of = match features.coordinates {
        FourierCoordinates::Identity => String::new(),
        other => format!(" of {} coordinates", kebab(&other)),
    };
    let input = match features.with_input {
        true => ", after the coordinates",
        false => "",
    };
    format!(
        "{} of a grid of {} {points}; {bands} {unit}{of}, {order}{input}; {NEAREST}",
        range("cells", spec.positions()),
        size(&config.size),
    )
}

fn alibi(spec: &AlibiSpec) -> String {
    let slopes = spec.scheme().values::<f64>();
    let bounds = || slopes.iter().copied();
    format!(
        "{}; {} heads, slopes from {} to {}, bias_max {}; {NEAREST}",
        range("distances", spec.positions()),
        slopes.len(),
        three_digits(bounds().fold(0.0, f64::max)),
        three_digits(bounds().fold(f64::INFINITY, f64::min)),
        short(spec.config().bias_max),
    )
}
