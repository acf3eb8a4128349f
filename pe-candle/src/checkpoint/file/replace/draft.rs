//! New content before it takes the name of the old.
//!
//! On Linux it has no name at all until it is complete: what a process wrote that was killed is
//! then gone with it. Where files without a name do not exist, or cannot be given one later, it
//! has one of its own beside its place.

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

#[cfg(target_os = "linux")]
mod unnamed {
    use std::io::Seek;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::{AtFlags, CWD, linkat};

    use super::{File, NamedTempFile, Path, PathBuf, TempPath, io, named, names};

    /// Where the system shows what a process has open: the way to name it.
    pub(super) fn handle(file: &File) -> PathBuf {
        format!("/proc/self/fd/{}", file.as_raw_fd()).into()
    }

    /// A file without a name, if the folder's file system knows such.
    pub(super) fn open(folder: &Path) -> Option<File> {
        let mut options = File::options();
        options.read(true).write(true).mode(0o666);
        let file = options.custom_flags(libc::O_TMPFILE).open(folder).ok()?;
        // No process file system, no name.
        handle(&file).symlink_metadata().is_ok().then_some(file)
    }

    /// Gives the file a name that no other has.
    pub(super) fn link(file: &File, folder: &Path) -> io::Result<TempPath> {
        let handle = handle(file);
        let link = |path: &Path| {
            let flags = AtFlags::SYMLINK_FOLLOW;
            linkat(CWD, &handle, CWD, path, flags).map_err(io::Error::from)
        };
        Ok(names().make_in(folder, link)?.into_temp_path())
    }

    /// The same content and mode in a file with a name, for systems that forbid links.
    pub(super) fn copy(mut file: File, folder: &Path) -> io::Result<NamedTempFile> {
        let mut copy = named(folder)?;
        file.rewind()?;
        io::copy(&mut file, copy.as_file_mut())?;
        copy.as_file()
            .set_permissions(file.metadata()?.permissions())?;
        copy.as_file().sync_all()?;
        Ok(copy)
    }

    #[cfg(test)]
    mod tests {
        use std::io::Write;

        use super::*;

        #[test]
        fn a_copy_has_content_and_mode() {
            use std::os::unix::fs::PermissionsExt;
            let folder = tempfile::tempdir().unwrap();
            let Some(mut file) = open(folder.path()) else {
                return; // a file system that knows no such files
            };
            file.write_all(b"content").unwrap();
            let mode = std::fs::Permissions::from_mode(0o640);
            file.set_permissions(mode.clone()).unwrap();
            let copy = copy(file, folder.path()).unwrap();
            assert_eq!(std::fs::read(copy.path()).unwrap(), b"content");
            let found = copy.path().metadata().unwrap().permissions();
            assert_eq!(found.mode() & 0o777, mode.mode());
        }
    }
}
