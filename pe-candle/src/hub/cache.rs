//! The hub's cache on disk, in the layout that the Python library and hf-hub share.
//!
//! ```text
//! models--owner--name/blobs/<etag>              the content
//!                     snapshots/<commit>/<file> a link to it
//!                     refs/<revision>           the commit
//! ```
//!
//! Other programs may write to it, so nothing below the repository's folder is written through a link, and
//! nothing outside of that folder is read. The folder itself, and the cache, may be links.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::file::HubFile;
use super::{hash, names};
use crate::checkpoint::file::open::open_regular;
use crate::checkpoint::file::replace::Draft;

/// A checked content, about to enter the cache.
pub(super) struct Content<'a> {
    pub(super) draft: Draft,
    pub(super) etag: &'a str,
    pub(super) sha256: &'a str,
    pub(super) commit: &'a str,
}

/// Returns the file's path, if the cache has the file.
///
/// # Errors
/// Returns an error if something else is in its place or in its reference's.
pub(super) fn find(cache_dir: &Path, file: &HubFile) -> io::Result<Option<PathBuf>> {
    let root = root(cache_dir, file);
    let at = |commit: &str| {
        let path = snapshot(&root, commit).join(&file.file);
        // A missing file and a link that leads nowhere are fetched.
        let Some(end) = inside(&root, &path)? else {
            return Ok(None);
        };
        match end.is_file() {
            true => Ok(Some(path)),
            false => Err(obstacle(&path, NOT_REGULAR)),
        }
    };
    // A commit needs no reference.
    if names::is_commit(&file.revision)
        && let Some(path) = at(&file.revision)?
    {
        return Ok(Some(path));
    }
    match referred(&root, &root.join("refs").join(&file.revision))? {
        Some(commit) => at(&commit),
        None => Ok(None),
    }
}

/// Returns the commit that a reference names, if it names one. The text becomes part of a path, so it is
/// checked.
fn referred(root: &Path, reference: &Path) -> io::Result<Option<String>> {
    match fs::symlink_metadata(reference) {
        Ok(there) if !there.is_file() => return Err(obstacle(reference, NOT_REGULAR)),
        Ok(_) => inside(root, reference)?,
        Err(_) => return Ok(None),
    };
    let mut text = String::new();
    let read = open_regular(reference).and_then(|file| file.take(64).read_to_string(&mut text));
    let commit = text.trim();
    Ok((read.is_ok() && names::is_commit(commit)).then(|| commit.to_owned()))
}

/// Returns where a path below the repository's folder ends, if it leads anywhere. Returns an error if
/// that is outside of the folder.
fn inside(root: &Path, path: &Path) -> io::Result<Option<PathBuf>> {
    let (Ok(end), Ok(root)) = (path.canonicalize(), root.canonicalize()) else {
        return Ok(None);
    };
    if !end.starts_with(root) {
        let reason = format!(
            "leads to {}, outside of the repository's folder",
            end.display()
        );
        return Err(obstacle(path, &reason));
    }
    Ok(Some(end))
}

/// Returns the repository's folder.
fn root(cache_dir: &Path, file: &HubFile) -> PathBuf {
    cache_dir.join(file.repo().folder_name())
}

fn snapshot(root: &Path, commit: &str) -> PathBuf {
    root.join("snapshots").join(commit)
}

/// Returns the directory of the contents, and creates it if needed. New contents get their names here.
pub(super) fn blobs(cache_dir: &Path, file: &HubFile) -> io::Result<PathBuf> {
    let root = root(cache_dir, file);
    let blobs = root.join("blobs");
    create_folder(&root, &blobs)?;
    Ok(blobs)
}

/// Creates a folder below the repository's, through no links.
fn create_folder(root: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(root).map_err(|error| at(root, error))?;
    let mut path = root.to_owned();
    for part in folder
        .strip_prefix(root)
        .iter()
        .flat_map(|below| below.components())
    {
        path.push(part);
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !fs::symlink_metadata(&path)?.is_dir() {
                    return Err(obstacle(&path, "is not a folder of its own"));
                }
            }
            Err(error) => return Err(at(&path, error)),
        }
    }
    Ok(())
}

