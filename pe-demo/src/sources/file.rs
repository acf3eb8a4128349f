//! The one way to read a file into memory.

use std::fs::Metadata;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use pe_candle::checkpoint::open_regular;

use crate::terminal::width::clean_path;

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// Returns an error if the file cannot be read, is a directory, a pipe or a device, or has more
/// bytes. The message names it and `what` it should be.
pub(crate) fn bytes(path: &Path, most: u64, what: &str) -> Result<Vec<u8>> {
    let name = || clean_path(path);
    check(&std::fs::metadata(path).with_context(name)?, path)?;
    let file = open_regular(path).with_context(name)?;
    let metadata = file.metadata().with_context(name)?;
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
    let mut bytes = Vec::new();
    open_regular(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
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
