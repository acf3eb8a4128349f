//! Where files come from, where they are kept, and how long a download may take.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use candle_core::{Result, bail};
use hf_hub::Cache;

use crate::checkpoint::file::open::open_regular;

/// Whether requests may be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Files that are not in the cache are fetched.
    #[default]
    Online,
    /// Only the cache is used.
    Offline,
}

/// How long a download may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To find the server's address and, again, to connect; 10 s by default.
    pub connect: Duration,
    /// For an answer, and between two pieces of it; 30 s by default.
    pub stall: Duration,
    /// For the whole download; 1 hour by default.
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

/// How far a download is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The bytes that are there, those of an earlier download that broke off included.
    pub bytes: u64,
    /// The bytes of the whole file, if the hub says.
    pub total: Option<u64>,
}

/// Called when the content begins to come and after each piece of it, on the thread that fetches.
pub type Progress = Arc<dyn Fn(Received) + Send + Sync>;

/// Where files come from and where they are kept.
#[derive(Clone)]
pub struct Hub {
    /// The hub's address, `https://huggingface.co` by default.
    pub endpoint: String,
    /// The directory of the cache.
    pub cache_dir: PathBuf,
    /// The access token, for repositories that need one.
    pub token: Option<String>,
    /// Whether requests may be made.
    pub network: Network,
    /// How long a download may wait.
    pub timeouts: Timeouts,
    /// The largest file fetched; by default the largest table with the largest header.
    pub max_bytes: u64,
    /// Who is told how far a download is; by default nobody.
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
    /// The hub at its usual address, without a token, with the cache in the
    /// directory given. The environment is not looked at.
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

    /// The hub as the environment describes it, in the hub's own variables: `HF_HOME` (the
    /// cache is its folder `hub`, the token its file `token`), `HF_TOKEN` (instead of that
    /// file), `HF_ENDPOINT`, and `HF_HUB_OFFLINE` (`1`, `true`, `yes` or `on`: only the
    /// cache is used).
    ///
    /// # Errors
    /// If there is neither `HF_HOME` nor a home directory.
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
