//! A picture fitted by Fourier features of its pixels' coordinates.

use anyhow::{Context, Result};
use pe_core::{FourierFeatures, FourierPreset};

use super::entry::Entry;
use super::grids::square;
use super::source::Settings;
use crate::chart::{Fact, Figure, Panel, Shape};

/// Pixels along each side of the picture.
const SIDE: usize = 24;

/// Numbers of frequencies of the fits.
const BANDS: [usize; 5] = [0, 1, 2, 4, 6];

/// Weight of the ridge.
const RIDGE: f64 = 0.01;

/// A pixel: its coordinates from -1 to 1, its brightness, and whether the fit is given it.
struct Pixel {
    at: [f64; 2],
    value: f64,
    given: bool,
}

/// Draws a face, a disk with eyes and a mouth on a slope, of which every other pixel is given.
fn picture() -> Vec<Pixel> {
    let center = |index: usize| (2 * index + 1) as f64 / SIDE as f64 - 1.0;
    let pixel = |index: usize| {
        let (row, column) = (index / SIDE, index % SIDE);
        let (x, y) = (center(column), center(row));
        let disk = |cx: f64, cy: f64, radius: f64| {
            (x - cx) * (x - cx) + (y - cy) * (y - cy) < radius * radius
        };
        let mouth = (y - 0.3).abs() < 0.1 && x.abs() < 0.4;
        let value = if mouth || disk(-0.3, -0.25, 0.15) || disk(0.3, -0.25, 0.15) {
            0.0
        } else if disk(0.0, 0.0, 0.8) {
            0.9
        } else {
            (x + 1.0) / 4.0
        };
        Pixel {
            at: [x, y],
            value,
            given: (row + column).is_multiple_of(2),
        }
    };
    (0..SIDE * SIDE).map(pixel).collect()
}

/// Returns a vector of length 1 for each pixel: 1, the coordinates, and their features.
fn features(pixels: &[Pixel], bands: usize) -> Result<Vec<Vec<f64>>> {
    let points: Vec<f64> = pixels.iter().flat_map(|pixel| pixel.at).collect();
    // The features include the coordinates.
    let table = match bands {
        0 => None,
        _ => Some(
            FourierFeatures::new(FourierPreset::Nerf.config(2, bands))?
                .table_at_reals::<f64>(&points)?,
        ),
    };
    let vector = |(index, pixel): (usize, &Pixel)| {
        let row = table.as_ref().and_then(|table| table.row(index));
        let mut vector = vec![1.0];
        vector.extend(row.unwrap_or(&pixel.at));
        let length = dot(&vector, &vector).sqrt();
        vector.iter().map(|feature| feature / length).collect()
    };
    Ok(pixels.iter().enumerate().map(vector).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the kernel of two vectors: the fourth power of their product, which is the product of all products of
/// four features. So the fit is linear in what a small network can make of them.
fn kernel(a: &[f64], b: &[f64]) -> f64 {
    let square = dot(a, b) * dot(a, b);
    square * square
}

/// Fits the given pixels by ridge regression, and returns the fit at all of them.
fn fit(pixels: &[Pixel], bands: usize) -> Result<Vec<f64>> {
    let vectors = features(pixels, bands)?;
    let given = || pixels.iter().zip(&vectors).filter(|(pixel, _)| pixel.given);
    let known: Vec<&[f64]> = given().map(|(_, vector)| vector.as_slice()).collect();
    let values = given().map(|(pixel, _)| pixel.value).collect();
    let rows = known.iter().enumerate().map(|(index, a)| {
        let mut row: Vec<f64> = known[..=index].iter().map(|b| kernel(a, b)).collect();
        row[index] += RIDGE;
        row
    });
    let weights = solve(rows.collect(), values).context("the kernel is not positive definite")?;
    let at = |vector: &Vec<f64>| {
        let terms = known.iter().zip(&weights);
        terms
            .map(|(known, weight)| kernel(vector, known) * weight)
            .sum()
    };
    Ok(vectors.iter().map(at).collect())
}

/// Solves a symmetric positive definite system, of which the rows up to the diagonal are given, by the factors of Cholesky.
fn solve(mut rows: Vec<Vec<f64>>, mut values: Vec<f64>) -> Option<Vec<f64>> {
    for index in 0..rows.len() {
        let (above, rest) = rows.split_at_mut(index);
        let row = rest.first_mut()?;
        for (column, factors) in above.iter().enumerate() {
            let sum = dot(&row[..column], &factors[..column]);
            row[column] = (row[column] - sum) / factors[column];
        }
        let square = row[index] - dot(&row[..index], &row[..index]);
        if square.is_nan() || square <= 0.0 {
            return None;
        }
        row[index] = square.sqrt();
        values[index] = (values[index] - dot(&row[..index], &values[..index])) / row[index];
    }
    for index in (0..rows.len()).rev() {
        let row = &rows[index];
        let value = values[index] / row[index];
        values[index] = value;
        for (other, factor) in values[..index].iter_mut().zip(row) {
            *other -= factor * value;
        }
    }
    Some(values)
}

/// Draws a picture, and its fits by growing numbers of frequencies.
pub(super) fn fourier_fit(entry: &Entry, _: &Settings) -> Result<Figure> {
    let pixels = picture();
    let mut facts = Vec::new();
    let mut maps = vec![(
        "the picture".to_owned(),
        pixels.iter().map(|pixel| pixel.value).collect(),
    )];
    for bands in BANDS {
        let fitted = fit(&pixels, bands)?;
        let name = match bands {
            0 => "coordinates alone".to_owned(),
            1 => "1 frequency".to_owned(),
            bands => format!("{bands} frequencies"),
        };
        for (given, what) in [(true, "given"), (false, "other")] {
            let of = || {
                pixels
                    .iter()
                    .zip(&fitted)
                    .filter(|(pixel, _)| pixel.given == given)
            };
            let squares: f64 = of()
                .map(|(pixel, fit)| (fit - pixel.value) * (fit - pixel.value))
                .sum();
            let error = (squares / of().count() as f64).sqrt();
            facts.push(Fact::new(format!("{name}: error at {what} pixels"), error));
        }
        maps.push((name, fitted));
    }
    let range = (0.0, 1.0);
    let panel = |(title, values)| Panel {
        title: Some(title),
        ..square(SIDE, "brightness", values, range)
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "ridge regression (weight {RIDGE}) on products of four features, from every other pixel of {SIDE} x {SIDE}; \
             sines and cosines of 2^k \u{3c0} x and 2^k \u{3c0} y"
        ),
        facts,
        panels: maps.into_iter().map(panel).collect(),
        shape: Shape {
            width: 860,
            columns: 3,
            aspect: 1.0,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved_by_the_factors_of_cholesky() {
        let rows = vec![vec![4.0], vec![2.0, 5.0], vec![0.0, 2.0, 5.0]];
        // Of the solution (1, -2, 3).
        assert_eq!(
            solve(rows, vec![0.0, -2.0, 11.0]),
            Some(vec![1.0, -2.0, 3.0])
        );
        assert_eq!(solve(vec![vec![1.0], vec![1.0, 1.0]], vec![1.0, 1.0]), None);
    }
}
