//! Fourier features against a picture.

use anyhow::Result;
use pe_candle::philox4x32_10;
use pe_core::{FourierFeatures, FourierPreset};

use super::entry::Entry;
use super::source::Settings;
use crate::chart::{Axis, Colors, Content, Fact, Figure, Map, Panel, Shape};

/// Pixels along each side of the picture.
const SIDE: usize = 48;

/// Hidden units of the network.
const HIDDEN: usize = 160;

/// Numbers of frequencies.
const BANDS: [usize; 5] = [0, 1, 2, 4, 6];

/// Fits a small network to a picture, from coordinates and from more and more Fourier features of them.
pub(super) fn fourier_fit(entry: &Entry, _: &Settings) -> Result<Figure> {
    let target = picture();
    let mut panels = vec![panel("the picture".to_owned(), target.clone())];
    let mut facts = Vec::new();
    for bands in BANDS {
        let inputs = features(bands)?;
        let fitted = fit(&inputs, &target);
        let errors = fitted.iter().zip(&target).map(|(a, b)| (a - b) * (a - b));
        let error = (errors.sum::<f64>() / target.len() as f64).sqrt();
        let title = match bands {
            0 => "x and y alone".to_owned(),
            1 => "1 frequency".to_owned(),
            _ => format!("{bands} frequencies"),
        };
        facts.push(Fact::new(
            format!("error (root mean square), {title}"),
            error,
        ));
        panels.push(panel(title, fitted));
    }
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "{SIDE} x {SIDE} pixels; a network of {HIDDEN} random hidden units, its output fitted by \
             least squares; NeRF's features sin and cos of \u{3c0} 2^k x, k below the number of \
             frequencies"
        ),
        facts,
        panels,
        shape: Shape {
            width: 860,
            columns: 3,
            aspect: 1.06,
        },
    })
}

fn panel(title: String, values: Vec<f64>) -> Panel {
    let places: Vec<f64> = (0..SIDE).map(|at| at as f64).collect();
    Panel {
        title: Some(title),
        x: Axis::of_cells("", &places).with_ticks([]),
        y: Axis::of_cells("", &places).with_ticks([]).backward(),
        content: Content::Map(Map {
            label: "brightness".to_owned(),
            columns: places.clone(),
            rows: places,
            values: values
                .into_iter()
                .map(|value| value.clamp(0.0, 1.0))
                .collect(),
            colors: Colors::Sequential,
            range: (0.0, 1.0),
            ticks: vec![0.0, 0.5, 1.0],
        }),
    }
}

/// A disc, and stripes that grow narrower.
fn picture() -> Vec<f64> {
    let pixel = |index: usize| {
        let (row, column) = (index / SIDE, index % SIDE);
        let (y, x) = (row as f64 - 15.5, column as f64 - 15.5);
        let disc = x * x + y * y <= 121.0 && x * x + y * y >= 16.0;
        // Stripes of 6, 5, 4 ... pixels below the disc, and of 2 pixels beside it.
        let wide = [0, 6, 11, 15, 18, 20, 23, 27, 32, 38, 43, 48];
        let stripe = wide.iter().filter(|edge| **edge <= column).count() % 2 == 1;
        match (row < 31, column < 31) {
            (true, true) => disc,
            (true, false) => column > 33 && (row / 2).is_multiple_of(2),
            (false, _) => row > 33 && stripe,
        }
    };
    (0..SIDE * SIDE)
        .map(|index| f64::from(u8::from(pixel(index))))
        .collect()
}

/// Returns the inputs of the network for each pixel: its coordinates in -1 .. 1, and their features.
fn features(bands: usize) -> Result<Vec<Vec<f64>>> {
    let at = |cell: usize| (2 * cell + 1) as f64 / SIDE as f64 - 1.0;
    let points: Vec<f64> = (0..SIDE * SIDE)
        .flat_map(|index| [at(index / SIDE), at(index % SIDE)])
        .collect();
    if bands == 0 {
        return Ok(points.chunks(2).map(<[f64]>::to_vec).collect());
    }
    let nerf = FourierFeatures::new(FourierPreset::Nerf.config(2, bands))?;
    Ok(nerf
        .table_at_reals::<f64>(&points)?
        .iter_rows()
        .map(<[f64]>::to_vec)
        .collect())
}

