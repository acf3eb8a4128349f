//! `pe-demo train`: a training experiment with and without positions.
//!
//! ```text
//! task ─► sentences ─► classifier (the toy encoder) ─► optimizer ─► checkpoint ─► encode --weights
//!            session: one scheme, step by step              └─► results, chart, losses
//! ```

mod chart;
mod losses;
mod optimizer;
mod options;
mod results;
mod session;
pub(crate) mod task;

use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use indicatif::ProgressBar;

use self::options::Settings;
use self::results::Results;
use self::session::{Ending, Files, Session, Trained};
use self::task::{PEOPLE, Split, Task};
use crate::encoder::trained::checkpoint::Checkpoint;
use crate::encoder::trained::classifier::Example;
use crate::encoder::trained::description::Description;
use crate::encoder::{Norm, Scheme};
use crate::terminal::emit::emit;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::log::Log;
use crate::terminal::numbers::seconds;
use crate::terminal::outcome::Outcome;
use crate::terminal::progress;
use crate::terminal::workers::Workers;
use crate::text::tokenizer::{Tokenizer, TokenizerSource};

pub(crate) use options::Options;

/// The test is made at the trained length and at these multiples of it.
const LENGTHS: [usize; 3] = [1, 2, 4];

/// Minimal pairs in the test at each length.
const TEST_PAIRS: usize = 500;

/// Sentences of each length of the test.
type Tests = Vec<(usize, Vec<Example>)>;

pub(crate) fn run(options: &Options, out: &mut dyn Write, log: &mut Log<'_>) -> Result<Outcome> {
    let start = Instant::now();
    check_files(options, log)?;
    let (sessions, tests) = prepare(options)?;
    // Each scheme has one thread: matrices this small gain nothing from a second one, and Candle
    // leaves vectors of fewer than 65,536 elements, such as those of the default sizes, to the
    // thread that calls.
    let workers = Workers::new(sessions.len(), 1)?;
    let threads = workers.count();
    log.detail(format!("{} trainings on {threads} threads", sessions.len()));
    let bars = progress::bars(
        log.draw_target(),
        sessions
            .iter()
            .map(|s| (s.scheme().name(), options.settings.steps, s.step())),
    );
    let trained = train(sessions, options.settings.steps, &tests, &bars, &workers)?;
    for one in &trained {
        let (scheme, time) = (one.scheme.name(), seconds(one.time));
        log.detail(format!("{scheme}: {} steps, {time}", one.step));
    }
    let losses = losses::write(&options.output, &trained)?;
    let lengths = tests.iter().map(|(len, _)| *len).collect();
    let results = Results::of(options, lengths, &trained, threads, losses, start.elapsed());
    emit(out, options.json, &results, || {
        Ok(results.page(log.verbosity))
    })?;
    Ok(
        match trained.iter().any(|one| one.ending == Ending::Interrupted) {
            true => Outcome::Interrupted,
            false => Outcome::Success,
        },
    )
}

/// Checks the files of earlier trainings before anything is trained.
///
/// # Errors
/// Returns an error if a file would be replaced that no training wrote, or if there is nothing to
/// resume.
fn check_files(options: &Options, log: &mut Log<'_>) -> Result<()> {
    let mut new = Vec::new();
    losses::check_replaceable(&options.output)?;
    for scheme in &options.schemes {
        let files = Files::of(&options.output, *scheme);
        Checkpoint::check_replaceable(&files.weights)?;
        Checkpoint::check_replaceable(&files.state)?;
        if options.resume && !files.state.exists() {
            new.push(scheme.name());
        }
    }
    let directory = options.output.display();
    ensure!(
        new.len() < options.schemes.len(),
        "{directory}: no state to resume of {}",
        new.join(", ")
    );
    for scheme in new {
        log.note(format!(
            "{directory}: {scheme}: no state to resume, training it from the start"
        ));
    }
    Ok(())
}

/// Builds the models, and the sentences that they are tested on.
fn prepare(options: &Options) -> Result<(Vec<Session>, Tests)> {
    let Settings { seed, length, .. } = options.settings;
    let device = options.device.open()?;
    let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn)?;
    let task = Task::new(seed, &tokenizer)?;
    let directory: &Path = &options.output;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let session = |scheme: &Scheme| {
        Session::new(
            describe(&options.settings, *scheme, &tokenizer),
            task.clone(),
            length * LENGTHS[LENGTHS.len() - 1],
            Files::of(directory, *scheme),
            options.resume,
            &device,
        )
    };
    let sessions = options.schemes.iter().map(session).collect::<Result<_>>()?;
    let tests = LENGTHS.iter().map(|times| times * length);
    let tests = tests.map(|len| (len, task.minimal_pairs(Split::Test, TEST_PAIRS, len)));
    Ok((sessions, tests.collect()))
}

fn describe(settings: &Settings, scheme: Scheme, tokenizer: &Tokenizer) -> Description {
    Description {
        scheme,
        d_model: settings.d_model,
        heads: settings.heads,
        layers: settings.layers,
        d_ff: settings.d_model * 2,
        norm: Norm::Pre,
        vocab_size: tokenizer.vocab_size(),
        max_seq_len: settings.length,
        answers: PEOPLE.map(str::to_owned).to_vec(),
        seed: settings.seed,
        batch: settings.batch,
        learning_rate: settings.learning_rate,
        dropout: settings.dropout,
    }
}

/// Trains all, as many at a time as there are workers.
fn train(
    sessions: Vec<Session>,
    steps: u64,
    tests: &Tests,
    bars: &[ProgressBar],
    workers: &Workers,
) -> Result<Vec<Trained>> {
    let interrupt = Interrupt::catch()?;
    let waiting: Vec<Mutex<Option<Session>>> = sessions
        .into_iter()
        .map(|session| Mutex::new(Some(session)))
        .collect();
    workers.each(waiting.len(), |at| {
        let mut session = waiting[at].lock().unwrap_or_else(PoisonError::into_inner);
        let session = session.take().context("a training was begun twice")?;
        session.run(steps, tests, &bars[at], &interrupt)
    })
}
