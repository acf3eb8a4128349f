//! The tables and figures next to the weights.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::results::Results;
use super::session::Trained;
use super::{accuracies, losses};
use crate::chart;
use crate::encoder::trained::task::Task;
use crate::sources::file;
use crate::sources::write::write as write_file;
use crate::terminal::width::clean_path;

/// Writes the losses of every step and, of finished trainings, the accuracies: a table of all, and a
/// figure for each task.
pub(super) fn write(
    directory: &Path,
    trained: &[Trained],
    results: &Results,
) -> Result<Vec<PathBuf>> {
    let schemes = results.schemes();
    let seeds = results.seeds().count() as u64;
    let mut contents = vec![(LOSSES.to_owned(), losses::csv(trained).into_bytes())];
    for task in results.tasks() {
        let figure = losses::figure(trained, task, &schemes, seeds);
        contents.push((figure_of(LOSSES, task), chart::svg(&figure)?.bytes));
    }
    if results.finished() {
        contents.push((ACCURACIES.to_owned(), accuracies::csv(results).into_bytes()));
        for task in results.tasks() {
            let figure = accuracies::figure(results, task);
            contents.push((figure_of(ACCURACIES, task), chart::svg(&figure)?.bytes));
        }
    }
    let mut written = Vec::new();
    for (name, bytes) in contents {
        let path = directory.join(name);
        write_file(&path, &bytes)?;
        written.push(path);
    }
    Ok(written)
}

/// The names of the tables.
const LOSSES: &str = "losses.csv";
const ACCURACIES: &str = "accuracies.csv";

/// Returns the name of a table's figure for a task.
fn figure_of(table: &str, task: Task) -> String {
    table.replace(".csv", &format!("-{}.svg", task.name()))
}

/// Checks that none of the files exists, unless a training run wrote it.
pub(super) fn check_replaceable(directory: &Path) -> Result<()> {
    for (table, first, title) in [
        (LOSSES, losses::FIRST, losses::TITLE),
        (ACCURACIES, accuracies::HEADER, accuracies::TITLE),
    ] {
        check(directory.join(table), |start| start.starts_with(first))?;
        for task in Task::ALL {
            let ours = |start: &str| start.starts_with("<svg") && start.contains(title);
            check(directory.join(figure_of(table, task)), ours)?;
        }
    }
    Ok(())
}

fn check(path: PathBuf, ours: impl Fn(&str) -> bool) -> Result<()> {
    if path.exists() {
        let start = file::start(&path, 1024).with_context(|| clean_path(&path))?;
        ensure!(
            ours(&String::from_utf8_lossy(&start)),
            "{}: not written by pe-demo train",
            clean_path(&path)
        );
    }
    Ok(())
}
