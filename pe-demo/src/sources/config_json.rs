//! The `config.json` of a model.

use std::path::Path;

use anyhow::{Result, anyhow};
use pe_core::Error;
use pe_core::hf_config::{self, HfModel, HfRotary, UnknownKeys};

use super::file;
use crate::terminal::width::{clean, clean_path};

/// The largest file read. Those of released models have some ten kilobytes, or a megabyte where
/// they list labels.
const MAX_BYTES: u64 = 16 << 20;

/// Returns whether a file is treated as JSON and not as safetensors.
///
/// A safetensors file begins with the length of its header in eight bytes, of which the upper
/// ones are zero: readers accept no headers above 100 MB. JSON holds no zero bytes. So a zero
/// among the first eight bytes means safetensors. Without one, `{` as the first character or a
/// name that ends in `.json` means JSON. A file that cannot be opened is left to the reader of
/// safetensors files, who says why.
pub(crate) fn is_json(path: &Path) -> bool {
    let named = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("json"));
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file()) {
        return named;
    }
    let Ok(first) = file::start(path, 64) else {
        return false;
    };
    if first.iter().take(8).any(|byte| *byte == 0) {
        return false;
    }
    named || first.trim_ascii_start().starts_with(b"{")
}

/// Reads the text of a config.json.
pub(crate) fn read(path: &Path) -> Result<String> {
    file::text(path, MAX_BYTES, "a config.json")
}

/// Reads the rotary embedding of a file. Keys that would be ignored are in its warnings.
pub(crate) fn parse(file: &Path, text: &str) -> Result<HfRotary> {
    hf_config::read(text, UnknownKeys::Warn)
        .map_err(|error| anyhow!("{}: {}", clean_path(file), reason(&error)))
}

/// Reads the positional encoding of a file, whichever it is.
pub(crate) fn parse_any(file: &Path, text: &str) -> Result<HfModel> {
    hf_config::read_model(text, UnknownKeys::Warn)
        .map_err(|error| anyhow!("{}: {}", clean_path(file), reason(&error)))
}

/// Returns the message of an error without the name `config.json`.
pub(crate) fn reason(error: &Error) -> String {
    let text = error.to_string();
    clean(text.strip_prefix("config.json: ").unwrap_or(&text), 400)
}
