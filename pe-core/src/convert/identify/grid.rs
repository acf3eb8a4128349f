//! Encodings of grids from their entries: the presets, for all sides that give the number of rows.

use super::view::{View, compare, spread};
use super::{Agreement, Identified};
use crate::convert::grid_preset::GridPreset;
use crate::families::grid::Grid;
use crate::rows::element::Element;

/// Returns the preset of a table, or `None`. `sides` are the sides in the tensor's shape, if it has any.
pub(super) fn identify<T: Element>(
    values: &[T],
    view: &View<'_>,
    sides: &[usize],
) -> Option<(Identified, Agreement)> {
    if view.rows < 4 || view.width < 4 {
        return None;
    }
    for preset in GridPreset::ALL {
        let Ok(grid) = Grid::new(preset.config(view.width)) else {
            continue;
        };
        let (prefix, count) = (grid.config().prefix_rows, grid.config().num_sides);
        if prefix == 1 && view.zero_row != Some(0) {
            continue;
        }
        let Some(cells) = view.rows.checked_sub(prefix).filter(|cells| *cells >= 4) else {
            continue;
        };
        let shapes = match (sides.len() == count, count) {
            (true, _) => vec![sides.to_vec()],
            (false, 2) => rectangles(cells),
            _ => Vec::new(),
        };
        let fits = |sides: &Vec<usize>| agrees(view, &grid, sides);
        let Some(sides) = shapes.into_iter().find(fits) else {
            continue;
        };
        let table = grid.table::<T>(&sides).ok()?;
        let agreement = compare(values, view.width, |rows| {
            Ok(table.as_slice()[rows.start * view.width..rows.end * view.width].to_vec())
        });
        return Some((Identified::Grid { preset, sides }, agreement.ok()?));
    }
    None
}

/// Returns the rectangles of a number of cells, the square first.
fn rectangles(cells: usize) -> Vec<Vec<usize>> {
    let narrow = (2..=cells.isqrt()).filter(|side| cells.is_multiple_of(*side));
    let mut all: Vec<Vec<usize>> = narrow
        .flat_map(|side| [vec![cells / side, side], vec![side, cells / side]])
        .collect();
    all.reverse();
    all.dedup();
    all
}

/// Returns whether some cells have the entries of the grid.
fn agrees(view: &View<'_>, grid: &Grid, sides: &[usize]) -> bool {
    let config = grid.config();
    let sample = spread(sides.iter().product(), 24);
    let along = |side: usize| {
        let axis = config.axes.iter().find(|axis| axis.side == side);
        let all = axis.map_or_else(Vec::new, |axis| axis.coordinates.of(sides[side]));
        // The last side changes fastest. A side that no axis follows has no effect.
        let stride: usize = sides[side + 1..].iter().product();
        let place = |cell: &usize| *all.get(cell / stride % sides[side]).unwrap_or(&0.0);
        sample.iter().map(place).collect::<Vec<f64>>()
    };
    let coordinates: Vec<Vec<f64>> = (0..sides.len()).map(along).collect();
    let lists: Vec<&[f64]> = coordinates.iter().map(Vec::as_slice).collect();
    let Ok(table) = grid.table_at_reals::<f64>(&lists) else {
        return false;
    };
    let largest = lists.concat().into_iter().fold(0.0, f64::max);
    let tolerance = 3.0 * view.precision + 2e-6 + 1e-6 * largest;
    sample
        .iter()
        .zip(table.iter_rows())
        .all(|(cell, expected)| {
            let row = cell + config.prefix_rows;
            let errors = expected.iter().enumerate();
            errors
                .map(|(column, expected)| (view.at(row, column) - expected).abs())
                .all(|error| error <= tolerance)
        })
}
