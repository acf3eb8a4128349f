//! `pe-demo inspect config.json` or `model.gguf`: a model's positional encoding in words.

mod document;
mod words;

use std::io::Write;
use std::path::Path;

use anyhow::{Result, anyhow};
use pe_core::hf_config::{HfLayer, HfModel};

use self::document::Document;
use crate::sources::config_json::{self, reason};
use crate::sources::gguf;
use crate::terminal::emit::emit;
use crate::terminal::outcome::Outcome;
use crate::terminal::width::clean_path;
use crate::words::lengths::Rates;

/// A config.json or GGUF file: its name and its length.
struct Source<'a> {
    file: &'a Path,
    bytes: usize,
}

/// One type of layers with its frequencies.
type Layer<'a> = (&'a HfLayer, Rates);

pub(super) fn run(file: &Path, json: bool, out: &mut dyn Write) -> Result<Outcome> {
    let (model, bytes) = match gguf::is_gguf(file) {
        true => gguf::read(file)?,
        false => {
            let text = config_json::read(file)?;
            (config_json::parse_any(file, &text)?, text.len())
        }
    };
    let source = Source { file, bytes };
    match model {
        HfModel::Other(positions) => {
            let document = Document::other(&source, &positions);
            emit(out, json, &document, || {
                Ok(words::other(&source, &positions))
            })?;
        }
        HfModel::Rotary(model) => {
            let layers = model
                .layers
                .iter()
                .map(|layer| Ok((layer, Rates::new(&layer.rotary)?)))
                .collect::<pe_core::Result<Vec<_>>>()
                .map_err(|error| anyhow!("{}: {}", clean_path(file), reason(&error)))?;
            let document = Document::rotary(&source, &model, &layers)?;
            emit(out, json, &document, || {
                Ok(words::page(&source, &model, &layers))
            })?;
        }
    }
    Ok(Outcome::Success)
}
