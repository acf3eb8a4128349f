//! The process, set up before a command runs.

use std::error::Error;
use std::ffi::OsStr;
use std::sync::mpsc;
use std::{io, thread};

use anyhow::{Context, Result, bail};
use rayon::ThreadBuilder;

/// The variable with the number of threads, which rayon reads.
const THREADS: &str = "RAYON_NUM_THREADS";

/// The most threads that it may ask for.
const MOST_THREADS: usize = 1024;

/// Whether a command computes on several threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Threaded,
    Alone,
}

/// Makes a file that grows past the limit of the process (`ulimit -f`) an error of the write,
/// where the system would end the program and a half-written file could stay; and starts the
/// threads, so that too many of them are an error too.
pub(crate) fn settle(work: Work) -> Result<()> {
    outlive_file_limits()?;
    match work {
        Work::Threaded => start_threads(),
        Work::Alone => Ok(()),
    }
}

#[cfg(unix)]
fn outlive_file_limits() -> Result<()> {
    use std::sync::atomic::AtomicBool;
    use std::sync::{Arc, OnceLock};

    use anyhow::Error;
    use signal_hook::consts::SIGXFSZ;

    // Once for the process: each handler stays. What it sets is not read: with any handler at
    // all the write fails in place of the program.
    static HANDLED: OnceLock<Result<(), String>> = OnceLock::new();
    let handled = HANDLED.get_or_init(|| {
        let seen = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGXFSZ, seen)
            .map(|_| ())
            .map_err(|error| error.to_string())
    });
    let handled = handled
        .as_ref()
        .map_err(|error| Error::msg(error.clone()))
        .copied();
    handled.context("SIGXFSZ cannot be caught")
}

#[cfg(not(unix))]
fn outlive_file_limits() -> Result<()> {
    Ok(())
}

/// Starts rayon's pool: later it would panic where the system has no threads to give.
fn start_threads() -> Result<()> {
    check(std::env::var_os(THREADS).as_deref())?;
    let pool = rayon::ThreadPoolBuilder::new().spawn_handler(start_thread);
    match pool.build_global() {
        // Without a source it runs already.
        Err(error) if error.source().is_some() => bail!("cannot start the threads: {error}"),
        _ => Ok(()),
    }
}

/// Starts one thread, and waits until it runs: a thread that finds no memory when it starts ends the process.
fn start_thread(thread: ThreadBuilder) -> io::Result<()> {
    /// The stack of a thread, and what it allocates before it runs.
    const ROOM: usize = 4 << 20;
    let mut room: Vec<u8> = Vec::new();
    room.try_reserve_exact(ROOM)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    drop(room);
    let (tell, hear) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        let _ = tell.send(());
        thread.run();
    })?;
    hear.recv().map_err(io::Error::other)
}

/// Checks the number of threads. Text that is not a number is ignored, as in rayon.
fn check(wanted: Option<&OsStr>) -> Result<()> {
    let wanted = wanted.and_then(OsStr::to_str);
    match wanted.and_then(|wanted| wanted.parse::<usize>().ok()) {
        Some(threads) if threads > MOST_THREADS => {
            bail!("{THREADS}={threads}: more than {MOST_THREADS} threads")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_can_be_meant_are_refused() {
        let says = |wanted: &str| check(Some(OsStr::new(wanted))).map_err(|e| e.to_string());
        for fine in ["", "0", "1", "1024", "-1", "many", "100000000000000000000"] {
            assert_eq!(says(fine), Ok(()), "{fine}");
        }
        let expected = "RAYON_NUM_THREADS=1025: more than 1024 threads";
        assert_eq!(says("1025"), Err(expected.to_owned()));
        assert!(check(None).is_ok());
    }
}
