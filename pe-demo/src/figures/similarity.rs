//! Similarity of positions.

use anyhow::Result;
use pe_core::{Preset, Similarity};

use super::curves::between;
use super::entry::Entry;
use super::source::{MOST_POINTS, POSITION, Settings, Source, extent};
use crate::chart::{self, Axis, Colors, Content, Curve, Fact, Figure, Map, Mark, Panel, Shape};
use crate::terminal::numbers::thousands;

/// The position that the others are compared with.
const REFERENCE: u64 = 20;

/// Compares all positions with one by the dot product.
pub(super) fn dot_product(entry: &Entry, settings: &Settings) -> Result<Figure> {
    against_one(entry, settings, "dot product", Similarity::Dot)
}

/// Compares all positions with one by the sum of squared differences.
pub(super) fn sse(entry: &Entry, settings: &Settings) -> Result<Figure> {
    against_one(
        entry,
        settings,
        "sum of squared differences",
        Similarity::Sse,
    )
}

fn against_one(entry: &Entry, settings: &Settings, what: &str, of: Similarity) -> Result<Figure> {
    let source = Source::new(settings, Preset::TfNotebook, 512, 50)?;
    // The document's position, or the middle of a table that does not have it.
    let reference = match source.first() + REFERENCE {
        position if position <= source.last() => position,
        _ => source.first() + source.rows() / 2,
    } as u32;
    let mut positions = source.positions(MOST_POINTS);
    let mut note = source.describe(MOST_POINTS, u64::MAX);
    if let Err(at) = positions.binary_search(&reference) {
        positions.insert(at, reference);
        note += &format!("; position {} shown, too", thousands(u64::from(reference)));
    }
    let values = positions
        .iter()
        .map(|position| source.encoding.similarity(of, reference, *position))
        .collect::<pe_core::Result<Vec<f64>>>()?;
    let (low, high) = extent(&values, 0.0);
    let range = (low * 1.06, (high * 1.06).max(1e-300));
    let mut marked = vec![
        u64::from(reference),
        u64::from(reference).saturating_sub(1),
        source.first(),
        source.last(),
    ];
    marked.dedup();
    let facts = marked
        .into_iter()
        .map(|position| {
            let value = source.encoding.similarity(of, reference, position as u32)?;
            Ok(Fact::new(format!("{what} at {position}"), value))
        })
        .collect::<Result<Vec<_>>>()?;
    let (first, last) = (positions[0], positions[positions.len() - 1]);
    let (first, last) = (f64::from(first), f64::from(last));
    let x = positions.iter().map(|p| f64::from(*p)).collect();
    let curves = curves(&source, (what, of), reference, (x, values), range)?;
    Ok(Figure {
        name: entry.name,
        title: entry.title_with(reference),
        note,
        facts,
        panels: vec![Panel {
            title: None,
            x: Axis::linear(POSITION, (first, last.max(first + 1.0))),
            y: Axis::linear(what, range),
            content: Content::Curves(curves),
        }],
        shape: Shape {
            width: 760,
            columns: 1,
            aspect: 0.56,
        },
    })
}

/// Returns the curve of the values, the line of the position, and the curve between whole positions where these are few.
fn curves(
    source: &Source,
    (what, of): (&str, Similarity),
    reference: u32,
    (x, values): (Vec<f64>, Vec<f64>),
    (low, high): (f64, f64),
) -> Result<Vec<Curve>> {
    let at = f64::from(reference);
    let places = source.between();
    let mark = match (x.len() <= 128, places.is_empty()) {
        (true, false) => Mark::Dots,
        (false, false) => Mark::Hidden,
        (true, true) => Mark::Dotted,
        (false, true) => Mark::Line,
    };
    let mut curves = vec![
        Curve {
            name: what.to_owned(),
            x,
            y: values,
            mark,
        },
        Curve {
            name: format!("position {reference}"),
            x: vec![at, at],
            y: vec![high, low],
            mark: Mark::Level,
        },
    ];
    if !places.is_empty() {
        let y = places.iter().map(|place| smooth(source, of, place - at));
        curves.push(Curve {
            name: between(what, "positions"),
            y: y.collect::<Result<Vec<f64>>>()?,
            x: places,
            mark: Mark::Through(0),
        });
    }
    Ok(curves)
}

/// Compares two places that are `lag` apart, whole or not: a dot product of rows is the sum of the cosines of
/// the pairs' angles at that distance.
fn smooth(source: &Source, of: Similarity, lag: f64) -> Result<f64> {
    let table = source.encoding.table_at_reals::<f64>(&[lag.abs()])?;
    let row = table.row(0).unwrap_or_default();
    let pairs = 0..source.encoding.pairs();
    let dot: f64 = pairs.map(|pair| row[source.columns_of(pair).1]).sum();
    Ok(match of {
        Similarity::Sse => (source.d_model() as f64 - 2.0 * dot).max(0.0),
        _ => dot,
    })
}

/// Maps the distances between any two of the first positions.
pub(super) fn distances(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 500, 64)?;
    let shape = Shape {
        width: 620,
        columns: 1,
        aspect: 1.0,
    };
    let (across, down) = shape.cells();
    let most = across.min(down);
    let positions = source.positions(most);
    // Whole pairs: the lag decides.
    let by_lag = positions
        .iter()
        .map(|position| {
            let first = positions[0];
            source
                .encoding
                .similarity(Similarity::Distance, first, *position)
        })
        .collect::<pe_core::Result<Vec<f64>>>()?;
    let count = positions.len();
    let mut values = Vec::with_capacity(count * count);
    for row in 0..count {
        values.extend((0..count).map(|column| by_lag[row.abs_diff(column)]));
    }
    let farthest = by_lag.iter().copied().fold(0.0, f64::max).max(1e-300);
    let coordinates: Vec<f64> = positions.iter().map(|p| f64::from(*p)).collect();
    let first = positions[0];
    let mut facts = Vec::new();
    for lag in [1, 10, 63] {
        if lag < source.rows() {
            let value =
                source
                    .encoding
                    .similarity(Similarity::Distance, first, first + lag as u32)?;
            facts.push(Fact::new(
                format!("distance from {first} to {}", u64::from(first) + lag),
                value,
            ));
        }
    }
    if let Some(lag) = source.encoding.first_non_monotone_lag(1000)? {
        facts.push(Fact::new("first lag after which it shrinks", lag as f64));
    }
    let map = Map {
        label: "Euclidean distance".to_owned(),
        columns: coordinates.clone(),
        rows: coordinates.clone(),
        values,
        colors: Colors::Sequential,
        range: (0.0, farthest),
        ticks: chart::ticks((0.0, farthest), 5),
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: source.describe(most, u64::MAX),
        facts,
        panels: vec![Panel {
            title: None,
            x: Axis::of_cells(POSITION, &coordinates),
            y: Axis::of_cells(POSITION, &coordinates),
            content: Content::Map(map),
        }],
        shape,
    })
}
