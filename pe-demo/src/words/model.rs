//! A model's `config.json`, and its positional encoding in words.

pub(crate) mod lengths;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, anyhow};
use pe_core::hf_config::{self, HfModel, HfRotary, UnknownKeys};
use pe_core::{Error, RopeScaling, RotaryConfig, RotaryRecipe};
use serde_json::Value;

use crate::sources::file;
use crate::terminal::page::{clean, path, short};

/// The largest file read; those of released models have some ten kilobytes, or a megabyte where
/// they list labels.
const MAX_BYTES: u64 = 16 << 20;

/// Whether a file is to be taken for JSON and not for safetensors.
///
/// A safetensors file begins with the length of its header in eight bytes, of which the upper
/// ones are zero: readers accept no headers above 100 MB. JSON holds no zero bytes. So a zero
/// among the first eight bytes means safetensors; without one, `{` as the first character or a
/// name that ends in `.json` means JSON. A file that cannot be opened is left to the reader of
/// safetensors files, who says why.
pub(crate) fn is_json(path: &Path) -> bool {
    let named = path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("json"));
    // Opening a pipe would wait for a writer.
    if !std::fs::metadata(path).is_ok_and(|file| file.is_file()) {
        return named;
    }
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut first));
    if read.is_err() || first.iter().take(8).any(|byte| *byte == 0) {
        return false;
    }
    named || first.trim_ascii_start().starts_with(b"{")
}

/// Reads the text of a config.json.
pub(crate) fn read(path: &Path) -> Result<String> {
    file::text(path, MAX_BYTES, "a config.json")
}

/// The rotary embedding that a file describes; what would be ignored is listed in its warnings.
pub(crate) fn parse(file: &Path, text: &str) -> Result<HfRotary> {
    hf_config::read(text, UnknownKeys::Warn)
        .map_err(|error| anyhow!("{}: {}", path(file), reason(&error)))
}

/// The positional encoding that a file describes, whichever it is.
pub(crate) fn parse_any(file: &Path, text: &str) -> Result<HfModel> {
    hf_config::read_model(text, UnknownKeys::Warn)
        .map_err(|error| anyhow!("{}: {}", path(file), reason(&error)))
}

/// An error without the name that config.json files usually have.
pub(crate) fn reason(error: &Error) -> String {
    let text = error.to_string();
    clean(text.strip_prefix("config.json: ").unwrap_or(&text), 400)
}

/// A scaling with its parameters: `llama3 scaling (factor 8, low_freq_factor 1)`.
pub(crate) fn scaling(scaling: &RopeScaling) -> String {
    let name = scaling.name();
    let parameters = match serde_json::to_value(scaling) {
        Ok(Value::Object(object)) => object.into_iter().next().map(|(_, value)| value),
        _ => None,
    };
    let list: Vec<String> = parameters
        .iter()
        .filter_map(Value::as_object)
        .flatten()
        .filter_map(|(key, value)| match value {
            Value::Null => None,
            Value::Array(list) => Some(format!("{key} of {} values", list.len())),
            Value::Number(number) => Some(format!("{key} {}", short(number.as_f64()?))),
            other => Some(format!("{key} {other}")),
        })
        .collect();
    match (scaling, list.is_empty()) {
        (RopeScaling::Default, _) => "no scaling".to_owned(),
        (RopeScaling::Custom { .. }, _) => format!("frequencies given ({})", list.join(", ")),
        (_, true) => format!("{name} scaling"),
        (_, false) => format!("{name} scaling ({})", list.join(", ")),
    }
}

/// A rotary embedding in words.
pub(crate) fn describe(config: &RotaryConfig) -> String {
    let base = match config.scaling {
        RopeScaling::Custom { .. } => String::new(),
        _ => format!("base {}, ", short(config.base)),
    };
    format!(
        "{} pairs of columns, {base}{}",
        config.rotary_dim / 2,
        scaling(&config.scaling)
    )
}

/// How the entries of a table are made.
pub(crate) fn recipe(recipe: RotaryRecipe) -> &'static str {
    match recipe {
        RotaryRecipe::Exact => "every entry the nearest number of its type",
        RotaryRecipe::HfF32 => "entries of the recipe hf-f32",
    }
}

/// A number of positions with four digits: `6.283`, `41,245`, `1.234e9`.
pub(crate) fn wavelength(positions: f64) -> String {
    if positions.is_infinite() {
        "infinite".to_owned()
    } else if positions < 1000.0 {
        let digits = if positions < 10.0 {
            3
        } else if positions < 100.0 {
            2
        } else {
            1
        };
        format!("{positions:.digits$}")
    } else if positions < 1e12 {
        crate::terminal::page::thousands(positions.round() as u64)
    } else {
        format!("{positions:.3e}")
    }
}

/// The shortest and the longest wavelength, and how many pairs do not turn at all.
pub(crate) fn wavelengths(all: &[f64]) -> String {
    let turning = || {
        all.iter()
            .copied()
            .filter(|wavelength| wavelength.is_finite())
    };
    let still = all.len() - turning().count();
    let text = match (turning().reduce(f64::min), turning().reduce(f64::max)) {
        (Some(shortest), Some(longest)) => format!(
            "a turn takes {} to {} positions",
            wavelength(shortest),
            wavelength(longest)
        ),
        _ => return "no pair turns".to_owned(),
    };
    match still {
        0 => text,
        1 => text + "; 1 pair does not turn",
        _ => format!("{text}; {still} pairs do not turn"),
    }
}
