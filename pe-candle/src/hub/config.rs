//! Configuration of the hub: address, cache, token, limits.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use candle_core::{Result, bail};
use hf_hub::Cache;

use crate::checkpoint::file::open::open_regular;

/// Permission to use the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Network {
    /// Files that are not in the cache are fetched.
    #[default]
    Online,
    /// Only the cache is used.
    Offline,
}

/// Timeouts of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout for resolving the server's address and, again, for connecting. Defaults to 10 s.
    pub connect: Duration,
    /// Timeout for a response and between two reads of its body. Defaults to 30 s.
    pub stall: Duration,
    /// Timeout for the whole download. Defaults to 1 hour.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            stall: Duration::from_secs(30),
            total: Duration::from_secs(3600),
        }
    }
}

/// Progress of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Number of bytes received, including an earlier interrupted download.
    pub bytes: u64,
    /// Size of the whole file, if the hub states it.
    pub total: Option<u64>,
}

/// Callback for the beginning of the content and each part received, on the thread that downloads.
pub type Progress = Arc<dyn Fn(Received) + Send + Sync>;

/// A hub and its cache.
#[derive(Clone)]
pub struct Hub {
    /// Address of the hub. Defaults to `https://huggingface.co`.
    pub endpoint: String,
    /// Directory of the cache.
    pub cache_dir: PathBuf,
    /// Access token, for repositories that need one.
    pub token: Option<String>,
    /// Permission to use the network.
    pub network: Network,
    /// Timeouts of a download.
    pub timeouts: Timeouts,
    /// Size of the largest file that is fetched. Defaults to the largest table with the largest header.
    pub max_bytes: u64,
    /// Callback for the progress of a download.
    pub progress: Option<Progress>,
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub")
            .field("endpoint", &self.endpoint)
            .field("cache_dir", &self.cache_dir)
            .field("token", &self.token.as_ref().map(|_| "..."))
            .field("network", &self.network)
            .field("timeouts", &self.timeouts)
            .field("max_bytes", &self.max_bytes)
            .field("progress", &self.progress.as_ref().map(|_| "..."))
            .finish()
    }
}

impl Hub {
    /// Creates the hub at its usual address, without a token, with the cache in the given directory. The
    /// environment is not read.
    pub fn new(cache_dir: impl Into<PathBuf>) -> Self {
        Self {
            endpoint: "https://huggingface.co".to_owned(),
            cache_dir: cache_dir.into(),
            token: None,
            network: Network::Online,
            timeouts: Timeouts::default(),
            max_bytes: pe_core::MAX_TABLE_BYTES + 100_000_008,
            progress: None,
        }
    }

    /// Creates the hub that the environment describes, in the hub's own variables: `HF_HOME` (the
    /// cache is its folder `hub`, the token its file `token`), `HF_TOKEN` (instead of that
    /// file), `HF_ENDPOINT`, and `HF_HUB_OFFLINE` (`1`, `true`, `yes` or `on`: only the
    /// cache is used).
    ///
    /// # Errors
    /// Returns an error if neither `HF_HOME` nor a home directory is set.
    pub fn from_env() -> Result<Self> {
        let var = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
        if var("HF_HOME").is_none() && std::env::home_dir().is_none() {
            bail!("no directory for the hub's cache: neither HF_HOME nor a home directory is set");
        }
        let cache = Cache::from_env();
        let mut hub = Self::new(cache.path().clone());
        hub.token = var("HF_TOKEN").or_else(|| token(&cache.token_path()));
        if let Some(endpoint) = var("HF_ENDPOINT") {
            hub.endpoint = endpoint;
        }
        let offline = var("HF_HUB_OFFLINE").map(|value| value.to_ascii_lowercase());
        if matches!(offline.as_deref(), Some("1" | "true" | "yes" | "on")) {
            hub.network = Network::Offline;
        }
        Ok(hub)
    }
}

/// Reads the token from its file, if that is a regular file with one.
fn token(path: &std::path::Path) -> Option<String> {
    let mut text = String::new();
    let file = open_regular(path).ok()?;
    file.take(1 << 16).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}
