//! New content before it replaces the old.
//!
//! On Linux it has no name until it is complete, so a killed process leaves nothing. Where a file needs a
//! name, or cannot get one later, it has one of its own next to the old file.

#[cfg(target_os = "linux")]
mod unnamed;

use std::fs::File;
use std::io;
use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

use tempfile::{NamedTempFile, TempPath};

/// New content that is being written.
pub(crate) enum Draft {
    /// A file without a name, and the folder where it gets one.
    #[cfg(target_os = "linux")]
    Unnamed(File, PathBuf),
    /// A file with a name of its own, removed when dropped.
    Named(NamedTempFile),
}

impl Draft {
    /// Creates an empty file in the folder, with the mode of any new file.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(file) = unnamed::open(folder) {
            return Ok(Self::Unnamed(file, folder.to_owned()));
        }
        named(folder).map(Self::Named)
    }

    pub(crate) fn file(&self) -> &File {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file, _) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    /// Returns a path that this process can open.
    #[cfg(feature = "hub")]
    pub(crate) fn path(&self) -> std::path::PathBuf {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file, _) => unnamed::handle(file),
            Self::Named(file) => file.path().to_owned(),
        }
    }

    /// Gives the content, which has to be on disk, the name `target`, atomically.
    pub(crate) fn take_name(self, target: &Path) -> io::Result<()> {
        let (_open, name) = self.named()?;
        name.persist(target).map_err(|error| error.error)
    }

    /// Does the same if nothing has that name yet.
    #[cfg(feature = "hub")]
    pub(crate) fn take_free_name(self, target: &Path) -> io::Result<()> {
        let (_open, name) = self.named()?;
        name.persist_noclobber(target).map_err(|error| error.error)
    }

    /// Names the file, and returns it open, because closing it would drop its locks.
    fn named(self) -> io::Result<(File, TempPath)> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file, folder) => match unnamed::link(&file, &folder) {
                Ok(name) => Ok((file, name)),
                Err(_) => Ok(unnamed::copy(file, &folder)?.into_parts()),
            },
            Self::Named(file) => Ok(file.into_parts()),
        }
    }
}

fn names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".pe-").suffix(".tmp");
    names
}

/// Creates a file with a name of its own, removed when dropped.
fn named(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = names();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system clears the bits of the umask.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
