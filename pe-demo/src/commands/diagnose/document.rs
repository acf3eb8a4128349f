//! The diagnosis of a model.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use pe_core::hf_config::{HfLayer, HfModel, HfPositions, HfRotary};
use serde::Serialize;

use super::distinct::{Distinct, Float};
use super::facts::Facts;
use super::schemes::{self, Scheme, bytes};
use super::waves::{Waves, trained};
use crate::sources::config_json::reason;
use crate::terminal::outcome::BadUsage;
use crate::terminal::width::clean_path;
use crate::words::lengths::{LONGEST, ORIGINAL, original};

/// The diagnosis.
#[derive(Debug, Serialize)]
pub(super) struct Diagnosis {
    pub(super) file: String,
    pub(super) model_type: Option<String>,
    pub(super) dtype: &'static str,
    /// Number of positions; null if neither the file nor an option states it.
    pub(super) length: Option<u64>,
    /// The key that states it; null for the option.
    pub(super) length_key: Option<String>,
    /// Positions in the type.
    pub(super) positions: Option<Distinct>,
    /// Rotary embeddings, one for each type of layers.
    pub(super) layers: Vec<Layer>,
    /// Layers that do not rotate, as far as they are known.
    pub(super) unrotated_layers: usize,
    /// Schemes of models without a rotary embedding.
    pub(super) schemes: Vec<Scheme>,
    pub(super) note: Option<&'static str>,
    pub(super) not_understood: Vec<String>,
}

/// The rotary embedding of a type of layers.
#[derive(Debug, Serialize)]
pub(super) struct Layer {
    pub(super) layer_type: Option<String>,
    #[serde(flatten)]
    pub(super) waves: Waves,
    pub(super) memory: Memory,
}

/// Memory of cosines and sines.
#[derive(Debug, Serialize)]
pub(super) struct Memory {
    /// Bytes of the two tables of all positions.
    pub(super) table: u64,
    /// Number of layers that use them, if it is known.
    pub(super) layers: Option<u64>,
    /// Bytes if each layer has tables of its own.
    pub(super) one_per_layer: Option<u64>,
}

impl Diagnosis {
    /// Diagnoses a model with activations of the type `T`.
    pub(super) fn of<T: Float>(path: &Path, facts: &Facts, length: Option<u64>) -> Result<Self> {
        let plain = Self {
            file: path.display().to_string(),
            model_type: None,
            dtype: T::NAME,
            length,
            length_key: None,
            positions: None,
            layers: Vec::new(),
            unrotated_layers: 0,
            schemes: Vec::new(),
            note: None,
            not_understood: Vec::new(),
        };
        match &facts.model {
            HfModel::Rotary(model) => plain.rotary::<T>(path, facts, model),
            HfModel::Other(positions) => plain.other::<T>(facts, positions),
        }
        .map_err(|error| match error.downcast_ref::<pe_core::Error>() {
            Some(error) => anyhow!("{}: {}", clean_path(path), reason(error)),
            None => error,
        })
    }

    fn rotary<T: Float>(mut self, path: &Path, facts: &Facts, model: &HfRotary) -> Result<Self> {
        if model.layers.is_empty() {
            bail!(
                "{}: no type of layers has a rotary embedding",
                clean_path(path)
            );
        }
        if self.length.is_none() {
            let (length, key) = longest(model).ok_or_else(|| {
                BadUsage(format!(
                    "--length is needed: no key of {} says how long sequences become",
                    clean_path(path)
                ))
            })?;
            (self.length, self.length_key) = (Some(length), Some(key.to_owned()));
        }
        let length = self.length.unwrap_or(1);
        self.positions = Some(Distinct::of::<T>(length));
        self.unrotated_layers = model.unrotated.len();
        for layer in &model.layers {
            let waves = Waves::of::<T>(&layer.rotary, trained(&layer.rotary), length)?;
            let table = (2 * waves.pairs as u64 * bytes::<T>()).saturating_mul(length);
            let layers = count(facts, model, layer);
            self.layers.push(Layer {
                layer_type: layer.layer_type.clone(),
                waves,
                memory: Memory {
                    table,
                    layers,
                    one_per_layer: layers.map(|layers| table.saturating_mul(layers)),
                },
            });
        }
        self.model_type = model.model_type.clone();
        self.not_understood = model.warnings.clone();
        Ok(self)
    }

    fn other<T: Float>(mut self, facts: &Facts, positions: &HfPositions) -> Result<Self> {
        if self.length.is_none()
            && let Some((length @ 1..=pe_core::POSITIONS, key)) = schemes::longest(positions)
        {
            (self.length, self.length_key) = (Some(length), Some(key.to_owned()));
        }
        self.positions = self.length.map(Distinct::of::<T>);
        self.schemes = Scheme::all::<T>(facts, positions, self.length)?;
        self.model_type = positions.model_type.clone();
        self.note = positions.note;
        self.not_understood = positions.warnings.clone();
        Ok(self)
    }
}

/// Returns the longest sequence that a file states, and the key.
fn longest(model: &HfRotary) -> Option<(u64, &'static str)> {
    let stated = |layer: &HfLayer| {
        let config = &layer.rotary;
        let longest = config.max_position_embeddings.map(|n| (n as u64, LONGEST));
        longest.or_else(|| original(&config.scaling).map(|n| (n as u64, ORIGINAL)))
    };
    let all = model.layers.iter().filter_map(stated);
    all.filter(|(length, _)| (1..=pe_core::POSITIONS).contains(length))
        .max_by_key(|(length, _)| *length)
}

/// Returns the number of layers with a set of frequencies.
fn count(facts: &Facts, model: &HfRotary, layer: &HfLayer) -> Option<u64> {
    match (&layer.layer_type, &model.layer_types[..]) {
        (Some(name), types @ [_, ..]) => {
            let same = types.iter().enumerate();
            let same = same.filter(|(at, of)| *of == name && !model.unrotated.contains(at));
            Some(same.count() as u64)
        }
        (Some(_), []) if model.layers.len() > 1 => None,
        _ => facts.layers?.checked_sub(model.unrotated.len() as u64),
    }
}
