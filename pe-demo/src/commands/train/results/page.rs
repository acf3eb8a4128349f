//! The results as text.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::findings::findings;
use super::{LAST, Results, Row, Training};
use crate::commands::train::chart::{self, Curve};
use crate::commands::train::sentences::{PEOPLE, SHORTEST};
use crate::commands::train::session::{LOOK, VALIDATION_PAIRS};
use crate::encoder::Scheme;
use crate::encoder::trained::task::Task;
use crate::terminal::log::Verbosity;
use crate::terminal::numbers::{percent, seconds, thousands};
use crate::terminal::page::Page;
use crate::terminal::width::{clean_path, pad_left};

/// The columns of the table of accuracies, at most. The figure shows all lengths.
const COLUMNS: usize = 3;

impl Results {
    /// Returns all of it as text. A quiet run shows the figures alone.
    pub(in crate::commands::train) fn page(&self, verbosity: Verbosity) -> Page {
        let mut page = Page::new();
        let quiet = verbosity == Verbosity::Quiet;
        if !quiet {
            self.introduction(&mut page);
        }
        for task in self.tasks() {
            if !quiet {
                example(&mut page, task);
            }
            if self.finished() {
                self.accuracies(&mut page, task, quiet);
            }
        }
        match self.finished() {
            true if quiet => {}
            true => self.scalings(&mut page),
            false => self.interruption(&mut page),
        }
        self.losses(&mut page, quiet);
        if quiet {
            return page;
        }
        for task in self.tasks() {
            self.curves(&mut page, task);
        }
        self.files(&mut page);
        page
    }

    fn introduction(&self, page: &mut Page) {
        let settings = &self.settings;
        page.line(format!(
            "{} {}: does a transformer need to be told where the words are?",
            self.program, self.version
        ));
        page.wrap(
            "",
            &format!(
                "d_model {}, {} layers of {} heads, pre-norm, dropout {}, {}; {} steps of {} \
                 sentences of {SHORTEST} to {} tokens",
                settings.d_model,
                settings.layers,
                settings.heads,
                settings.dropout,
                match settings.seeds {
                    1 => format!("seed {}", settings.seed),
                    _ => format!(
                        "seeds {} to {}",
                        settings.seed,
                        settings.seed + (settings.seeds - 1)
                    ),
                },
                settings.steps,
                settings.batch,
                settings.length
            ),
        );
        page.line("");
        page.paragraph(&format!(
            "The answer is one of {} people. Sentences come in twins with the same words, so that \
             only their places tell which of the two named is meant: guessing between them gives \
             50%. The pairs of people in the test are not in the training data.",
            PEOPLE.len()
        ));
    }

    fn interruption(&self, page: &mut Page) {
        page.heading("Interrupted");
        for (task, scheme, group) in self.groups() {
            let steps: u64 = group.iter().map(|one| one.steps).sum();
            page.line(format!(
                "  {:<28} {:>7} of {} steps done",
                format!("{}, {}", task.name(), scheme.name()),
                thousands(steps),
                thousands(self.settings.steps * group.len() as u64)
            ));
        }
        page.paragraph(
            "The best weights so far are kept. The same command with --resume goes on to the same \
             bits as if nothing had happened.",
        );
    }

    /// Returns the trainings of each task and scheme.
    fn groups(&self) -> impl Iterator<Item = (Task, Scheme, &[Training])> {
        let same = |a: &Training, b: &Training| (a.task, a.scheme) == (b.task, b.scheme);
        let groups = self.trainings.chunk_by(same);
        groups.filter_map(|group| Some((group.first()?.task, group.first()?.scheme, group)))
    }

