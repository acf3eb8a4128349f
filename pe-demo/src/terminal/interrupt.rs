//! Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Error, Result};

use crate::terminal::outcome::INTERRUPTED;

/// While one lives, Ctrl-C asks what runs to stop. A second one, or one at any other time,
/// ends the program as it would without this.
#[derive(Debug)]
pub(crate) struct Interrupt {
    signal: &'static Signal,
}

/// The process has one Ctrl-C for all that runs in it.
#[derive(Debug)]
struct Signal {
    /// Set by Ctrl-C.
    asked: Arc<AtomicBool>,
    /// Whether Ctrl-C ends the program: set by Ctrl-C, and when nothing that it can stop runs.
    fatal: Arc<AtomicBool>,
    /// Whether Ctrl-C ends the program with its exit code: set while there is nobody to look at
    /// the first of these.
    waiting: Arc<AtomicBool>,
    running: Mutex<usize>,
}

impl Interrupt {
    pub(crate) fn catch() -> Result<Self> {
        static SIGNAL: OnceLock<Result<Signal, String>> = OnceLock::new();
        let signal = SIGNAL.get_or_init(|| Signal::register().map_err(|error| error.to_string()));
        let signal = signal.as_ref().map_err(|error| Error::msg(error.clone()));
        let signal = signal.context("Ctrl-C cannot be caught")?;
        let mut running = signal
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *running == 0 {
            signal.asked.store(false, Ordering::SeqCst);
            signal.fatal.store(false, Ordering::SeqCst);
        }
        *running += 1;
        Ok(Self { signal })
    }

    /// Returns whether to stop.
    pub(crate) fn asked(&self) -> bool {
        self.signal.asked.load(Ordering::SeqCst)
    }

    /// Does what may wait without end for somebody else, such as who types the input: Ctrl-C
    /// does not wait for it but ends the program.
    pub(crate) fn while_waiting<T>(&self, work: impl FnOnce() -> T) -> T {
        self.signal.waiting.store(true, Ordering::SeqCst);
        let result = work();
        self.signal.waiting.store(false, Ordering::SeqCst);
        result
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        let running = &self.signal.running;
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        *running -= 1;
        if *running == 0 {
            self.signal.fatal.store(true, Ordering::SeqCst);
        }
    }
}

impl Signal {
    fn register() -> std::io::Result<Self> {
        use signal_hook::consts::SIGINT;
        use signal_hook::flag::{
            register, register_conditional_default, register_conditional_shutdown,
        };
        let asked = Arc::new(AtomicBool::new(false));
        let fatal = Arc::new(AtomicBool::new(true));
        let waiting = Arc::new(AtomicBool::new(false));
        // In this order: the first of them sees what the flag was before.
        register_conditional_default(SIGINT, Arc::clone(&fatal))?;
        register_conditional_shutdown(SIGINT, INTERRUPTED.into(), Arc::clone(&waiting))?;
        register(SIGINT, Arc::clone(&fatal))?;
        register(SIGINT, Arc::clone(&asked))?;
        Ok(Self {
            asked,
            fatal,
            waiting,
            running: Mutex::new(0),
        })
    }
}
