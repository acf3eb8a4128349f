//! Columns and rows of the table as curves.

use anyhow::{Result, bail};
use pe_core::Preset;

use super::entry::Entry;
use super::source::{MOST_POINTS, sampled};
use super::source::{PAIR, POSITION, Settings, Source};
use crate::chart::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape, label};
use crate::terminal::outcome::BadUsage;

fn values() -> Axis {
    Axis::linear("encoding", (-1.08, 1.08)).with_ticks([-1.0, -0.5, 0.0, 0.5, 1.0])
}

/// Draws the sines of four positions over the first hundred pairs. Each slows down to the right.
pub(super) fn sinusoids(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 512, 13)?;
    let pairs = sampled(source.encoding.pairs().min(100), MOST_POINTS);
    let columns: Vec<usize> = pairs
        .iter()
        .map(|pair| source.columns_of(*pair).0)
        .collect();
    let first = source.first() as u32;
    let positions: Vec<u32> = (0..4)
        .map(|k| first + 4 * k)
        .filter(|position| u64::from(*position) <= source.last())
        .collect();
    let mut panels = Vec::new();
    let mut facts = Vec::new();
    for position in &positions {
        let sines = source.entries(&[*position], &columns)?;
        facts.push(Fact::new(
            format!("sine of pair 0, k = {position}"),
            sines[0],
        ));
        panels.push(Panel {
            title: Some(format!("k = {position}")),
            x: Axis::linear(PAIR, (0.0, (pairs.len() - 1).max(1) as f64)),
            y: values(),
            content: Content::Curves(vec![Curve {
                name: format!("k = {position}"),
                x: pairs.iter().map(|pair| *pair as f64).collect(),
                y: sines,
                mark: Mark::Line,
            }]),
        });
    }
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "sin(k \u{b7} rate) over the pairs, d_model {}, base {}, {}",
            source.d_model(),
            label(source.encoding.config().base.value()),
            source.convention()
        ),
        facts,
        panels,
        shape: Shape {
            width: 860,
            columns: 2,
            aspect: 0.5,
        },
    })
}

/// Draws neighboring columns over a few positions.
pub(super) fn dimension_pairs(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 500, 32)?;
    let waves = source.encoding.wavelengths();
    let mut panels = Vec::new();
    let mut facts = Vec::new();
    for column in [7, 8, 15, 16, 23, 24, 31, 32] {
        check(entry, &source, 33)?;
        let name = format!("column {column}");
        let (pair, kind) = source.at(column);
        panels.push(Panel {
            title: Some(format!("{name}, a {kind}")),
            x: Axis::linear(POSITION, ends(&source)),
            y: values(),
            content: Content::Curves(vec![column_curve(&source, column, name)?]),
        });
        if kind == "sine" {
            facts.push(Fact::new(
                format!("wavelength of column {column}, in positions"),
                waves[pair],
            ));
        }
    }
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: source.describe(MOST_POINTS, u64::MAX),
        facts,
        panels,
        shape: Shape {
            width: 860,
            columns: 2,
            aspect: 0.42,
        },
    })
}

/// Draws four columns over a hundred positions, with a legend.
pub(super) fn dimensions(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 20, 100)?;
    check(entry, &source, 8)?;
    let waves = source.encoding.wavelengths();
    let curves = (4..8)
        .map(|column| {
            column_curve(
                &source,
                column,
                format!("column {column}, a {}", source.at(column).1),
            )
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: source.describe(MOST_POINTS, u64::MAX),
        facts: (4..8)
            .collect::<Vec<usize>>()
            .chunk_by(|a, b| source.at(*a).0 == source.at(*b).0)
            .map(|columns| {
                let what = match columns {
                    [a, b] => format!("columns {a} and {b}"),
                    _ => format!("column {}", columns[0]),
                };
                Fact::new(
                    format!("wavelength of {what}"),
                    waves[source.at(columns[0]).0],
                )
            })
            .collect(),
        panels: vec![Panel {
            title: None,
            x: Axis::linear(POSITION, ends(&source)),
            y: values(),
            content: Content::Curves(curves),
        }],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.46,
        },
    })
}

fn column_curve(source: &Source, column: usize, name: String) -> Result<Curve> {
    let positions = source.positions(MOST_POINTS);
    let y = source.entries(&positions, &[column])?;
    Ok(Curve {
        name,
        x: positions.iter().map(|p| f64::from(*p)).collect(),
        y,
        mark: if positions.len() <= 64 {
            Mark::Dotted
        } else {
            Mark::Line
        },
    })
}

fn ends(source: &Source) -> (f64, f64) {
    let first = source.first() as f64;
    (first, (source.last() as f64).max(first + 1.0))
}

fn check(entry: &Entry, source: &Source, columns: usize) -> Result<()> {
    if source.d_model() < columns {
        bail!(BadUsage(format!(
            "--d-model {} is too narrow for {}, which shows column {}",
            source.d_model(),
            entry.name,
            columns - 1
        )));
    }
    Ok(())
}
