//! Further numbers of a model's file.

use std::path::Path;

use anyhow::{Result, anyhow};
use pe_candle::checkpoint::open_regular;
use pe_core::gguf::{GgufHeader, GgufValue};
use pe_core::hf_config::{self, HfBias, HfKey, HfModel};
use serde_json::Value;

use crate::sources::config_json::{self, reason};
use crate::sources::gguf;
use crate::terminal::width::clean_path;

/// A model and the numbers that are not about its positions.
pub(super) struct Facts {
    pub(super) model: HfModel,
    /// Number of layers.
    pub(super) layers: Option<u64>,
    /// Width of the embeddings.
    pub(super) width: Option<u64>,
    /// The number of the padding token.
    pub(super) padding: Option<u64>,
    /// The bias of the attention scores.
    pub(super) bias: Option<HfBias>,
}

impl Facts {
    /// Reads a config.json or a GGUF file.
    pub(super) fn read(path: &Path) -> Result<Self> {
        match gguf::is_gguf(path) {
            true => Self::of_gguf(path),
            false => Self::of_config(path),
        }
    }

    fn of_config(path: &Path) -> Result<Self> {
        let text = config_json::read(path)?;
        let model = config_json::parse_any(path, &text)?;
        let file: Value = serde_json::from_str(&text).unwrap_or_default();
        // Where the settings of the text model are, the model type is.
        let keys = keys(&model);
        let place = keys
            .iter()
            .find_map(|key| key.path.strip_suffix("model_type"));
        let settings = place.unwrap_or_default().split_terminator('.');
        let settings = settings.fold(&file, |object, name| &object[name]);
        let number = |names: &[&str]| names.iter().find_map(|name| settings[name].as_u64());
        let bias = match model {
            HfModel::Other(_) => hf_config::read_bias(&text)
                .map_err(|error| anyhow!("{}: {}", clean_path(path), reason(&error)))?,
            HfModel::Rotary(_) => None,
        };
        Ok(Self {
            layers: number(&["num_hidden_layers", "n_layer", "n_layers", "num_layers"]),
            width: number(&["hidden_size", "d_model", "n_embd", "emb_dim", "dim"]),
            padding: number(&["pad_token_id"]),
            bias,
            model,
        })
    }

    fn of_gguf(path: &Path) -> Result<Self> {
        let (model, bytes) = gguf::read(path)?;
        let file = std::io::BufReader::new(open_regular(path)?);
        let header = GgufHeader::read(file, bytes as u64).map_err(|error| anyhow!("{error}"))?;
        let number = |end: &str| {
            let mut entries = header.metadata.iter();
            let entry = entries.find(|(name, _)| name.ends_with(end));
            entry.and_then(|(_, value)| match value {
                GgufValue::Unsigned(number) => Some(*number),
                _ => None,
            })
        };
        Ok(Self {
            layers: number(".block_count"),
            width: number(".embedding_length"),
            padding: None,
            bias: None,
            model,
        })
    }
}

/// Returns the keys that are about positions.
pub(super) fn keys(model: &HfModel) -> &[HfKey] {
    match model {
        HfModel::Rotary(model) => &model.keys,
        HfModel::Other(positions) => &positions.keys,
    }
}
