//! Tables from the Hugging Face hub (feature `hub`).
//!
//! A file is named by repository, revision and file name. It is looked up in the hub's
//! usual cache on disk, which the Python library and hf-hub share, and fetched if it is
//! not there:
//!
//! ```no_run
//! use candle_core::Device;
//! use pe_candle::hub::{self, HubFile};
//!
//! let file = HubFile::new("owner/name", "table.safetensors").revision("v1");
//! let table = hub::load(&file, &Device::Cpu)?;
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! Nothing is taken on trust. Names are checked before any request; the answer's status,
//! length and, where the hub or the caller gives one, SHA-256 before a file enters the cache; and
//! so are the headers that become parts of paths there. Nothing in the cache is written through a link that
//! somebody put there, and nothing is read through one that leads out of the repository's folder. Every wait has an end. The token is sent to
//! the hub alone, not to the servers that it refers to.
//!
//! A file in the cache is used without asking the hub again, so a branch such as `main`
//! stays as it was first seen. Give a tag or commit, or call [`Hub::download`].
//!
//! Of a large file (one that the hub names by its SHA-256) what came is kept when a download
//! breaks off, beside the cache's contents as `<sha256>.pe-part`; the next one asks for the rest.

mod cache;
mod hash;
mod names;
mod partial;
mod transfer;

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use candle_core::{Device, Result, bail};
use hf_hub::{Cache, Repo, RepoType};

use crate::checkpoint::file::message::error;
use crate::checkpoint::{LoadOptions, LoadedTable, open_regular};

/// A file in a model repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubFile {
    /// `owner/name`, or `name` alone for the hub's oldest models.
    pub repo: String,
    /// A branch, tag or commit; `main` by default.
    pub revision: String,
    /// The file's path in the repository.
    pub file: String,
    /// The SHA-256 that its content must have, in 64 hexadecimal digits, if it is known.
    pub sha256: Option<String>,
}

impl HubFile {
    /// A file on the branch `main`. Names are checked when the file is fetched.
    pub fn new(repo: impl Into<String>, file: impl Into<String>) -> Self {
        Self {
            repo: repo.into(),
            revision: "main".to_owned(),
            file: file.into(),
            sha256: None,
        }
    }

    /// The same file in another revision.
    pub fn revision(self, revision: impl Into<String>) -> Self {
        Self {
            revision: revision.into(),
            ..self
        }
    }

    /// The same file with the SHA-256 that its content must have. What is in the cache is
    /// looked at too, each time.
    pub fn sha256(self, digits: impl Into<String>) -> Self {
        Self {
            sha256: Some(digits.into()),
            ..self
        }
    }

    /// Checks the names: what the hub allows, and nothing that could leave the cache's
    /// directory or the address's path.
    ///
    /// # Errors
    /// A name that is not allowed, with the reason.
    ///
    /// ```
    /// use pe_candle::hub::HubFile;
    ///
    /// HubFile::new("owner/name", "sub/table.safetensors").check()?;
    /// assert!(HubFile::new("owner/name", "../../etc/passwd").check().is_err());
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        let checks = [
            ("repository", &self.repo, names::repo(&self.repo)),
            ("revision", &self.revision, names::revision(&self.revision)),
            ("file name", &self.file, names::file(&self.file)),
        ];
        for (what, name, result) in checks {
            if let Err(reason) = result {
                return Err(error(format_args!(
                    "{what} {name:?} is not valid: {reason}"
                )));
            }
        }
        match &self.sha256 {
            Some(digits) if !names::is_sha256(digits) => Err(error(format_args!(
                "SHA-256 {digits:?} is not valid: it is not 64 digits of 0-9 and a-f"
            ))),
            _ => Ok(()),
        }
    }

    fn repo(&self) -> Repo {
        Repo::with_revision(self.repo.clone(), RepoType::Model, self.revision.clone())
    }
}

