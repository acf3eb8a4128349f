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
//! Everything is checked. Names are checked before any request. Before a file enters the cache, the
//! checks are the status and the length of the response, its SHA-256 if the hub or the caller gives one, and
//! the headers that become parts of paths. Nothing in the cache is written through a link, and nothing
//! is read through a link that leads out of the repository's folder. Every wait has a timeout. The token is
//! sent to the hub alone, not to the servers that it refers to.
//!
//! A file in the cache is used without asking the hub again, so a branch such as `main`
//! remains at the commit of its first download. Give a tag or commit, or call [`Hub::download`].
//!
//! If the download of a large file (one that the hub names by its SHA-256) is interrupted, the received part
//! is kept next to the contents of the cache as `<sha256>.pe-part`. The next download requests the rest.

mod cache;
mod config;
mod file;
mod hash;
mod names;
mod partial;
mod request;
mod transfer;

use std::path::PathBuf;

use candle_core::{Device, Result};

use crate::checkpoint::file::message::error;
use crate::checkpoint::{LoadOptions, Loaded, Scheme};

pub use config::{Hub, Network, Progress, Received, Timeouts};
pub use file::HubFile;

impl Hub {
    /// Returns the path of a file in the cache, and fetches the file if the cache does not have it.
    ///
    /// A file in the cache with another SHA-256 than the one asked for is fetched again.
    ///
    /// # Errors
    /// Returns an error if a name is not allowed, if the place of the file or of its reference in the cache
    /// holds something else (a pipe, a device, a link out of the repository's folder), or offline if the
    /// file is not in the cache. Also returns the errors of [`Hub::download`].
    pub fn fetch(&self, file: &HubFile) -> Result<PathBuf> {
        file.check()?;
        match cache::find(&self.cache_dir, file) {
            Ok(Some(path)) if has_hash(file, &path) => Ok(path),
            Ok(_) => self.download(file),
            Err(reason) => Err(error(format_args!("{file}: {}", self.cache_error(reason)))),
        }
    }

    /// Fetches a file, whether it is in the cache or not, and returns its path there.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// * a name is not allowed, or the network is unavailable or forbidden;
    /// * the response is not the file, or differs in length or content from what the hub states;
    /// * a file of that name is not a safetensors or JSON file;
    /// * the cache cannot be written, or holds a link, a pipe, a device, or a hard link where a content,
    ///   a part, a reference, or a folder has its place;
    /// * the cache holds other content under the same ETag, the ETag is not a SHA-256, and no
    ///   [`HubFile::sha256`] was given: files of other commits may lead to that content.
    ///
    /// The cache is then unchanged, except for the part of a large file that is kept.
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

    /// Describes an error of the cache.
    fn cache_error(&self, error: std::io::Error) -> String {
        format!("cache {}: {error}", self.cache_dir.display())
    }

    /// Loads a sinusoidal table from the hub, as [`LoadOptions::load`] does from a file.
    ///
    /// # Errors
    /// Returns the errors of [`Hub::fetch`] and [`LoadOptions::load`].
    pub fn load(&self, file: &HubFile, options: &LoadOptions) -> Result<Loaded> {
        self.load_as(file, options)
    }

    /// Loads the tables of a scheme from the hub, as [`LoadOptions::load_as`] does from a file.
    ///
    /// # Errors
    /// Returns the errors of [`Hub::fetch`] and [`LoadOptions::load_as`].
    pub fn load_as<S: Scheme>(
        &self,
        file: &HubFile,
        options: &LoadOptions<S>,
    ) -> Result<Loaded<S>> {
        options.load_as(self.fetch(file)?)
    }
}

/// Returns whether the content has the SHA-256 that was asked for, if any was.
fn has_hash(file: &HubFile, path: &std::path::Path) -> bool {
    let Some(asked) = &file.sha256 else {
        return true;
    };
    hash::of_file(path).is_ok_and(|found| found == *asked)
}

/// Returns the path of a file in the cache, as [`Hub::fetch`] with the configuration of
/// [`Hub::from_env`].
///
/// # Errors
/// Returns the errors of [`Hub::from_env`] and [`Hub::fetch`].
pub fn fetch(file: &HubFile) -> Result<PathBuf> {
    Hub::from_env()?.fetch(file)
}

/// Loads a sinusoidal table from the hub, with the configuration of [`Hub::from_env`], as
/// [`checkpoint::load`](crate::checkpoint::load) does from a file.
///
/// # Errors
/// Returns the errors of [`fetch`] and [`checkpoint::load`](crate::checkpoint::load).
pub fn load(file: &HubFile, device: &Device) -> Result<Loaded> {
    let options = LoadOptions {
        device: device.clone(),
        ..LoadOptions::default()
    };
    Hub::from_env()?.load(file, &options)
}
