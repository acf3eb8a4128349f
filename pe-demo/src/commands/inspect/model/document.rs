//! The explanation as JSON.

use anyhow::Result;
use pe_core::PairLayout;
use pe_core::hf_config::{HfKey, HfPositions, HfRotary};
use serde::Serialize;
use serde_json::Value;

use super::{Layer, Source};
use crate::words::lengths::{Set, Within};

/// A model's positional encoding. Fields are in the order of their names.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    bytes: usize,
    file: String,
    keys: Vec<Key<'a>>,
    layers: Vec<LayerDocument<'a>>,
    model_type: Option<&'a str>,
    not_understood: &'a [String],
    #[serde(flatten)]
    other: Option<Other>,
    unrotated_temperature: Value,
}

/// The positions of a model without a rotary embedding.
#[derive(Serialize)]
struct Other {
    note: Option<&'static str>,
    schemes: Vec<SchemeDocument>,
}

#[derive(Serialize)]
struct SchemeDocument {
    explanation: String,
    name: String,
}

#[derive(Serialize)]
struct Key<'a> {
    meaning: &'a str,
    path: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct LayerDocument<'a> {
    before_scaling: Option<WithinDocument<'a>>,
    /// Also in the order of its names.
    config: Value,
    head_dim: usize,
    layer_type: Option<&'a str>,
    mrope: Value,
    pair_layout: PairLayout,
    sets: Vec<SetDocument<'a>>,
    temperatures: Value,
    r#type: &'static str,
}

#[derive(Serialize)]
struct SetDocument<'a> {
    attention_factor: f64,
    inv_freq: Vec<f64>,
    seq_len: Option<usize>,
    sequences: &'a str,
    /// Null for a pair that does not rotate.
    wavelengths: &'a [f64],
    within: Vec<WithinDocument<'a>>,
}

#[derive(Serialize)]
struct WithinDocument<'a> {
    incomplete_pairs: &'a [usize],
    key: &'static str,
    positions: usize,
}

impl<'a> Document<'a> {
    /// Describes a model with a rotary embedding.
    pub(super) fn rotary(
        source: &Source<'_>,
        model: &'a HfRotary,
        layers: &'a [Layer<'_>],
    ) -> Result<Self> {
        Ok(Self {
            bytes: source.bytes,
            file: source.file.display().to_string(),
            keys: keys(&model.keys),
            layers: layers.iter().map(layer).collect::<Result<_>>()?,
            model_type: model.model_type.as_deref(),
            not_understood: &model.warnings,
            other: None,
            unrotated_temperature: serde_json::to_value(model.unrotated_temperature)?,
        })
    }

    /// Describes a model without one.
    pub(super) fn other(source: &Source<'_>, positions: &'a HfPositions) -> Self {
        let schemes = positions.schemes.iter().map(|scheme| SchemeDocument {
            explanation: scheme.explanation().to_owned(),
            name: scheme.name().to_owned(),
        });
        Self {
            bytes: source.bytes,
            file: source.file.display().to_string(),
            keys: keys(&positions.keys),
            layers: Vec::new(),
            model_type: positions.model_type.as_deref(),
            not_understood: &positions.warnings,
            other: Some(Other {
                note: positions.note,
                schemes: schemes.collect(),
            }),
            unrotated_temperature: Value::Null,
        }
    }
}

fn keys<'a>(keys: &'a [HfKey]) -> Vec<Key<'a>> {
    let key = |key: &'a HfKey| Key {
        meaning: &key.meaning,
        path: &key.path,
        value: &key.value,
    };
    keys.iter().map(key).collect()
}

fn layer<'a>((of, rates): &'a Layer<'_>) -> Result<LayerDocument<'a>> {
    let before = rates.before.as_ref();
    Ok(LayerDocument {
        before_scaling: before.map(|before| within(&before.within)),
        config: serde_json::to_value(&of.rotary)?,
        head_dim: of.head_dim,
        layer_type: of.layer_type.as_deref(),
        mrope: serde_json::to_value(of.mrope)?,
        pair_layout: of.layout,
        sets: rates.sets.iter().map(set).collect(),
        temperatures: serde_json::to_value(&of.temperatures)?,
        r#type: of.rotary.scaling.name(),
    })
}

fn set(set: &Set) -> SetDocument<'_> {
    SetDocument {
        attention_factor: set.frequencies.attention_factor(),
        inv_freq: set.frequencies.inv_freq(),
        seq_len: set.seq_len,
        sequences: &set.sequences,
        wavelengths: &set.wavelengths,
        within: set.within.iter().map(within).collect(),
    }
}

fn within(within: &Within) -> WithinDocument<'_> {
    WithinDocument {
        incomplete_pairs: &within.incomplete,
        key: within.key,
        positions: within.positions,
    }
}
