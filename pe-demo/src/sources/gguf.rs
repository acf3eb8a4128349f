//! Models in GGUF files.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use pe_candle::checkpoint::open_regular;
use pe_core::gguf;
use pe_core::hf_config::{HfModel, HfRotary, UnknownKeys};

use super::file;
use crate::terminal::width::{clean, clean_path};

/// Returns whether a file begins as a GGUF file does.
pub(crate) fn is_gguf(path: &Path) -> bool {
    // Only regular files are opened.
    std::fs::metadata(path).is_ok_and(|file| file.is_file())
        && file::start(path, 4).is_ok_and(|start| start == b"GGUF")
}

/// Reads the positional encoding of a file, and returns it with the number of bytes of the file.
pub(crate) fn read(path: &Path) -> Result<(HfModel, usize)> {
    let name = || clean_path(path);
    let mut file = open_regular(path).with_context(name)?;
    let bytes = file.metadata().with_context(name)?.len();
    let model = gguf::read_file(&mut file, UnknownKeys::Warn)
        .map_err(|error| anyhow!("{}: {}", name(), clean(&error.to_string(), 400)))?;
    Ok((model, usize::try_from(bytes)?))
}

/// Reads the rotary embedding of a file. Keys that would be ignored are in its warnings.
pub(crate) fn read_rotary(path: &Path) -> Result<HfRotary> {
    match read(path)?.0 {
        HfModel::Rotary(model) => Ok(model),
        HfModel::Other(other) => bail!(
            "{}: architecture \"{}\" has no rotary embedding (scheme: {})",
            clean_path(path),
            clean(other.model_type.as_deref().unwrap_or_default(), 80),
            other.name()
        ),
    }
}
