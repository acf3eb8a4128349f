//! Biases of attention by distance, and the decay of every scheme.

use anyhow::Result;
use pe_core::{
    AlibiConfig, AlibiSlopes, Base, BucketDirection, RopeScaling, RotaryConfig, Similarity,
    Sinusoidal, SinusoidalConfig, T5Buckets, T5BucketsConfig, Xpos, XposConfig,
};

use super::entry::Entry;
use super::source::Settings;
use crate::chart::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape};
use crate::terminal::numbers::short;

const DISTANCE: &str = "distance of query and key";

/// Distances of the figure of all schemes: the farthest, and the last with fractions, in steps of 1 / `PER_STEP`.
const FARTHEST: u32 = 4096;
const NEAR: u32 = 32;
const PER_STEP: f64 = 8.0;

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
        format!("\u{2212}slope \u{b7} distance, {HEADS} heads, bias_max 8"),
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
        curves.push(Curve {
            mark: Mark::Steps,
            ..curve(name, &places, x.iter().map(of).collect())
        });
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
    let distances = Distances::new();
    let x = distances.x();
    let mut curves = Vec::new();
    // The cosines of the pairs' angles, summed: the same for both schemes.
    for (name, width, base) in [
        ("sinusoidal, Transformer-XL, d 512", 512, 10_000.0),
        ("rotary, base 10,000", 128, 10_000.0),
        ("rotary, base 500,000", 128, 500_000.0),
    ] {
        let encoding = Sinusoidal::new(SinusoidalConfig {
            base: Base::Value(base),
            ..SinusoidalConfig::new(width)
        })?;
        let whole = encoding.pairs() as f64;
        let near = encoding.table_at_reals::<f64>(&distances.near)?;
        let near = near
            .iter_rows()
            .map(|row| row.iter().skip(1).step_by(2).sum::<f64>() / whole);
        let far = encoding.similarity_to(Similarity::Dot, 0, 0..u64::from(FARTHEST) + 1)?;
        let y = near.chain(distances.means(|distance| far[distance as usize] / whole));
        curves.push(curve(name, &x, y.collect()));
    }
    let (near, far) = (xpos_decay(PER_STEP, NEAR)?, xpos_decay(1.0, FARTHEST)?);
    let near = distances.near.iter().map(|d| near[(d * PER_STEP) as usize]);
    let y = near.chain(distances.means(|distance| far[distance as usize]));
    curves.push(curve("xPos, base 10,000", &x, y.collect()));
    let slopes = AlibiSlopes::new(AlibiConfig::new(8))?.values::<f64>();
    for head in [1, 4, 8] {
        let slope = slopes[head - 1];
        let near = powers(slope / PER_STEP, (f64::from(NEAR) * PER_STEP) as usize);
        let near = distances.near.iter().map(|d| near[(d * PER_STEP) as usize]);
        let far = powers(slope, FARTHEST as usize);
        let y = near.chain(distances.means(|distance| far[distance as usize]));
        curves.push(curve(format!("ALiBi, head {head} of 8"), &x, y.collect()));
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
        name: "nothing left".to_owned(),
        x: vec![1.0, f64::from(FARTHEST)],
        y: vec![0.0; 2],
        mark: Mark::Level,
    });
    Ok(one_panel(
        entry,
        "sinusoidal, Transformer-XL: dot product of two rows; rotary, xPos: dot product of a vector \
         of ones with itself; ALiBi: factor of the weight, e^bias; beyond distance 32, means over an eighth of it"
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

/// The distances of a curve on a logarithmic axis: near ones with fractions, so that it is smooth, and far ones in
/// overlapping groups, because fast pairs turn more often there than there is room for.
struct Distances {
    near: Vec<f64>,
    /// The first distance of each group, and the one after its last.
    far: Vec<(u32, u32)>,
}

impl Distances {
    fn new() -> Self {
        let steps = PER_STEP as u32;
        let near = (steps..=NEAR * steps).map(|step| f64::from(step) / PER_STEP);
        let mut far = Vec::new();
        let mut start = NEAR + 1;
        while start <= FARTHEST {
            far.push((start, (start + start / 8).min(FARTHEST + 1)));
            start += start / 16;
        }
        Self {
            near: near.collect(),
            far,
        }
    }

    /// Returns the near distances and the middles of the groups.
    fn x(&self) -> Vec<f64> {
        let middles = self
            .far
            .iter()
            .map(|(start, end)| f64::from(start + end - 1) / 2.0);
        self.near.iter().copied().chain(middles).collect()
    }

    /// Returns the mean of a quantity over each group.
    fn means(&self, of: impl Fn(u32) -> f64) -> impl Iterator<Item = f64> {
        self.far
            .iter()
            .map(move |(start, end)| (*start..*end).map(&of).sum::<f64>() / f64::from(end - start))
    }
}

/// Returns the mean of xPos' cosines and decays over the pairs, for distances up to `farthest` in steps of `1 / per_step`.
fn xpos_decay(per_step: f64, farthest: u32) -> Result<Vec<f64>> {
    // Queries at the distance, and a key at 0, which is the center.
    let usual = XposConfig::new(128);
    let xpos = Xpos::new(XposConfig {
        rotary: RotaryConfig {
            scaling: RopeScaling::Linear { factor: per_step },
            ..usual.rotary
        },
        scale_base: usual.scale_base * per_step,
        ..usual
    })?;
    let steps = f64::from(farthest) * per_step;
    let rows = xpos.query_tables::<f64>(0..steps as u64 + 1)?.cos;
    let mean = |row: &[f64]| row.iter().sum::<f64>() / row.len() as f64;
    Ok(rows.iter_rows().map(mean).collect())
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
        let distances = Distances::new();
        assert!(distances.x().is_sorted_by(|a, b| a < b));
        assert_eq!((distances.near[0], distances.far[0].0), (1.0, NEAR + 1));
        assert_eq!(distances.far.last().unwrap().1, FARTHEST + 1);
        assert_eq!(distances.means(|_| 2.0).last(), Some(2.0));
    }

    #[test]
    fn powers_are_those_of_e() {
        let powers = powers(0.5, 8);
        assert!((powers[2] - 0.367_879_441_171_442_3).abs() < 1e-15);
        assert!((powers[8] - 0.018_315_638_888_734_18).abs() < 1e-16);
    }
}