    fn accuracies(&self, page: &mut Page, task: Task, quiet: bool) {
        let seeds = self.settings.seeds;
        page.heading(&format!(
            "{}: right answers to {} new sentences of each length{}",
            capital(task.name()),
            thousands(self.test_sentences as u64),
            if seeds == 1 { "" } else { " and seed" }
        ));
        let count = self.test_lengths.len();
        let shown: Vec<usize> = match count {
            0..=COLUMNS => (0..count).collect(),
            _ => vec![0, count / 2, count - 1],
        };
        let mut header = format!("  {:<20}", "scheme");
        for at in &shown {
            let len = self.test_lengths[*at];
            let times = len / self.settings.length;
            let title = match times {
                2.. if times * self.settings.length == len => format!("{len} ({times} x)"),
                _ => format!("{len} tokens"),
            };
            header += &pad_left(&title, 19);
        }
        page.line(header);
        for row in self.rows().filter(|row| row.task == task) {
            let mut text = format!("  {:<20}", row.name());
            for at in &shown {
                text += &pad_left(&cell(row, *at, seeds), 19);
            }
            page.line(text);
        }
        page.line(format!("  {:<20}{:>19}", "a guess", percent(self.chance)));
        if quiet {
            return;
        }
        for text in findings(self, task) {
            page.line("");
            page.paragraph(&text);
        }
    }

    /// Explains the columns of ranges and the rows of scaled frequencies.
    fn scalings(&self, page: &mut Page) {
        let mut text = String::new();
        if self.settings.seeds > 1 {
            text = format!(
                "Each cell is the mean of {} seeds and, in brackets, their range. ",
                self.settings.seeds
            );
        }
        if self.schemes().iter().any(|scheme| scheme.rotates()) {
            text += "Scaled rows are the same weights, without further training: beyond the \
                     trained length \"linear\" divides all rotary frequencies by the factor of the \
                     length (position interpolation), \"yarn\" the slow ones only, with sharper \
                     attention.";
        }
        if !text.is_empty() {
            page.line("");
            page.paragraph(&text);
        }
    }

    /// Prints the losses, and which weights are kept.
    fn losses(&self, page: &mut Page, quiet: bool) {
        page.heading("Losses (nats), and the weights that are kept and tested");
        page.line("                                   kept    validation        training");
        page.line(format!(
            "  {:<28}{:>9}{:>9}{:>9}{:>9}{:>9}",
            "task, scheme", "step", "loss", "right", "loss", "time"
        ));
        for (task, scheme, group) in self.groups() {
            let mean = |value: fn(&Training) -> Option<f64>| {
                let values: Option<Vec<f64>> = group.iter().map(value).collect();
                values.map(|values| values.iter().sum::<f64>() / values.len() as f64)
            };
            let or_dash = |text: Option<String>| text.unwrap_or("-".to_owned());
            let loss = |loss: Option<f64>| or_dash(loss.map(|loss| format!("{loss:.3}")));
            let steps = group.iter().map(|one| one.best_step);
            let steps = steps.clone().min().flatten().zip(steps.max().flatten());
            let step = steps.map(|(least, most)| match least == most {
                true => least.to_string(),
                false => format!("{least}-{most}"),
            });
            let time: f64 = group.iter().map(|one| one.seconds).sum();
            page.line(format!(
                "  {:<28}{:>9}{:>9}{:>9}{:>9}{:>9}",
                format!("{}, {}", task.name(), scheme.name()),
                or_dash(step),
                loss(mean(|one| one.validation_loss)),
                or_dash(mean(|one| one.validation_accuracy).map(percent)),
                loss(mean(|one| one.loss)),
                seconds(Duration::from_secs_f64(time))
            ));
        }
        if quiet {
            return;
        }
        page.line("");
        page.paragraph(&format!(
            "Kept and tested are the weights of the step with the most right answers to {} \
             validation sentences of the trained length (of equals, that with the least loss), not \
             those of the last step; they are looked at every {LOOK} steps and at the end. Training \
             loss: the mean of the last {LAST} steps, with dropout. Knowing both names and guessing \
             between them is ln 2 = 0.693.",
            2 * VALIDATION_PAIRS
        ));
        let together = seconds(Duration::from_secs_f64(self.seconds));
        page.paragraph(&match (self.trainings.len(), self.parallel) {
            (1, _) => format!("All together took {together}."),
            (_, 1) => format!("One training ran after another, in {together}."),
            (count, parallel) => format!(
                "The {count} trainings ran in parallel, {parallel} at a time on one thread each; \
                 their times overlap. All together took {together}."
            ),
        });
    }

