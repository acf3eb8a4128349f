//! Grids of positions, and how they are resized.

use anyhow::Result;
use pe_core::{AxisTaps, Grid, GridPreset, ResizeConfig, ResizeKernel};

use super::entry::Entry;
use super::source::Settings;
use crate::chart::{Axis, Colors, Content, Curve, Fact, Figure, Map, Mark, Panel, Shape};

/// Cells along each side of the grid.
const SIDE: usize = 7;
const WIDTH: usize = 768;

/// Draws a map of the cells of a square grid, without ticks and title.
pub(super) fn square(side: usize, label: &str, values: Vec<f64>, range: (f64, f64)) -> Panel {
    let places: Vec<f64> = (0..side).map(|at| at as f64).collect();
    Panel {
        title: None,
        x: Axis::of_cells("", &places).with_ticks([]),
        y: Axis::of_cells("", &places).with_ticks([]).backward(),
        content: Content::Map(Map {
            label: label.to_owned(),
            columns: places.clone(),
            rows: places,
            values,
            colors: Colors::Sequential,
            range,
            ticks: crate::chart::ticks(range, 5),
        }),
    }
}

/// Maps the cosine similarity of each cell of a grid with all others.
pub(super) fn grid_similarity(entry: &Entry, _: &Settings) -> Result<Figure> {
    let config = pe_core::GridConfig {
        prefix_rows: 0,
        ..GridPreset::VitMae.config(WIDTH)
    };
    let table = Grid::new(config)?.table::<f64>(&[SIDE, SIDE])?;
    let rows: Vec<&[f64]> = table.iter_rows().collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let similarity = |a: usize, b: usize| {
        let lengths = (dot(rows[a], rows[a]) * dot(rows[b], rows[b])).sqrt();
        dot(rows[a], rows[b]) / lengths
    };
    let cells = SIDE * SIDE;
    let least = (0..cells)
        .map(|cell| similarity(0, cell))
        .fold(1.0, f64::min);
    // Below the least one by any two cells, rounded for the ticks.
    let range = ((least * 10.0).floor() / 10.0, 1.0);
    let panel = |cell: usize| {
        let values = (0..cells).map(|other| similarity(cell, other)).collect();
        square(SIDE, "cosine similarity", values, range)
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "sinusoidal grid of {SIDE} x {SIDE} cells, d_model {WIDTH} (vit-mae); the map at each \
             place compares that cell with all cells"
        ),
        facts: vec![
            Fact::new("cell (0, 0) and its neighbor (0, 1)", similarity(0, 1)),
            Fact::new(
                "cell (0, 0) and the farthest cell",
                similarity(0, cells - 1),
            ),
        ],
        panels: (0..cells).map(panel).collect(),
        shape: Shape {
            width: 760,
            columns: SIDE,
            aspect: 1.0,
        },
    })
}

/// Draws the weight of a neighbor over its distance, and of all positions where a grid shrinks.
pub(super) fn resize_kernels(entry: &Entry, _: &Settings) -> Result<Figure> {
    const FROM: usize = 9;
    const FINER: usize = 128;
    let center = FROM / 2;
    let mut grown = Vec::new();
    let mut facts = Vec::new();
    for (name, kernel) in [
        ("bicubic, a = -0.75 (torch)", ResizeKernel::Bicubic),
        ("bicubic, a = -0.5 (PIL, JAX)", ResizeKernel::BicubicKeys),
        ("bilinear", ResizeKernel::Bilinear),
        ("nearest", ResizeKernel::NearestExact),
    ] {
        let taps = AxisTaps::new(ResizeConfig::new(kernel), FROM, FROM * FINER)?;
        let places = (0..FROM * FINER).map(|to| {
            let weight = taps
                .weights_of::<f64>(to)
                .find(|(from, _)| *from as usize == center);
            let place = (to as f64 + 0.5) / FINER as f64 - 0.5 - center as f64;
            (place, weight.map_or(0.0, |(_, weight)| weight))
        });
        let (x, y): (Vec<f64>, Vec<f64>) = places.filter(|(x, _)| x.abs() <= 2.5).unzip();
        let least = y.iter().copied().fold(0.0, f64::min);
        facts.push(Fact::new(format!("least weight, {name}"), least));
        grown.push(Curve {
            name: name.to_owned(),
            x,
            y,
            mark: Mark::Line,
        });
    }
    let mut shrunk = Vec::new();
    for (name, antialias) in [("without antialiasing", false), ("with antialiasing", true)] {
        let config = ResizeConfig {
            antialias,
            ..ResizeConfig::new(ResizeKernel::BicubicKeys)
        };
        let taps = AxisTaps::new(config, 24, 6)?;
        let mut y = vec![0.0; 24];
        for (from, weight) in taps.weights_of::<f64>(2) {
            y[from as usize] = weight;
        }
        shrunk.push(Curve {
            name: name.to_owned(),
            x: (0..24).map(f64::from).collect(),
            y,
            mark: Mark::Dotted,
        });
    }
    let panel = |title: &str, x, y, curves| Panel {
        title: Some(title.to_owned()),
        x,
        y,
        content: Content::Curves(curves),
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: "weights of the positions that a resized position is made of; they add up to 1"
            .to_owned(),
        facts,
        panels: vec![
            panel(
                "From a grid to a finer one",
                Axis::linear("distance from the position", (-2.5, 2.5)),
                Axis::linear("weight", (-0.2, 1.1)),
                grown,
            ),
            panel(
                "From 24 positions to 6, the third of them (a = -0.5)",
                Axis::linear("position of the given grid", (0.0, 23.0)),
                Axis::linear("weight", (-0.2, 1.1)),
                shrunk,
            ),
        ],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.4,
        },
    })
}
