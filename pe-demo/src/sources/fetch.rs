//! Files of the hub on this machine.

use std::path::PathBuf;

use anyhow::Result;

use crate::sources::origin::{HubName, Origin};
use crate::terminal::log::Log;

/// Returns the path of a file: as named, or in the hub's cache. Fetches it with a bar if needed.
pub(crate) fn local(origin: &Origin, max_bytes: u64, log: &mut Log<'_>) -> Result<PathBuf> {
    match origin {
        Origin::File(path) => Ok(path.clone()),
        Origin::Hub(name) => fetch(name, max_bytes, Some(log)),
    }
}

/// Returns the path of a file of the hub, without a bar.
pub(crate) fn silently(name: &HubName, max_bytes: u64) -> Result<PathBuf> {
    fetch(name, max_bytes, None)
}

#[cfg(feature = "hub")]
fn fetch(name: &HubName, max_bytes: u64, mut log: Option<&mut Log<'_>>) -> Result<PathBuf> {
    use anyhow::Context;
    use pe_candle::hub::{Hub, HubFile};

    let HubName {
        repository, file, ..
    } = name;
    let mut wanted = HubFile::new(repository, file);
    if let Some(revision) = &name.revision {
        wanted = wanted.revision(revision);
    }
    let mut hub = Hub::from_env()?;
    hub.max_bytes = max_bytes;
    let bar = log.as_ref().map(|log| bar(log, file));
    if let Some(bar) = &bar {
        hub.progress = Some(progress(bar.clone()));
    }
    let result = hub.fetch(&wanted);
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let path = result.with_context(|| format!("there is no file {name} here"))?;
    if let Some(log) = &mut log {
        log.detail(format!("{file} of {name} is {}", path.display()));
    }
    Ok(path)
}

/// Returns an error: the feature is off.
#[cfg(not(feature = "hub"))]
fn fetch(name: &HubName, _: u64, _: Option<&mut Log<'_>>) -> Result<PathBuf> {
    anyhow::bail!(
        "there is no file {name}, and this program was built without the hub (feature `hub`)"
    )
}

#[cfg(feature = "hub")]
fn bar(log: &Log<'_>, file: &str) -> indicatif::ProgressBar {
    let template = "{prefix} {wide_bar:.cyan} {bytes:>10}/{total_bytes:<10} {bytes_per_sec:>12} \
                    {eta:>4} left";
    let bar = crate::terminal::progress::bar(log.draw_target(), None, template);
    bar.set_prefix(crate::terminal::width::clean(file, 24));
    bar
}

#[cfg(feature = "hub")]
fn progress(bar: indicatif::ProgressBar) -> pe_candle::hub::Progress {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let begun = AtomicBool::new(false);
    Arc::new(move |received| {
        bar.set_length(received.total.unwrap_or(received.bytes));
        bar.set_position(received.bytes);
        if !begun.swap(true, Ordering::Relaxed) {
            // What an earlier download left was not fetched in no time.
            bar.reset_eta();
        }
    })
}