    fn curves(&self, page: &mut Page, task: Task) {
        page.heading(&format!(
            "{}: loss in training (nats)",
            capital(task.name())
        ));
        let curves = self.losses.iter().filter(|(of, _, _)| *of == task);
        let curves: Vec<Curve<'_>> = curves
            .map(|(_, scheme, losses)| Curve {
                letter: scheme.letter(),
                name: scheme.name(),
                values: losses,
            })
            .collect();
        chart::draw(page, &curves);
    }

    /// Lists every file that was written.
    fn files(&self, page: &mut Page) {
        page.heading("Files");
        for (kind, files) in [
            (
                "  weights  ",
                Training::weights as fn(&Training) -> Option<&PathBuf>,
            ),
            ("  state    ", Training::state),
        ] {
            for (_, _, group) in self.groups() {
                let written = group.iter().filter_map(|one| Some((files(one)?, one.seed)));
                let (paths, seeds): (Vec<_>, Vec<_>) = written.unzip();
                if let Some(path) = paths.first() {
                    page.wrap(kind, &braces(path, &seeds));
                }
            }
        }
        for file in &self.files {
            page.wrap("  figures  ", &clean_path(file));
        }
        page.line("  state is what --resume goes on from");
        page.line("  look at what was learned with: pe-demo encode --weights FILE");
    }
}

/// Shows sentences of a task and their answers.
fn example(page: &mut Page, task: Task) {
    page.heading(task.question());
    match task {
        Task::Order => {
            page.line("  the king feared the dwarf.                              king");
            page.line("  the dwarf feared the king.                              dwarf");
            page.line("  last year the dwarf from the city never feared the king.");
            page.line("                                                          dwarf");
        }
        Task::Distance => {
            page.line("  hat king dwarf lamp stone gate                          dwarf");
            page.line("  hat dwarf king lamp stone gate                          king");
            page.line("  apple box dwarf clock king gate chair lamp              dwarf");
            page.line("");
            page.paragraph(
                "The other person stands 1, 2, 4, or 5 places before the gate, nearer or farther \
                 each as often, so the order of the two does not tell.",
            );
        }
    }
}

/// Writes the mean, and whole numbers around the range.
fn cell(row: &Row, at: usize, seeds: u64) -> String {
    match row.spread.get(at).copied().flatten() {
        None => "no rows".to_owned(),
        Some(spread) if seeds == 1 => percent(spread.mean),
        Some(spread) => {
            // Tenths, so that a product a little above a whole number is that number.
            let [least, most] = [spread.least, spread.most].map(|x| (1000.0 * x).round() / 10.0);
            let (least, most) = (least.floor(), most.ceil());
            format!("{} ({least:.0}-{most:.0})", percent(spread.mean))
        }
    }
}

fn capital(name: &str) -> String {
    let (first, rest) = name.split_at(name.len().min(1));
    first.to_uppercase() + rest
}

/// Writes the paths of several seeds, of which the first is given, as a shell expands them:
/// `rotary-{0,1}.safetensors`.
fn braces(path: &Path, seeds: &[u64]) -> String {
    let path = clean_path(path);
    let [first, _, ..] = seeds else {
        return path;
    };
    let all: Vec<String> = seeds.iter().map(u64::to_string).collect();
    match path.rsplit_once(&format!("-{first}.")) {
        Some((start, end)) => format!("{start}-{{{}}}.{end}", all.join(",")),
        None => path,
    }
}
