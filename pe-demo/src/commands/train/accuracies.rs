//! The accuracy at every length, as numbers and as a figure.

use super::results::{Results, Row};
use crate::chart::{Axis, Content, Curve, Figure, Mark, Panel, Shape};
use crate::encoder::trained::task::Task;

/// The title of the figure.
pub(super) const TITLE: &str = "Accuracy against length";

/// The names of the columns of the table.
pub(super) const HEADER: &str = "task,scheme,scaling,seed,tokens,right,other,nobody\n";

/// Returns a table with a line for each test of each training.
pub(super) fn csv(results: &Results) -> String {
    let mut text = HEADER.to_owned();
    for row in results.rows() {
        for (run, seed) in row.runs.iter().zip(results.seeds()) {
            for (shares, len) in run.iter().zip(results.lengths()) {
                let (task, scheme, scaling) = (row.task.name(), row.scheme.name(), row.scaling());
                text += &format!("{task},{scheme},{scaling},{seed},{len}");
                text += &match shares {
                    Some(shares) => {
                        format!(",{},{},{}\n", shares.right, shares.other, shares.nobody)
                    }
                    None => ",,,\n".to_owned(),
                };
            }
        }
    }
    text
}

/// Draws a curve for each scheme of a task: the mean of its seeds, and their range as upright lines.
pub(super) fn figure(results: &Results, task: Task) -> Figure {
    let runs = results.seeds().count();
    Figure {
        name: "accuracies",
        title: format!("{TITLE}: {}", task.name()),
        note: match runs {
            1 => "share of right answers".to_owned(),
            _ => {
                format!("share of right answers, mean of {runs} seeds; upright lines: their range")
            }
        },
        facts: Vec::new(),
        panels: vec![panel(results, task)],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.5,
        },
    }
}

fn panel(results: &Results, task: Task) -> Panel {
    let lengths: Vec<f64> = results.lengths().iter().map(|len| *len as f64).collect();
    let (first, last) = match lengths.as_slice() {
        [one] => (one - 1.0, one + 1.0),
        [first, .., last] => (*first, *last),
        [] => (0.0, 1.0),
    };
    // Upright lines of several schemes at one length stand next to each other.
    let margin = (last - first) / 40.0;
    let rows: Vec<&Row> = results.rows().filter(|row| row.task == task).collect();
    let mut curves: Vec<Curve> = rows.iter().map(|row| curve(row, &lengths)).collect();
    for (at, row) in rows.iter().enumerate() {
        let aside = margin * (at as f64 / rows.len().max(1) as f64 - 0.5);
        for (spread, len) in row.spread.iter().zip(&lengths) {
            if let Some(spread) = spread.filter(|spread| spread.most > spread.least) {
                curves.push(Curve {
                    name: format!("{}, range", row.name()),
                    x: vec![len + aside; 2],
                    y: vec![spread.least, spread.most],
                    mark: Mark::Thin(at),
                });
            }
        }
    }
    curves.push(Curve {
        name: "a guess between the two people".to_owned(),
        x: vec![first - margin, last + margin],
        y: vec![results.chance(); 2],
        mark: Mark::Level,
    });
    curves.push(Curve {
        name: "trained length".to_owned(),
        x: vec![results.trained_length() as f64; 2],
        y: vec![0.0, 1.0],
        mark: Mark::Guide,
    });
    Panel {
        title: None,
        x: Axis::linear("tokens", (first - margin, last + margin)).with_ticks(lengths),
        y: Axis::linear("right answers", (0.0, 1.0)),
        content: Content::Curves(curves),
    }
}

fn curve(row: &Row, lengths: &[f64]) -> Curve {
    let points = row.spread.iter().zip(lengths);
    let points = points.filter_map(|(spread, len)| spread.map(|spread| (*len, spread.mean)));
    let (x, y) = points.unzip();
    Curve {
        name: row.name(),
        x,
        y,
        mark: Mark::Dotted,
    }
}
