//! The hub's cache on disk, in the layout that the Python library and hf-hub share.
//!
//! ```text
//! models--owner--name/blobs/<etag>              the content
//!                     snapshots/<commit>/<file> a link to it
//!                     refs/<revision>           the commit
//! ```

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hf_hub::Cache;

use super::{HubFile, names};
use crate::checkpoint::{Draft, replace};

/// The file's path, if the cache has it.
pub(super) fn find(cache_dir: &Path, file: &HubFile) -> Option<PathBuf> {
    let repo = Cache::new(cache_dir.to_owned()).repo(file.repo());
    let at = |commit: &str| {
        let path = repo.pointer_path(commit).join(&file.file);
        path.is_file().then_some(path)
    };
    // A commit needs no reference.
    let commit = names::is_commit(&file.revision).then_some(&file.revision);
    if let Some(path) = commit.and_then(|commit| at(commit)) {
        return Some(path);
    }
    at(&referred(&reference(cache_dir, file))?)
}

/// The commit that a reference names, if it is one: what others wrote there is not made part of
/// a path unseen.
fn referred(reference: &Path) -> Option<String> {
    if !reference.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = fs::File::open(reference).ok()?;
    read.take(64).read_to_string(&mut text).ok()?;
    let commit = text.trim();
    names::is_commit(commit).then(|| commit.to_owned())
}

/// Where the commit of a revision is noted.
fn reference(cache_dir: &Path, file: &HubFile) -> PathBuf {
    let folder = file.repo().folder_name();
    cache_dir.join(folder).join("refs").join(&file.revision)
}

/// The directory of the contents, made if it is not there. New contents get their names here.
pub(super) fn blobs(cache_dir: &Path, file: &HubFile) -> io::Result<PathBuf> {
    let repo = Cache::new(cache_dir.to_owned()).repo(file.repo());
    let mut path = repo.blob_path("x");
    path.pop();
    fs::create_dir_all(&path)?;
    Ok(path)
}

/// Puts a checked content into the cache: content, link, reference, in this order, so that
/// whoever finds one finds what it leads to.
pub(super) fn store(
    cache_dir: &Path,
    file: &HubFile,
    content: Draft,
    etag: &str,
    commit: &str,
) -> io::Result<PathBuf> {
    let repo = Cache::new(cache_dir.to_owned()).repo(file.repo());
    let blob = repo.blob_path(etag);
    content.file().sync_all()?;
    content.take_name(&blob)?;

    let pointer = repo.pointer_path(commit).join(&file.file);
    if let Some(parent) = pointer.parent() {
        fs::create_dir_all(parent)?;
    }
    // Up to the repository's folder, and down to the content.
    let depth = file.file.split('/').count() + 1;
    let relative: PathBuf = std::iter::repeat_n("..", depth)
        .chain(["blobs", etag])
        .collect();
    link(&relative, &blob, &pointer)?;

    let reference = reference(cache_dir, file);
    if file.revision != commit && referred(&reference).as_deref() != Some(commit) {
        if let Some(parent) = reference.parent() {
            fs::create_dir_all(parent)?;
        }
        replace(&reference, |out| out.write_all(commit.as_bytes()))?;
    }
    Ok(pointer)
}

/// Makes the link, in place of one that leads elsewhere, in one step.
#[cfg(unix)]
fn link(relative: &Path, _blob: &Path, pointer: &Path) -> io::Result<()> {
    if fs::read_link(pointer).is_ok_and(|old| old == relative) {
        return Ok(());
    }
    let folder = pointer.parent().unwrap_or(Path::new("."));
    let mut names = tempfile::Builder::new();
    let link = names
        .prefix(".pe-")
        .suffix(".tmp")
        .make_in(folder, |path| std::os::unix::fs::symlink(relative, path))?;
    let link = link.into_temp_path();
    link.persist(pointer).map_err(|error| error.error)
}

/// Links need rights that users do not have everywhere: a copy does as well.
#[cfg(not(unix))]
fn link(_relative: &Path, blob: &Path, pointer: &Path) -> io::Result<()> {
    fs::copy(blob, pointer).map(|_| ())
}
