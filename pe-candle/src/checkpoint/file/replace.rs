//! Atomic replacement of a file.

mod draft;

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Component, Path, PathBuf};

use pe_core::text::escape;

pub(crate) use self::draft::Draft;

/// The new content of a file.
pub trait NewFile: Write + Seek {}

impl<T: Write + Seek> NewFile for T {}

/// Largest number of symbolic links that are followed, as on Linux.
const MAX_LINKS: usize = 40;

const NOT_REGULAR: &str = "is not a regular file; a device, pipe or socket is never replaced";

/// Replaces a file atomically: a reader of its name sees the old content or the new, never a part. The new
/// content is written to a temporary file next to it, synced to disk, and renamed.
///
/// The new file has the mode of the old one, and its owner where the system allows it, or those of any
/// new file. A symbolic link stays, and its target is written. Only a regular file
/// with write permission is replaced. Other hard links keep the old content.
/// Good for any file, not only for tables.
///
/// After an error only the old file is left: neither a part of the new one nor a temporary
/// file. A process that a signal ends, SIGKILL or Ctrl-C, leaves nothing on Linux's own file
/// systems, where the new content has no name until it is on disk. Elsewhere (other systems,
/// file systems without `O_TMPFILE` such as NFS and FUSE, no `/proc`) it may leave one file
/// `.pe-*.tmp` next to `path`, which nothing reads. Remove it when no program writes
/// there. A limit on the size of files (`ulimit -f`) kills, unless the program ignores SIGXFSZ.
///
/// ```
/// use std::io::Write;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("notes.txt");
/// pe_candle::checkpoint::replace(&path, |file| file.write_all(b"whole or not at all"))?;
/// assert_eq!(std::fs::read(&path)?, b"whole or not at all");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Returns an error if `path` does not name a regular file or a new one, the file has no write permission, or
/// `write` fails. The old file, if any, is then unchanged.
pub fn replace(
    path: &Path,
    write: impl FnOnce(&mut dyn NewFile) -> io::Result<()>,
) -> io::Result<()> {
    let (target, existing) = resolve(path)?;
    let parent = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if existing.is_some() {
        // Renaming needs no right to the file itself. A file that its owner
        // protected should stay.
        fs::OpenOptions::new().write(true).open(&target)?;
    }
    let directory = open_directory(parent)?;
    // Without the name of a temporary file, which means nothing to the caller.
    let draft = Draft::new(parent).map_err(|error| {
        let place = parent.display().to_string();
        let reason = format!(
            "no file can be made in {}: {}",
            escape(&place),
            error.kind()
        );
        io::Error::new(error.kind(), reason)
    })?;
    #[cfg(unix)]
    if let Some(existing) = &existing {
        keep_rights(existing, draft.file())?;
    }
    let mut writer = BufWriter::new(draft.file());
    write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    draft.file().sync_all()?;
    draft.take_name(&target)?;
    sync_directory(directory).map_err(|error| {
        let reason = format!("the file is written, but its directory could not be synced: {error}");
        io::Error::new(error.kind(), reason)
    })
}

/// Gives a new file the mode of the old one, and its owner if that is another user.
#[cfg(unix)]
fn keep_rights(old: &Metadata, new: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != (old.uid(), old.gid()) {
        // Few users may do that. For the others the file is theirs.
        let _ = fchown(new, Some(old.uid()), Some(old.gid()));
    }
    let mode = old.permissions().mode() & 0o777;
    new.set_permissions(fs::Permissions::from_mode(mode))
}

/// Follows links to the file that a path names, and returns it with its metadata, if it exists.
fn resolve(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    let refuse = |reason: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    let ends_in_separator = path
        .as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|last| std::path::is_separator(char::from(*last)));
    if ends_in_separator || !matches!(path.components().next_back(), Some(Component::Normal(_))) {
        return refuse("not the name of a file");
    }
    let mut target = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let metadata = match fs::symlink_metadata(&target) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Links such as /dev/stdout lead to pipes that have no name.
                return match fs::metadata(path) {
                    Ok(metadata) if !metadata.is_file() => refuse(NOT_REGULAR),
                    _ => Ok((target, None)),
                };
            }
            Err(error) => return Err(error),
        };
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let link = fs::read_link(&target)?;
            target.pop();
            target.push(link);
        } else if kind.is_file() {
            return Ok((target, Some(metadata)));
        } else if kind.is_dir() {
            return refuse("is a directory, not a file that could be replaced");
        } else {
            return refuse(NOT_REGULAR);
        }
    }
    refuse("too many symbolic links")
}

#[cfg(unix)]
fn open_directory(path: &Path) -> io::Result<Option<File>> {
    // A directory with write permission alone cannot be opened, and so not synced. That is not an
    // error.
    match File::open(path) {
        Ok(directory) => Ok(Some(directory)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn open_directory(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

fn sync_directory(directory: Option<File>) -> io::Result<()> {
    let Some(directory) = directory else {
        return Ok(());
    };
    match directory.sync_all() {
        // Some file systems cannot.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        result => result,
    }
}
