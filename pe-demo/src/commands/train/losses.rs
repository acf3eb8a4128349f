//! The loss of every step, as numbers and as a figure.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::session::Trained;
use crate::chart::{self, Axis, Content, Curve, Figure, Mark, Panel, Shape};
use crate::sources::file;
use crate::sources::write::write as write_file;
use crate::terminal::width::clean_path;

/// Points of a curve, at most: each is the mean of as many steps.
const POINTS: usize = 250;

/// The names of the two files.
const FILES: [&str; 2] = ["losses.csv", "losses.svg"];

/// The title of the figure.
const TITLE: &str = "Learning who does it, with and without positions";

/// Writes `losses.csv`, a column for each scheme, and `losses.svg`.
pub(super) fn write(directory: &Path, trained: &[Trained]) -> Result<[PathBuf; 2]> {
    let [table, picture] = FILES.map(|name| directory.join(name));
    write_file(&table, csv(trained).as_bytes())?;
    write_file(&picture, &chart::svg(&figure(trained))?.bytes)?;
    Ok([table, picture])
}

/// Checks that neither file exists, unless a training run wrote it.
pub(super) fn check_replaceable(directory: &Path) -> Result<()> {
    let table = |start: &str| start.starts_with("step,");
    let picture = |start: &str| start.starts_with("<svg") && start.contains(TITLE);
    let ours: [&dyn Fn(&str) -> bool; 2] = [&table, &picture];
    for (name, ours) in FILES.into_iter().zip(ours) {
        let path = directory.join(name);
        if path.exists() {
            let start = file::start(&path, 1024).with_context(|| clean_path(&path))?;
            ensure!(
                ours(&String::from_utf8_lossy(&start)),
                "{}: not written by pe-demo train",
                clean_path(&path)
            );
        }
    }
    Ok(())
}

fn csv(trained: &[Trained]) -> String {
    let mut text = String::from("step");
    for one in trained {
        text = text + "," + one.scheme.name();
    }
    text.push('\n');
    for step in 0..steps(trained) {
        text += &(step + 1).to_string();
        for one in trained {
            text.push(',');
            if let Some(loss) = one.losses.get(step) {
                text += &loss.to_string();
            }
        }
        text.push('\n');
    }
    text
}

fn figure(trained: &[Trained]) -> Figure {
    let steps = steps(trained);
    let window = steps.div_ceil(POINTS).max(1);
    let mut curves: Vec<Curve> = trained
        .iter()
        .map(|one| {
            let parts = one.losses.chunks(window).enumerate();
            let (x, y) = parts
                .map(|(index, part)| {
                    let sum: f64 = part.iter().copied().map(f64::from).sum();
                    let middle = (index * window) as f64 + (part.len() + 1) as f64 / 2.0;
                    (middle, sum / part.len() as f64)
                })
                .unzip();
            Curve {
                name: one.scheme.name().to_owned(),
                x,
                y,
                mark: Mark::Line,
            }
        })
        .collect();
    let highest = curves.iter().flat_map(|curve| &curve.y).copied();
    let highest = highest.fold(GUESS, f64::max);
    let last = steps.max(2) as f64;
    curves.push(Curve {
        name: "guessing between two names, ln 2".to_owned(),
        x: vec![1.0, last],
        y: vec![GUESS; 2],
        mark: Mark::Guide,
    });
    Figure {
        name: "losses",
        title: TITLE.to_owned(),
        note: match window {
            1 => "cross entropy of each step".to_owned(),
            _ => format!("cross entropy, mean of {window} steps"),
        },
        facts: Vec::new(),
        panels: vec![Panel {
            title: None,
            x: Axis::linear("step", (1.0, last)),
            y: Axis::linear("loss in nats", (0.0, 1.05 * highest)),
            content: Content::Curves(curves),
        }],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.5,
        },
    }
}

const GUESS: f64 = std::f64::consts::LN_2;

fn steps(trained: &[Trained]) -> usize {
    let steps = trained.iter().map(|one| one.losses.len());
    steps.max().unwrap_or(0)
}
