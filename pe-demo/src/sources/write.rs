//! The one way to write a file.

use std::path::Path;

use anyhow::{Context, Result};

/// Writes a file atomically: its name means the old content or the new one.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    pe_candle::checkpoint::replace(path, |file| file.write_all(bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}
