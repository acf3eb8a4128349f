//! Biases of attention by distance, and the decay of every scheme.

use anyhow::Result;
use pe_core::{
    AlibiConfig, AlibiSlopes, BucketDirection, Rotary, RotaryConfig, Similarity, Sinusoidal,
    T5Buckets, T5BucketsConfig, Xpos, XposConfig,
};

use super::entry::Entry;
use super::source::Settings;
use crate::chart::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape};
use crate::terminal::numbers::{short, thousands};

const DISTANCE: &str = "distance of query and key";

/// Distances of the figure of all schemes.
const FARTHEST: u32 = 4096;

fn curve(name: impl Into<String>, x: &[f64], y: Vec<f64>) -> Curve {
    Curve {
        name: name.into(),
        x: x.to_vec(),
        y,
        mark: Mark::Line,
    }
}

fn one_panel(entry: &Entry, note: String, facts: Vec<Fact>, panel: Panel) -> Figure {
    Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note,
        facts,
        panels: vec![panel],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.52,
        },
    }
}

/// Draws the bias of eight heads by distance.
pub(super) fn alibi_slopes(entry: &Entry, _: &Settings) -> Result<Figure> {
    const HEADS: usize = 8;
    const ROWS: usize = 65;
    let slopes = AlibiSlopes::new(AlibiConfig::new(HEADS))?;
    let mut biases = vec![0f64; ROWS * HEADS];
    slopes.fill_distances(0..ROWS as u64, &mut biases)?;
    let x: Vec<f64> = (0..ROWS).map(|distance| distance as f64).collect();
    let values = slopes.values::<f64>();
    let curves = values.iter().enumerate().map(|(head, slope)| {
        let y = biases.iter().skip(head).step_by(HEADS).copied().collect();
        curve(
            format!("head {}, slope 1/{}", head + 1, short(1.0 / slope)),
            &x,
            y,
        )
    });
    let facts = [0, HEADS - 1].map(|head| {
        Fact::new(
            format!("bias of head {} at distance 64", head + 1),
            biases[64 * HEADS + head],
        )
    });
    Ok(one_panel(
        entry,
        format!("-slope \u{b7} distance, {HEADS} heads, bias_max 8"),
        facts.to_vec(),
        Panel {
            title: None,
            x: Axis::linear(DISTANCE, (0.0, 64.0)),
            y: Axis::linear("bias of the score", (-16.0, 0.0)),
            // What leaves the panel says no more than where it leaves.
            content: Content::Curves(curves.map(|curve| within(curve, -16.0)).collect()),
        },
    ))
}

/// Cuts off the points below a level.
fn within(curve: Curve, least: f64) -> Curve {
    let points = curve.x.iter().zip(&curve.y).filter(|(_, y)| **y >= least);
    let (x, y) = points.map(|(x, y)| (*x, *y)).unzip();
    Curve { x, y, ..curve }
}

/// Draws T5's bucket of every distance.
pub(super) fn t5_buckets(entry: &Entry, _: &Settings) -> Result<Figure> {
    const FAR: i64 = 160;
    let x: Vec<i64> = (-FAR..=FAR).collect();
    let mut curves = Vec::new();
    let mut facts = Vec::new();
    for (name, direction) in [
        ("encoder: both directions", BucketDirection::Bidirectional),
        (
            "decoder: keys before the query",
            BucketDirection::Unidirectional,
        ),
    ] {
        let buckets = T5Buckets::new(T5BucketsConfig::new(direction))?;
        let of = |distance: &i64| f64::from(buckets.bucket(*distance));
        facts.push(Fact::new(format!("{name}, 100 back"), of(&-100)));
        let places: Vec<f64> = x.iter().map(|distance| *distance as f64).collect();
        curves.push(curve(name, &places, x.iter().map(of).collect()));
    }
    Ok(one_panel(
        entry,
        "32 buckets, max_distance 128: a bucket for each near distance, then by equal factors"
            .to_owned(),
        facts,
        Panel {
            title: None,
            x: Axis::linear("key \u{2212} query", (-FAR as f64, FAR as f64)),
            y: Axis::linear("bucket", (0.0, 32.0)).with_ticks([0.0, 8.0, 16.0, 24.0, 32.0]),
            content: Content::Curves(curves),
        },
    ))
}

