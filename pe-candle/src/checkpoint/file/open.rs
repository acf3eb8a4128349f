//! Opening files that others may replace at any moment.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

/// Opens a regular file for reading. A pipe would wait for a writer, and a device may have no end.
///
/// # Errors
/// Returns an error if the path cannot be opened or leads to anything but a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let regular = |metadata: Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("not a regular file")),
    };
    regular(std::fs::metadata(path)?)?;
    let file = open(path)?;
    // Another program may have replaced the file since.
    regular(file.metadata()?)?;
    Ok(file)
}

/// Opens a file for reading, without waiting even if it has become a pipe.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_os = "linux")]
    fn pipe_in_place_of_a_file_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let (sent, opened) = std::sync::mpsc::channel();
        std::thread::spawn({
            let pipe = pipe.clone();
            move || sent.send(super::open(&pipe).is_ok())
        });
        let wait = std::time::Duration::from_secs(10);
        assert_eq!(opened.recv_timeout(wait), Ok(true));
    }
}
