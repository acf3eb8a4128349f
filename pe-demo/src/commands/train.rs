//! `pe-demo train`: a training experiment with and without positions.
//!
//! ```text
//! sentences ─► classifier (the toy encoder) ─► optimizer ─► checkpoint ─► encode --weights
//!    session: one job, step by step                └─► results, losses, accuracies
//! ```

mod accuracies;
mod chart;
mod job;
mod losses;
mod optimizer;
mod options;
mod outputs;
mod results;
mod sentences;
mod session;

use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use candle_core::Device;

use self::job::Job;
use self::options::Settings;
use self::results::Results;
use self::sentences::{PEOPLE, Sentences};
use self::session::{Ending, Session, Trained};
use crate::encoder::Norm;
use crate::encoder::trained::checkpoint::Checkpoint;
use crate::encoder::trained::description::Description;
use crate::terminal::emit::emit;
use crate::terminal::interrupt::Interrupt;
use crate::terminal::log::Log;
use crate::terminal::numbers::seconds;
use crate::terminal::outcome::Outcome;
use crate::terminal::progress::Bars;
use crate::terminal::workers::Workers;
use crate::text::tokenizer::{Tokenizer, TokenizerSource};

pub(crate) use options::Options;

pub(crate) fn run(options: &Options, out: &mut dyn Write, log: &mut Log<'_>) -> Result<Outcome> {
    let start = Instant::now();
    let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn)?;
    check_files(options, &tokenizer, log)?;
    let device = options.device.open()?;
    let directory = &options.output;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    // Each training has one thread: matrices this small gain nothing from a second one, and Candle
    // leaves vectors of fewer than 65,536 elements, such as those of the default sizes, to the
    // thread that calls.
    let workers = Workers::new(options.jobs.len(), 1)?;
    let threads = workers.count();
    log.detail(format!(
        "{} trainings on {threads} threads",
        options.jobs.len()
    ));
    let steps = options.settings.steps * options.jobs.len() as u64;
    let bars = Bars::new(log.draw_target(), steps);
    let trained = train(options, &tokenizer, &device, &bars, &workers)?;
    for one in &trained {
        let time = seconds(one.time);
        log.detail(format!("{}: {} steps, {time}", one.job, one.step));
    }
    let mut results = Results::of(options, &trained, threads);
    results.files = outputs::write(directory, &trained, &results)?;
    results.seconds = start.elapsed().as_secs_f64();
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
/// Returns an error if a file would be replaced that no training wrote, if there is nothing to
/// resume, or if the state is one of another training.
fn check_files(options: &Options, tokenizer: &Tokenizer, log: &mut Log<'_>) -> Result<()> {
    let mut new = Vec::new();
    outputs::check_replaceable(&options.output)?;
    for job in &options.jobs {
        let files = job.files(&options.output);
        Checkpoint::check_replaceable(&files.weights)?;
        Checkpoint::check_replaceable(&files.state)?;
        if options.resume && files.state.exists() {
            let wanted = describe(&options.settings, job, tokenizer);
            Checkpoint::check_resumable(&files.state, &wanted)?;
        } else if options.resume {
            new.push(job.to_string());
        }
    }
    let directory = options.output.display();
    ensure!(
        new.len() < options.jobs.len(),
        "{directory}: no state to resume of {}",
        several(&new)
    );
    if !new.is_empty() {
        log.note(format!(
            "{directory}: no state to resume of {}: training from the start",
            several(&new)
        ));
    }
    Ok(())
}

/// Returns the first names of a list, and the number of the others.
fn several(names: &[String]) -> String {
    const SHOWN: usize = 3;
    match names.len() {
        0..=SHOWN => names.join(", "),
        count => format!("{} and {} others", names[..SHOWN].join(", "), count - SHOWN),
    }
}

fn describe(settings: &Settings, job: &Job, tokenizer: &Tokenizer) -> Description {
    Description {
        task: job.task,
        scheme: job.scheme,
        d_model: settings.d_model,
        heads: settings.heads,
        layers: settings.layers,
        d_ff: settings.d_model * 2,
        norm: Norm::Pre,
        vocab_size: tokenizer.vocab_size(),
        max_seq_len: settings.length,
        answers: PEOPLE.map(str::to_owned).to_vec(),
        seed: job.seed,
        batch: settings.batch,
        learning_rate: settings.learning_rate,
        dropout: settings.dropout,
    }
}

/// Trains all, as many at a time as there are workers. Stops all if one fails.
fn train(
    options: &Options,
    tokenizer: &Tokenizer,
    device: &Device,
    bars: &Bars,
    workers: &Workers,
) -> Result<Vec<Trained>> {
    let interrupt = Interrupt::catch()?;
    let failed = AtomicBool::new(false);
    let stop = || interrupt.asked() || failed.load(Ordering::Relaxed);
    let steps = options.settings.steps;
    let (count, done) = (options.jobs.len(), AtomicUsize::new(0));
    let one = |job: &Job| {
        let session = Session::new(
            *job,
            describe(&options.settings, job, tokenizer),
            Sentences::new(job.task, job.seed, tokenizer)?,
            options.lengths.last().copied().unwrap_or(0),
            job.files(&options.output),
            options.resume,
            device,
        )?;
        let pair = bars.job(job.to_string(), steps, session.step());
        session.run(steps, &options.lengths, &pair, &stop)
    };
    let trained = workers.each(count, |at| {
        let trained = one(&options.jobs[at]);
        failed.fetch_or(trained.is_err(), Ordering::Relaxed);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        bars.note(format!("{done} of {count} trainings"));
        trained
    });
    bars.finish();
    trained
}
