//! Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};

/// While one lives, Ctrl-C asks the training to stop; a second one, or one at any other time,
/// ends the program as it would without this.
#[derive(Debug, Clone)]
pub(super) struct Interrupt {
    /// Set by Ctrl-C, and at all times when no training runs.
    asked: Arc<AtomicBool>,
}

impl Interrupt {
    pub(super) fn catch() -> Result<Self> {
        static ASKED: OnceLock<Result<Arc<AtomicBool>, String>> = OnceLock::new();
        let asked = ASKED.get_or_init(|| register().map_err(|error| error.to_string()));
        let asked = asked.clone().map_err(anyhow::Error::msg);
        let asked = asked.context("Ctrl-C cannot be caught")?;
        asked.store(false, Ordering::SeqCst);
        Ok(Self { asked })
    }

    /// Whether the training is to stop.
    pub(super) fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Leaves Ctrl-C to the system again.
    pub(super) fn release(self) {
        self.asked.store(true, Ordering::SeqCst);
    }
}

fn register() -> std::io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::SIGINT;
    let asked = Arc::new(AtomicBool::new(true));
    // In this order: the first of them sees what the flag was before.
    signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&asked))?;
    signal_hook::flag::register(SIGINT, Arc::clone(&asked))?;
    Ok(asked)
}