/// Returns what a network gives for its inputs: a hidden layer of random weights, and an output layer
/// fitted to the target by least squares.
fn fit(inputs: &[Vec<f64>], target: &[f64]) -> Vec<f64> {
    let width = inputs.first().map_or(0, Vec::len);
    // Uniform in -1 .. 1, scaled so that sums have the same size for any number of inputs.
    let scale = (3.0 / width.max(1) as f64).sqrt();
    let weight = |unit: usize, input: usize| {
        let [word, ..] = philox4x32_10([unit as u32, input as u32, 0, 0], [7, 7]);
        scale * ((f64::from(word) + 0.5) / f64::from(1u32 << 31) - 1.0)
    };
    let weights: Vec<Vec<f64>> = (0..HIDDEN)
        .map(|unit| (0..=width).map(|input| weight(unit, input)).collect())
        .collect();
    let hidden: Vec<Vec<f64>> = inputs
        .iter()
        .map(|input| {
            let unit = |weights: &Vec<f64>| {
                let products = weights.iter().zip(input).map(|(w, x)| w * x);
                (products.sum::<f64>() + weights[width]).max(0.0)
            };
            let mut hidden: Vec<f64> = weights.iter().map(unit).collect();
            hidden.push(1.0);
            hidden
        })
        .collect();
    let output = least_squares(&hidden, target);
    hidden
        .iter()
        .map(|row| row.iter().zip(&output).map(|(h, w)| h * w).sum())
        .collect()
}

/// Solves the normal equations by Cholesky's decomposition, with a little weight decay.
fn least_squares(rows: &[Vec<f64>], target: &[f64]) -> Vec<f64> {
    let n = rows.first().map_or(0, Vec::len);
    let mut matrix = vec![0.0; n * n];
    let mut right = vec![0.0; n];
    for (row, target) in rows.iter().zip(target) {
        for (i, value) in row.iter().enumerate() {
            right[i] += value * target;
            let line = &mut matrix[i * n..=i * n + i];
            for (out, other) in line.iter_mut().zip(row) {
                *out += value * other;
            }
        }
    }
    for i in 0..n {
        matrix[i * n + i] += 1e-4;
    }
    for i in 0..n {
        for j in 0..=i {
            let products = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]);
            let rest = matrix[i * n + j] - products.sum::<f64>();
            matrix[i * n + j] = match i == j {
                true => rest.max(1e-12).sqrt(),
                false => rest / matrix[j * n + j],
            };
        }
    }
    for i in 0..n {
        let known: f64 = (0..i).map(|k| matrix[i * n + k] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i * n + i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| matrix[k * n + i] * right[k]).sum();
        right[i] = (right[i] - known) / matrix[i * n + i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_find_the_weights_of_a_plane() {
        let rows: Vec<Vec<f64>> = (0..20)
            .map(|i| vec![1.0, f64::from(i % 5), f64::from(i / 5)])
            .collect();
        let target: Vec<f64> = rows
            .iter()
            .map(|row| 2.0 - 3.0 * row[1] + 0.5 * row[2])
            .collect();
        let found = least_squares(&rows, &target);
        for (found, wanted) in found.iter().zip([2.0, -3.0, 0.5]) {
            assert!((found - wanted).abs() < 1e-4, "{found}");
        }
    }

    #[test]
    fn more_frequencies_leave_less_error() {
        let target = picture();
        let error = |bands| {
            let fitted = fit(&features(bands).unwrap(), &target);
            fitted
                .iter()
                .zip(&target)
                .map(|(a, b)| (a - b) * (a - b))
                .sum::<f64>()
        };
        let errors = BANDS.map(error);
        assert!(errors[3] < 0.7 * errors[0], "{errors:?}");
    }
}
