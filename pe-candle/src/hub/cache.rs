//! The hub's cache on disk, in the layout that the Python library and hf-hub share.
//!
//! ```text
//! models--owner--name/blobs/<etag>              the content
//!                     snapshots/<commit>/<file> a link to it
//!                     refs/<revision>           the commit
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hf_hub::{Cache, Repo, RepoType};
use tempfile::NamedTempFile;

use super::{HubFile, names};

/// The file's path, if the cache has it.
pub(super) fn find(cache_dir: &Path, file: &HubFile) -> Option<PathBuf> {
    let repo = Cache::new(cache_dir.to_owned()).repo(file.repo());
    // A commit needs no reference.
    let at_commit = repo.pointer_path(&file.revision).join(&file.file);
    let path = if names::is_commit(&file.revision) && at_commit.exists() {
        at_commit
    } else {
        repo.get(&file.file)?
    };
    path.is_file().then_some(path)
}

/// The directory of the contents, made if it is not there. New contents are written
/// here and renamed.
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
    content: NamedTempFile,
    etag: &str,
    commit: &str,
) -> io::Result<PathBuf> {
    let repo = Cache::new(cache_dir.to_owned()).repo(file.repo());
    let blob = repo.blob_path(etag);
    content.as_file().sync_all()?;
    content.persist(&blob).map_err(|error| error.error)?;

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

    if file.revision != commit {
        let commit_repo = Cache::new(cache_dir.to_owned()).repo(Repo::with_revision(
            file.repo.clone(),
            RepoType::Model,
            file.revision.clone(),
        ));
        commit_repo.create_ref(commit)?;
    }
    Ok(pointer)
}

/// Makes the link, in place of one that leads elsewhere.
#[cfg(unix)]
fn link(relative: &Path, _blob: &Path, pointer: &Path) -> io::Result<()> {
    if fs::read_link(pointer).is_ok_and(|old| old == relative) {
        return Ok(());
    }
    match fs::remove_file(pointer) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    match std::os::unix::fs::symlink(relative, pointer) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Links need rights that users do not have everywhere: a copy does as well.
#[cfg(not(unix))]
fn link(_relative: &Path, blob: &Path, pointer: &Path) -> io::Result<()> {
    fs::copy(blob, pointer).map(|_| ())
}