/// Draws what is left of a score over the distance, scheme by scheme.
pub(super) fn distance_decay(entry: &Entry, _: &Settings) -> Result<Figure> {
    let distances = by_equal_factors();
    let x: Vec<f64> = distances.iter().map(|d| f64::from(*d)).collect();
    let sinusoidal = Sinusoidal::paper(512)?;
    let dot = |distance| sinusoidal.similarity(Similarity::Dot, 0, distance);
    let whole = dot(0)?;
    let sums = distances.iter().map(|d| Ok(dot(*d)? / whole));
    let mut curves = vec![curve(
        "sinusoidal, Transformer-XL, d 512",
        &x,
        sums.collect::<pe_core::Result<_>>()?,
    )];
    for base in [10_000.0, 500_000.0] {
        let rotary = Rotary::new(RotaryConfig {
            base,
            ..RotaryConfig::new(128)
        })?;
        let cos = rotary
            .frequencies(0)?
            .tables::<f64>(0..u64::from(FARTHEST) + 1)?
            .cos;
        let mean = |distance: &u32| {
            let row = cos.row(*distance as usize).unwrap_or_default();
            row.iter().sum::<f64>() / row.len().max(1) as f64
        };
        let name = format!("rotary, base {}", thousands(base as u64));
        curves.push(curve(name, &x, distances.iter().map(mean).collect()));
    }
    // Queries at the distance, and a key at 0, which is the center.
    let xpos = Xpos::new(XposConfig::new(128))?
        .query_tables_at::<f64>(&distances)?
        .cos;
    let means = xpos
        .iter_rows()
        .map(|row| row.iter().sum::<f64>() / row.len() as f64);
    curves.push(curve("xPos, base 10,000", &x, means.collect()));
    let slopes = AlibiSlopes::new(AlibiConfig::new(8))?.values::<f64>();
    for head in [1, 4, 8] {
        let decay = powers(slopes[head - 1], FARTHEST as usize);
        let y = distances.iter().map(|d| decay[*d as usize]).collect();
        curves.push(curve(format!("ALiBi, head {head} of 8"), &x, y));
    }
    let facts = curves
        .iter()
        .map(|curve| {
            let half = curve.x.iter().zip(&curve.y).find(|(_, y)| **y < 0.5);
            let place = half.map_or(f64::INFINITY, |(x, _)| *x);
            Fact::new(format!("{}: below one half from", curve.name), place)
        })
        .filter(|fact| fact.value.is_finite())
        .collect();
    curves.push(Curve {
        name: "zero".to_owned(),
        x: vec![1.0, f64::from(FARTHEST)],
        y: vec![0.0; 2],
        mark: Mark::Guide,
    });
    Ok(one_panel(
        entry,
        "sinusoidal, Transformer-XL: dot product of two rows; rotary, xPos: dot product of a vector of ones with \
         itself; ALiBi: factor of the weight, e^bias"
            .to_owned(),
        facts,
        Panel {
            title: None,
            x: Axis::logarithmic(DISTANCE, (1.0, f64::from(FARTHEST))),
            y: Axis::linear("share of the value at distance 0", (-0.2, 1.05))
                .with_ticks([0.0, 0.25, 0.5, 0.75, 1.0]),
            content: Content::Curves(curves),
        },
    ))
}

/// Returns distances from 1 on, equally far apart on a logarithmic axis where there are enough.
fn by_equal_factors() -> Vec<u32> {
    let mut distances = vec![1u32];
    let mut next = 1.0f64;
    while let Some(last) = distances.last().copied().filter(|last| *last < FARTHEST) {
        next = (next * 1.02).max(f64::from(last) + 1.0);
        distances.push((next as u32).min(FARTHEST));
    }
    distances
}

/// Returns `e^(-slope k)` for `k` up to a number.
fn powers(slope: f64, most: usize) -> Vec<f64> {
    // The series converges at once: slopes are at most one half.
    let mut term = 1.0;
    let series = (1..24).map(|n| {
        term *= -slope / f64::from(n);
        term
    });
    let factor = 1.0 + series.sum::<f64>();
    let mut power = 1.0;
    let mut powers = vec![1.0];
    powers.extend((0..most).map(|_| {
        power *= factor;
        power
    }));
    powers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_ascend_to_the_farthest() {
        let distances = by_equal_factors();
        assert!(distances.is_sorted_by(|a, b| a < b));
        assert_eq!(distances.last(), Some(&FARTHEST));
    }

    #[test]
    fn powers_are_those_of_e() {
        let powers = powers(0.5, 8);
        assert!((powers[2] - 0.367_879_441_171_442_3).abs() < 1e-15);
        assert!((powers[8] - 0.018_315_638_888_734_18).abs() < 1e-16);
    }
}