impl std::fmt::Display for HubFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:?} in {:?} at {:?}",
            self.file, self.repo, self.revision
        )
    }
}

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

    /// The path of a file in the cache, fetched if it is not there.
    ///
    /// A file in the cache whose SHA-256 is not the one asked for counts as not there.
    ///
    /// # Errors
    /// Returns an error if a name is not allowed, if the place of the file or of its reference in the cache
    /// holds something else (a pipe, a device, a link out of the repository's folder), or offline if the
    /// file is not in the cache. Also returns the errors of [`Hub::download`].
    pub fn fetch(&self, file: &HubFile) -> Result<PathBuf> {
        file.check()?;
        match cache::find(&self.cache_dir, file) {
            Ok(Some(path)) if is_asked_for(file, &path) => Ok(path),
            Ok(_) => self.download(file),
            Err(reason) => Err(error(format_args!("{file}: {}", self.in_cache(reason)))),
        }
    }

    /// Fetches a file, whether it is in the cache or not, and returns its path there.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// * a name is not allowed, or there is no network, or none is allowed;
    /// * the answer is not the file, or is shorter, longer, or other than the hub says;
    /// * a file of that name is not a safetensors or JSON file;
    /// * the cache cannot be written, or holds a link, a pipe, a device, or a hard link where a content,
    ///   a part, a reference, or a folder has its place;
    /// * the cache holds other content under the same ETag, the ETag is not a SHA-256, and no
    ///   [`HubFile::sha256`] was given: files of other commits may lead to that content.
    ///
    /// The cache is then as it was, but for the part of a large file that is kept.
    pub fn download(&self, file: &HubFile) -> Result<PathBuf> {
        file.check()?;
        if self.network == Network::Offline {
            return Err(error(format_args!(
                "{file} is not in the cache {}, and HF_HUB_OFFLINE or the configuration \
                 forbids to fetch it",
                self.cache_dir.display()
            )));
        }
        transfer::download(self, file).map_err(|reason| {
            let endpoint = &self.endpoint;
            error(format_args!(
                "cannot fetch {file} from {endpoint}: {reason}"
            ))
        })
    }

    /// An error of the cache, in words.
    fn in_cache(&self, error: std::io::Error) -> String {
        format!("cache {}: {error}", self.cache_dir.display())
    }

    /// Loads a table from the hub, as [`LoadOptions::load`] does from a file.
    ///
    /// # Errors
    /// As [`Hub::fetch`] and [`LoadOptions::load`].
    pub fn load(&self, file: &HubFile, options: &LoadOptions) -> Result<LoadedTable> {
        options.load(self.fetch(file)?)
    }
}

/// Reads the token from its file, if that is a regular file with one.
fn token(path: &std::path::Path) -> Option<String> {
    let mut text = String::new();
    let file = open_regular(path).ok()?;
    file.take(1 << 16).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

/// Whether the content is the one asked for, as far as that can be told.
fn is_asked_for(file: &HubFile, path: &std::path::Path) -> bool {
    let Some(asked) = &file.sha256 else {
        return true;
    };
    hash::of_file(path).is_ok_and(|found| found == *asked)
}

/// The path of a file in the cache, fetched if it is not there, with the configuration of
/// [`Hub::from_env`].
///
/// # Errors
/// As [`Hub::from_env`] and [`Hub::fetch`].
pub fn fetch(file: &HubFile) -> Result<PathBuf> {
    Hub::from_env()?.fetch(file)
}

/// Loads a table from the hub, with the configuration of [`Hub::from_env`], as
/// [`checkpoint::load`](crate::checkpoint::load) does from a file.
///
/// # Errors
/// As [`fetch`] and [`checkpoint::load`](crate::checkpoint::load).
pub fn load(file: &HubFile, device: &Device) -> Result<LoadedTable> {
    let options = LoadOptions {
        device: device.clone(),
        ..LoadOptions::default()
    };
    Hub::from_env()?.load(file, &options)
}
