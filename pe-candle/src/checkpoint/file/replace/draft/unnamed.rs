//! Files without a name, which disappear with the process that writes them.

use std::io::Seek;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::{AtFlags, CWD, linkat};

use super::{File, NamedTempFile, Path, PathBuf, TempPath, io, named, names};

/// Returns the path under which the system shows an open file of this process.
pub(super) fn handle(file: &File) -> PathBuf {
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Creates a file without a name, if the folder's file system supports it.
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

/// Copies content and mode to a file with a name, for systems that forbid links.
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
    fn copies_have_content_and_mode() {
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
