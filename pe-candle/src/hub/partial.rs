//! What a download that broke off left behind, to go on from.
//!
//! Only contents whose name is their SHA-256 are kept: on the hub those are the large files.
//! The whole is checked in the end, so a part that is damaged costs another download and nothing
//! else. One process at a time works on a part; others fetch the file for themselves.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use sha2::Sha256;
use tempfile::{NamedTempFile, TempPath};

use super::{cache, hash};
use crate::checkpoint::file::replace::Draft;

/// The part of a content, made if there is none, for this process alone; `None` where another one
/// has it, and where it belongs to another user, who may change it at any time. It is removed when it
/// is dropped, unless [`keep`] is called or the process is killed.
///
/// # Errors
/// Returns an error if something else has its name, or the file has other names as well: writing to it
/// would change a file that somebody else put there.
pub(super) fn open(blobs: &Path, sha256: &str) -> io::Result<Option<Draft>> {
    let path = blobs.join(format!("{sha256}.pe-part"));
    let other = |there: &Metadata| !there.is_file();
    let refused = || cache::refused(&path, "is not a regular file");
    // Opening a device may do something: look first.
    if fs::symlink_metadata(&path).is_ok_and(|there| other(&there)) {
        return Err(refused());
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
        return Err(refused());
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        // A file system without locks.
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    // Whoever had it may have finished, and made it the content, between the two calls above.
    if !is_at(&file, &path)? || !is_own(&file, blobs)? {
        return Ok(None);
    }
    if has_other_names(&file)? {
        return Err(cache::refused(&path, "has other names (hard links)"));
    }
    let path = TempPath::try_from_path(path)?;
    Ok(Some(Draft::Named(NamedTempFile::from_parts(file, path))))
}

/// Leaves a part that is not empty for the next download.
pub(super) fn keep(part: Draft) {
    let begun = part.file().metadata().is_ok_and(|file| file.len() > 0);
    if begun && let Draft::Named(part) = part {
        // Where this fails the part is removed, as without it.
        let _ = part.into_temp_path().keep();
    }
}

/// The hash of the first `length` bytes, after which writing goes on; what follows is cut off.
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

/// Whether a file belongs to whom the files belong that this process makes in the folder.
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
