//! A limit on tests that hang when they fail. No test depends on how fast it runs.

use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Far above the time of any test on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Ends the process if it still exists after [`PATIENCE`].
pub struct Watchdog {
    _alive: Sender<()>,
}

impl Watchdog {
    /// Starts to wait. The name goes into the message.
    pub fn new(name: &'static str) -> Self {
        let (alive, gone) = channel::<()>();
        thread::spawn(move || {
            if let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = gone.recv_timeout(PATIENCE) {
                eprintln!("{name} hangs: it runs for more than {PATIENCE:?}");
                std::process::exit(101);
            }
        });
        Self { _alive: alive }
    }
}
