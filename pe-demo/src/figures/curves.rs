//! Columns and rows of the table as curves.

use anyhow::{Result, bail};
use pe_core::Preset;

use super::entry::Entry;
use super::source::{FINER, MOST_POINTS, PAIR, POSITION, Settings, Source, sampled};
use crate::chart::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape, label};
use crate::terminal::outcome::BadUsage;

fn values() -> Axis {
    Axis::linear("encoding", (-1.08, 1.08)).with_ticks([-1.0, -0.5, 0.0, 0.5, 1.0])
}

/// Draws the sines of four positions over the first hundred pairs. Each slows down to the right.
pub(super) fn sinusoids(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 512, 13)?;
    let pairs = sampled(source.encoding.pairs().min(100), MOST_POINTS);
    let last = pairs.len() - 1;
    let finer = source.finer();
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
        let name = format!("k = {position}");
        let mut curves = vec![Curve {
            name: name.clone(),
            x: pairs.iter().map(|pair| *pair as f64).collect(),
            y: sines,
            mark: if finer.is_some() {
                Mark::Hidden
            } else {
                Mark::Line
            },
        }];
        if let Some(finer) = &finer {
            let count = last * FINER as usize + 1;
            let columns: Vec<usize> = (0..count).map(|pair| finer.columns_of(pair).0).collect();
            curves.push(Curve {
                name: between(&name, "pairs"),
                x: (0..count).map(|k| k as f64 / FINER as f64).collect(),
                y: finer.entries(&[*position], &columns)?,
                mark: Mark::Through(0),
            });
        }
        panels.push(Panel {
            title: Some(name),
            x: Axis::linear(PAIR, (0.0, last.max(1) as f64)),
            y: values(),
            content: Content::Curves(curves),
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
            content: Content::Curves(column_curves(&source, &[column], |_| name.clone())?),
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
    let named = |column| format!("column {column}, a {}", source.at(column).1);
    let curves = column_curves(&source, &[4, 5, 6, 7], named)?;
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

/// Builds the curves of columns, then the lines through their points.
fn column_curves(
    source: &Source,
    columns: &[usize],
    name: impl Fn(usize) -> String,
) -> Result<Vec<Curve>> {
    let positions = source.positions(MOST_POINTS);
    let places = source.between();
    let mark = match (positions.len() <= 64, places.is_empty()) {
        (true, false) => Mark::Dots,
        (false, false) => Mark::Hidden,
        (true, true) => Mark::Dotted,
        (false, true) => Mark::Line,
    };
    let mut curves = Vec::new();
    for column in columns {
        curves.push(Curve {
            name: name(*column),
            x: positions.iter().map(|p| f64::from(*p)).collect(),
            y: source.entries(&positions, &[*column])?,
            mark,
        });
    }
    if !places.is_empty() {
        let mut lines: Vec<Vec<f64>> = vec![Vec::new(); columns.len()];
        for place in &places {
            let table = source.encoding.table_at_reals::<f64>(&[*place])?;
            let row = table.row(0).unwrap_or_default();
            for (line, column) in lines.iter_mut().zip(columns) {
                line.push(row.get(*column).copied().unwrap_or_default());
            }
        }
        for (index, y) in lines.into_iter().enumerate() {
            curves.push(Curve {
                name: between(&curves[index].name, "positions"),
                x: places.clone(),
                y,
                mark: Mark::Through(index),
            });
        }
    }
    Ok(curves)
}

/// Names the line through the points of a curve.
pub(super) fn between(name: &str, what: &str) -> String {
    format!("{name}, between {what}")
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
