//! The one way to write a file.

use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file atomically: its name leads to the old content or to the new.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    pe_candle::checkpoint::replace(path, |file| file.write_all(bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}
