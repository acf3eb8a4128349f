//! The received part of an interrupted download.
//!
//! Only contents named by their SHA-256 are kept. On the hub these are the large files. The complete
//! content is checked in the end, so a damaged part costs only another download. One process at a time works
//! on a part. Others fetch the file for themselves.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use sha2::Sha256;
use tempfile::{NamedTempFile, TempPath};

use super::{cache, hash};
use crate::checkpoint::file::replace::Draft;

/// Opens or creates the part of a content, for this process alone. Returns `None` if another process has it,
/// or if it belongs to another user, who may change it at any time. The part is removed when it is dropped,
/// unless [`keep`] is called or the process is killed.
///
/// # Errors
/// Returns an error if something else has its name, or the file has other names as well: writing to it
/// would change a file that somebody else put there.
pub(super) fn open(blobs: &Path, sha256: &str) -> io::Result<Option<Draft>> {
    let path = blobs.join(format!("{sha256}.pe-part"));
    let other = |there: &Metadata| !there.is_file();
    let obstacle = || cache::obstacle(&path, "is not a regular file");
    // Opening a device may have an effect, so its type is checked first.
    if fs::symlink_metadata(&path).is_ok_and(|there| other(&there)) {
        return Err(obstacle());
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    }
    let file = options
        .open(&path)
        .map_err(|error| cache::at(&path, error))?;
    if other(&file.metadata()?) {
        return Err(obstacle());
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        // A file system without locks.
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    // Another process may have completed it, and renamed it to the content, between the two calls above.
    if !is_at(&file, &path)? || !is_own(&file, blobs)? {
        return Ok(None);
    }
    if has_other_names(&file)? {
        return Err(cache::obstacle(&path, "has other names (hard links)"));
    }
    let path = TempPath::try_from_path(path)?;
    Ok(Some(Draft::Named(NamedTempFile::from_parts(file, path))))
}

/// Leaves a part that is not empty for the next download.
pub(super) fn keep(part: Draft) {
    let begun = part.file().metadata().is_ok_and(|file| file.len() > 0);
    if begun && let Draft::Named(part) = part {
        // If this fails, the part is removed.
        let _ = part.into_temp_path().keep();
    }
}

/// Hashes the first `length` bytes and truncates the part there, where writing resumes.
pub(super) fn hash(mut part: &File, length: u64) -> io::Result<Sha256> {
    part.set_len(length)?;
    part.seek(SeekFrom::Start(0))?;
    hash::of(&mut part)
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (file, there) = (file.metadata()?, fs::symlink_metadata(path));
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (file.dev(), file.ino())))
}

/// Returns whether a file has the owner of the files that this process creates in the folder.
#[cfg(unix)]
fn is_own(file: &File, folder: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let made = Draft::new(folder)?;
    Ok(file.metadata()?.uid() == made.file().metadata()?.uid())
}

#[cfg(not(unix))]
fn is_own(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn has_other_names(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_names(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Files that are open cannot be renamed there.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
