//! The one way to read a file into memory.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};

use crate::terminal::width::clean_path;

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// Returns an error if the file cannot be read, is a directory, a pipe or a device, or has more
/// bytes; the message names it and `what` it should be.
pub(crate) fn bytes(path: &Path, most: u64, what: &str) -> Result<Vec<u8>> {
    let name = || clean_path(path);
    // Opening a pipe would wait for a writer: look first.
    check(&std::fs::metadata(path).with_context(name)?, path)?;
    let file = open(path).with_context(name)?;
    // Another file may have taken its place.
    let metadata = file.metadata().with_context(name)?;
    check(&metadata, path)?;
    let too_long = |bytes: u64| {
        let name = name();
        anyhow!("{name}: the file has {bytes} bytes, above the limit of {most} for {what}")
    };
    ensure!(metadata.len() <= most, too_long(metadata.len()));
    let mut bytes = Vec::new();
    // Files of /proc have no length, and others may grow.
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .with_context(name)?;
    let read = bytes.len() as u64;
    ensure!(read <= most, too_long(read.max(metadata.len())));
    Ok(bytes)
}

/// Reads the first bytes of a regular file, up to `most` of them.
///
/// # Errors
/// Returns an error if the file cannot be read or is not a regular file.
pub(crate) fn start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let regular = |metadata: Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("not a regular file")),
    };
    regular(std::fs::metadata(path)?)?;
    let file = open(path)?;
    regular(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
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

/// Reads a regular file of at most `most` bytes of UTF-8.
///
/// # Errors
/// Returns an error if the text is not UTF-8. Also returns the errors of [`bytes`].
pub(crate) fn text(path: &Path, most: u64, what: &str) -> Result<String> {
    let bytes = bytes(path, most, what)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("{}: the text is not UTF-8", clean_path(path)))
}

fn check(metadata: &Metadata, path: &Path) -> Result<()> {
    let name = clean_path(path);
    ensure!(!metadata.is_dir(), "{name}: is a directory, not a file");
    ensure!(metadata.is_file(), "{name}: not a regular file");
    Ok(())
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_put_in_place_of_a_file_is_not_waited_for() {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo runs").success());
        let (sent, opened) = std::sync::mpsc::channel();
        std::thread::spawn({
            let pipe = pipe.clone();
            move || sent.send(super::open(&pipe).is_ok())
        });
        let wait = std::time::Duration::from_secs(10);
        assert_eq!(opened.recv_timeout(wait), Ok(true));
    }
}
