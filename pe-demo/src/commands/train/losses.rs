//! The loss of every step, as numbers and as a figure.

use super::session::Trained;
use crate::chart::{Axis, Content, Curve, Figure, Mark, Panel, Shape};
use crate::encoder::Scheme;
use crate::encoder::trained::task::Task;

/// Points of a curve, at most: each is the mean of as many steps.
const POINTS: usize = 250;

/// The title of the figure.
pub(super) const TITLE: &str = "Learning with and without positions";

/// The first column of the table.
pub(super) const FIRST: &str = "step,";

/// A guess between the two people of a sentence, in nats.
const GUESS: f64 = std::f64::consts::LN_2;

/// Returns a table with a column for each training.
pub(super) fn csv(trained: &[Trained]) -> String {
    let names: Vec<String> = trained.iter().map(|one| one.job.to_string()).collect();
    let mut text = format!("{FIRST}{}\n", names.join(","));
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

/// Returns the mean of the trainings of a task and scheme at each step, as far as all of them came.
pub(super) fn mean(trained: &[Trained], task: Task, scheme: Scheme) -> Vec<f32> {
    let same = |one: &&Trained| (one.job.task, one.job.scheme) == (task, scheme);
    let losses: Vec<&[f32]> = trained
        .iter()
        .filter(same)
        .map(|one| one.losses.as_slice())
        .collect();
    let steps = losses.iter().map(|losses| losses.len()).min().unwrap_or(0);
    let at = |step: usize| {
        let sum: f64 = losses.iter().map(|losses| f64::from(losses[step])).sum();
        (sum / losses.len() as f64) as f32
    };
    (0..steps).map(at).collect()
}

/// Draws a curve for each scheme of a task, the mean of its seeds.
pub(super) fn figure(trained: &[Trained], task: Task, schemes: &[Scheme], seeds: u64) -> Figure {
    let steps = steps(trained);
    let window = steps.div_ceil(POINTS).max(1);
    let last = steps.max(2) as f64;
    let panel = || {
        let curve = |scheme: &Scheme| {
            let losses = mean(trained, task, *scheme);
            let parts = losses.chunks(window).enumerate();
            let (x, y) = parts
                .map(|(index, part)| {
                    let sum: f64 = part.iter().copied().map(f64::from).sum();
                    let middle = (index * window) as f64 + (part.len() + 1) as f64 / 2.0;
                    (middle, sum / part.len() as f64)
                })
                .unzip();
            Curve {
                name: scheme.name().to_owned(),
                x,
                y,
                mark: Mark::Line,
            }
        };
        let mut curves: Vec<Curve> = schemes.iter().map(curve).collect();
        let highest = curves.iter().flat_map(|curve| &curve.y).copied();
        let highest = highest.fold(GUESS, f64::max);
        curves.push(Curve {
            name: "guessing between two names, ln 2".to_owned(),
            x: vec![1.0, last],
            y: vec![GUESS; 2],
            mark: Mark::Guide,
        });
        Panel {
            title: None,
            x: Axis::linear("step", (1.0, last)),
            y: Axis::linear("loss in nats", (0.0, 1.05 * highest)),
            content: Content::Curves(curves),
        }
    };
    let mean = match (window, seeds) {
        (1, 1) => "of each step".to_owned(),
        (1, _) => format!("of each step, mean of {seeds} seeds"),
        (_, 1) => format!("mean of {window} steps"),
        _ => format!("mean of {window} steps and {seeds} seeds"),
    };
    Figure {
        name: "losses",
        title: format!("{TITLE}: {}", task.name()),
        note: format!("cross entropy, {mean}"),
        facts: Vec::new(),
        panels: vec![panel()],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.5,
        },
    }
}

fn steps(trained: &[Trained]) -> usize {
    let steps = trained.iter().map(|one| one.losses.len());
    steps.max().unwrap_or(0)
}
