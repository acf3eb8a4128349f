//! `pe-demo train`: what positions buy, by experiment.
//!
//! ```text
//! task ─► sentences ─► classifier (the toy encoder) ─► optimizer ─► checkpoint ─► encode --weights
//!            session: one scheme, step by step              └─► report, chart, losses
//! ```

mod chart;
mod losses;
mod optimizer;
mod progress;
mod report;
mod session;
pub(crate) mod task;

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};

use self::progress::Progress;
use self::report::Report;
use self::session::{Ending, Files, Session, Trained};
use self::task::{PEOPLE, Split, Task};
use crate::cli::{SchemesArg, TrainArgs};
use crate::encoder::trained::checkpoint::Checkpoint;
use crate::encoder::trained::classifier::Example;
use crate::encoder::trained::description::Description;
use crate::encoder::{Norm, Scheme};
use crate::terminal::console::{BadUsage, Outcome};
use crate::terminal::interrupt::Interrupt;
use crate::terminal::log::Log;
use crate::text::tokenizer::{Tokenizer, TokenizerSource};

/// The test is made at the trained length and at these multiples of it.
const LENGTHS: [usize; 3] = [1, 2, 4];

/// Pairs of twins in the test at each length.
const TEST_TWINS: usize = 500;

pub(crate) fn run(args: &TrainArgs, out: &mut dyn Write, log: &mut Log<'_>) -> Result<Outcome> {
    let start = Instant::now();
    check(args)?;
    let device = args.device.open()?;
    let tokenizer = Tokenizer::load(&TokenizerSource::BuiltIn)?;
    let task = Task::new(args.seed, &tokenizer)?;
    let directory = &args.output;
    let schemes = schemes(args.scheme);
    check_files(args, &schemes, log)?;
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let mut sessions = Vec::new();
    for scheme in &schemes {
        sessions.push(Session::new(
            describe(args, *scheme, &tokenizer),
            task.clone(),
            args.length * LENGTHS[LENGTHS.len() - 1],
            Files::of(directory, *scheme),
            args.resume,
            &device,
        )?);
    }
    let tests: Vec<(usize, Vec<Example>)> = LENGTHS
        .iter()
        .map(|times| times * args.length)
        .map(|len| (len, task.twins(Split::Test, TEST_TWINS, len)))
        .collect();
    let interrupt = Interrupt::catch()?;
    let threads = rayon::current_num_threads().min(sessions.len());
    log.detail(format!("{} trainings on {threads} threads", sessions.len()));
    let progress = Progress::new(log.draw_target());
    let trained = train(sessions, args.steps, &tests, &progress, &interrupt)?;
    for one in &trained {
        let (scheme, time) = (one.scheme.name(), seconds(one.time));
        log.detail(format!("{scheme}: {} steps, {time}", one.step));
    }
    drop(interrupt);
    let interrupted = trained.iter().any(|one| one.ending == Ending::Interrupted);
    let losses = losses::write(directory, &trained)?;
    let report = Report::of(args, &tests, &trained, threads, losses, start.elapsed());
    if args.json {
        crate::terminal::json::write(out, &report)?;
    } else {
        out.write_all(report.page(log.verbosity).text().as_bytes())?;
    }
    Ok(match interrupted {
        true => Outcome::Interrupted,
        false => Outcome::Success,
    })
}

/// What each option alone cannot tell.
fn check(args: &TrainArgs) -> Result<(), BadUsage> {
    let TrainArgs { d_model, heads, .. } = args;
    if !d_model.is_multiple_of(2) {
        return Err(BadUsage(format!(
            "--d-model {d_model} is odd: sine and cosine columns come in pairs"
        )));
    }
    if !d_model.is_multiple_of(*heads) {
        return Err(BadUsage(format!(
            "--d-model {d_model} cannot be shared evenly by --heads {heads}"
        )));
    }
    let width = d_model / heads;
    if !width.is_multiple_of(2) && schemes(args.scheme).contains(&Scheme::Rotary) {
        return Err(BadUsage(format!(
            "--d-model {d_model} by --heads {heads} makes heads of width {width}: rotary \
             positions turn pairs"
        )));
    }
    Ok(())
}

/// Looks at the files of earlier trainings before anything is trained.
///
/// # Errors
/// Returns an error if a file would be replaced that no training wrote, or if there is nothing to
/// resume.
fn check_files(args: &TrainArgs, schemes: &[Scheme], log: &mut Log<'_>) -> Result<()> {
    let mut new = Vec::new();
    for scheme in schemes {
        let files = Files::of(&args.output, *scheme);
        Checkpoint::check_replaceable(&files.weights)?;
        Checkpoint::check_replaceable(&files.state)?;
        if args.resume && !files.state.exists() {
            new.push(scheme.name());
        }
    }
    let directory = args.output.display();
    ensure!(
        new.len() < schemes.len(),
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

fn schemes(scheme: SchemesArg) -> Vec<Scheme> {
    match scheme {
        SchemesArg::All => Scheme::ALL.to_vec(),
        SchemesArg::None => vec![Scheme::None],
        SchemesArg::Sinusoidal => vec![Scheme::Sinusoidal],
        SchemesArg::Learned => vec![Scheme::Learned],
        SchemesArg::Rotary => vec![Scheme::Rotary],
    }
}

fn describe(args: &TrainArgs, scheme: Scheme, tokenizer: &Tokenizer) -> Description {
    Description {
        scheme,
        d_model: args.d_model,
        heads: args.heads,
        layers: args.layers,
        d_ff: args.d_model * 2,
        norm: Norm::Pre,
        vocab_size: tokenizer.vocab_size(),
        max_seq_len: args.length,
        answers: PEOPLE.map(str::to_owned).to_vec(),
        seed: args.seed,
        batch: args.batch,
        learning_rate: args.learning_rate,
        dropout: args.dropout,
    }
}

/// Trains all, as many at a time as there are threads in rayon's pool (`RAYON_NUM_THREADS`). Each
/// has one thread: matrices this small gain nothing from a second one, and vectors of fewer than
/// 65,536 numbers, which Candle leaves to the thread that calls, are all that the default sizes make.
fn train(
    sessions: Vec<Session>,
    steps: u64,
    tests: &[(usize, Vec<Example>)],
    progress: &Progress,
    interrupt: &Interrupt,
) -> Result<Vec<Trained>> {
    let bars: Vec<_> = sessions
        .iter()
        .map(|session| progress.add(session.scheme(), steps, session.step()))
        .collect();
    let workers = rayon::current_num_threads().min(sessions.len());
    let waiting: Vec<Mutex<Option<Session>>> = sessions
        .into_iter()
        .map(|session| Mutex::new(Some(session)))
        .collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Trained)>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(session) = waiting.get(at) else {
                return Ok(done);
            };
            let session = session
                .lock()
                .map_err(|_| anyhow!("a training panicked"))?
                .take();
            if let Some(session) = session {
                let run = || session.run(steps, tests, &bars[at], interrupt);
                done.push((at, pool.install(run)?));
            }
        }
    };
    let mut trained = Vec::new();
    let results: Vec<Result<Vec<_>>> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let joined = handles.into_iter().map(|handle| handle.join());
        joined
            .map(|result| result.unwrap_or_else(|_| Err(anyhow!("a training panicked"))))
            .collect()
    });
    for result in results {
        trained.extend(result?);
    }
    trained.sort_by_key(|(at, _)| *at);
    Ok(trained.into_iter().map(|(_, one)| one).collect())
}

/// Seconds with one decimal.
fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
