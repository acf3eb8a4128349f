//! New content before it takes the name of the old.
//!
//! On Linux it has no name at all until it is complete: what a process wrote that was killed is
//! then gone with it. Where files without a name do not exist, or cannot be given one later, it
//! has one of its own beside its place.

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
    /// Without a name; and the folder where it gets one.
    #[cfg(target_os = "linux")]
    Unnamed(File, PathBuf),
    /// With a name of its own, removed when dropped.
    Named(NamedTempFile),
}

impl Draft {
    /// An empty file in the folder, of the mode of any new file.
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

    /// Where this process can open it.
    #[cfg(feature = "hub")]
    pub(crate) fn path(&self) -> std::path::PathBuf {
        match self {
            #[cfg(target_os = "linux")]
            Self::Unnamed(file, _) => unnamed::handle(file),
            Self::Named(file) => file.path().to_owned(),
        }
    }

    /// Gives the content, which has to be on disk, the name `target`, in one step.
    pub(crate) fn take_name(self, target: &Path) -> io::Result<()> {
        let (_open, name) = self.beside()?;
        name.persist(target).map_err(|error| error.error)
    }

    /// Does the same if nothing has that name yet.
    #[cfg(feature = "hub")]
    pub(crate) fn take_free_name(self, target: &Path) -> io::Result<()> {
        let (_open, name) = self.beside()?;
        name.persist_noclobber(target).map_err(|error| error.error)
    }

    /// The open file with a name of its own; its locks last as long as it is open.
    fn beside(self) -> io::Result<(File, TempPath)> {
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

/// A file with a name of its own, removed when dropped.
fn named(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = names();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The system takes the bits of the umask away.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