/// Puts a checked content into the cache: content, link, reference, in this order, so that
/// each leads to something that exists.
pub(super) fn store(cache_dir: &Path, file: &HubFile, content: Content<'_>) -> io::Result<PathBuf> {
    let root = root(cache_dir, file);
    let blobs = blobs(cache_dir, file)?;
    let commit = content.commit;
    let blob = put(&blobs, content, file.sha256.is_some())?;

    let pointer = snapshot(&root, commit).join(&file.file);
    if let Some(parent) = pointer.parent() {
        create_folder(&root, parent)?;
    }
    // Up to the repository's folder, and down to the content.
    let depth = file.file.split('/').count() + 1;
    let relative: PathBuf = std::iter::repeat_n("..", depth)
        .chain(["blobs", &blob])
        .collect();
    link(&relative, &blobs.join(blob), &pointer).map_err(|error| at(&pointer, error))?;

    let reference = root.join("refs").join(&file.revision);
    if file.revision != commit
        && referred(&root, &reference)?.as_deref() != Some(commit)
        && let Some(parent) = reference.parent()
    {
        create_folder(&root, parent)?;
        let draft = Draft::new(parent)?;
        draft.file().write_all(commit.as_bytes())?;
        draft.file().sync_all()?;
        let taken = draft.take_name(&reference);
        taken.map_err(|error| at(&reference, error))?;
    }
    Ok(pointer)
}

/// Gives a content its name among the contents, and returns that name.
///
/// An ETag that is a hash identifies the content, so an existing content is replaced by the one just checked.
/// Under any other ETag a different content remains, because files of other commits may lead to it. The new one
/// is then named by the hash that the caller gave (`known`), or rejected.
fn put(blobs: &Path, content: Content<'_>, known: bool) -> io::Result<String> {
    let Content {
        draft,
        etag,
        sha256,
        ..
    } = content;
    draft.file().sync_all()?;
    let blob = blobs.join(etag);
    let is_same = || hash::of_file(&blob).map(|found| found == sha256);
    let other = || obstacle(&blob, "has other content under the same ETag");
    let there = fs::symlink_metadata(&blob).ok();
    let there = there.map(|there| there.file_type());
    let named = match there {
        // A link may lead to a file that is pinned to a commit. Contents named by their hash are the same.
        Some(kind) if !(kind.is_file() || kind.is_symlink() && etag == sha256) => {
            return Err(obstacle(&blob, NOT_REGULAR));
        }
        Some(kind) if kind.is_file() && etag != sha256 => {
            match is_same().map_err(|error| at(&blob, error))? {
                true => Ok(()),
                false if known => {
                    let etag = sha256;
                    let content = Content {
                        draft,
                        etag,
                        ..content
                    };
                    return put(blobs, content, known);
                }
                false => return Err(other()),
            }
        }
        None if etag != sha256 => match draft.take_free_name(&blob) {
            // Another download was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match is_same()? {
                true => Ok(()),
                false => return Err(other()),
            },
            result => result,
        },
        // A link is replaced, not its target.
        _ => draft.take_name(&blob),
    };
    named
        .map(|()| etag.to_owned())
        .map_err(|error| at(&blob, error))
}

const NOT_REGULAR: &str = "is not a regular file";

/// Builds an error about an obstacle in the cache.
pub(super) fn obstacle(path: &Path, reason: &str) -> io::Error {
    let message = format!("{} {reason}; remove it to go on", path.display());
    io::Error::other(message)
}

/// Builds an error about a path.
pub(super) fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Creates the link, or atomically replaces one that leads elsewhere.
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

/// Copies the content, because links need rights that users do not have everywhere.
#[cfg(not(unix))]
fn link(_relative: &Path, blob: &Path, pointer: &Path) -> io::Result<()> {
    fs::copy(blob, pointer).map(|_| ())
}
