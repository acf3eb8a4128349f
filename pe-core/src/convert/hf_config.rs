//! Rotary specifications from a Hugging Face model's `config.json`.
//!
//! Files have two generations of keys, `rope_theta` with `rope_scaling`, and `rope_parameters`, and many
//! synonyms. [`read`] understands the keys that transformers 5.23 understands and reports the effect of
//! each ([`HfRotary::keys`]). A key that the class of the model type does not read has no effect here
//! either. A key about rotary embeddings without effect is an error. With
//! [`UnknownKeys::Warn`] it is listed by name instead. [`read_model`] also names the scheme of models
//! that encode positions in another way, [`read_bias`] reads the biases of attention, and [`read_learned`] the
//! learned table.
//!
//! ```
//! use pe_core::hf_config::{self, UnknownKeys};
//!
//! let json = r#"{
//!     "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
//!     "max_position_embeddings": 131072, "rope_theta": 500000.0,
//!     "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
//!                      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
//! }"#;
//! let model = hf_config::read(json, UnknownKeys::Reject)?;
//! let layer = model.layer(None)?;
//! assert_eq!((layer.head_dim, layer.rotary.rotary_dim), (128, 128));
//! assert_eq!(layer.rotary.scaling.name(), "llama3");
//! assert!(model.keys.iter().any(|key| key.path == "rope_scaling.factor"));
//! # Ok::<(), pe_core::Error>(())
//! ```

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod classes;
mod common;
mod families;
mod family;
mod layer_types;
mod model;
mod parameters;
mod reader;
mod schemes;
mod sets;
mod temperature;
mod unread;

use crate::error::{Error, Result};
use crate::families::rotary::{Mrope, RotaryConfig, ScoreTemperature};
use crate::spec::pair_layout::PairLayout;
use reader::Reader;

pub use schemes::bias::{HfBias, read_bias};
pub use schemes::learned::{HfLearned, read_learned};
pub use schemes::{HfPositions, HfScheme};

/// Treatment of keys that are about rotary embeddings and have no effect here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum UnknownKeys {
    /// They cause an error.
    #[default]
    Reject,
    /// They are listed in [`HfRotary::warnings`].
    Warn,
}

/// Rotary embeddings of a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HfRotary {
    /// Model type in the file. If the file has several, the text model's type.
    pub model_type: Option<String>,
    /// Sets of frequencies: one, or one per type of layer.
    pub layers: Vec<HfLayer>,
    /// Type of each layer, by index: those of `layer_types`, or of the model type's pattern. Empty
    /// if neither is known. For DeepSeek V4 these are the names of its sets, `main` and `compress`.
    pub layer_types: Vec<String>,
    /// Indices of the layers without a rotary embedding, as far as they are known.
    pub unrotated: Vec<usize>,
    /// Types of the layers without a rotary embedding.
    pub unrotated_types: Vec<String>,
    /// Factor of the queries in layers without a rotary embedding (`attn_temperature_tuning` of Llama 4).
    pub unrotated_temperature: Option<ScoreTemperature>,
    /// Every key that was read, with its effect, in the order of reading.
    pub keys: Vec<HfKey>,
    /// Keys without effect, and assumptions. Empty with [`UnknownKeys::Reject`].
    pub warnings: Vec<String>,
}

/// Rotary embedding of one type of layer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HfLayer {
    /// Name of these layers in the file, such as `sliding_attention`.
    pub layer_type: Option<String>,
    /// Width of a head, or of its part with positions if the two are separate (`qk_rope_head_dim`).
    pub head_dim: usize,
    /// Columns that form a pair, by the model type.
    pub layout: PairLayout,
    /// The specification, exact. Set its recipe to reproduce the roundings of transformers.
    pub rotary: RotaryConfig,
    /// Split of the pairs between time, height, and width, for models that have it.
    pub mrope: Option<Mrope>,
    /// Factors of the attention scores, which multiply queries or the softmax scale:
    /// `llama_4_scaling_beta` of Ministral 3 and Mistral 4, and `mscale_all_dim` of DeepSeek V2 and later
    /// models.
    ///
    /// ```
    /// use pe_core::ScoreTemperature;
    /// use pe_core::hf_config::{self, UnknownKeys};
    ///
    /// let json = r#"{"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "rope_theta": 10000.0,
    ///     "rope_scaling": {"type": "yarn", "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 1.0,
    ///                      "original_max_position_embeddings": 4096}}"#;
    /// let model = hf_config::read(json, UnknownKeys::Reject)?;
    /// let mscale = ScoreTemperature::Mscale { factor: 40.0, mscale_all_dim: 1.0 };
    /// assert_eq!(model.layer(None)?.temperatures, [mscale]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    pub temperatures: Vec<ScoreTemperature>,
}

/// A key of the file and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HfKey {
    /// Path of the key, such as `rope_scaling.factor`.
    pub path: String,
    /// Its value, shortened if it is long.
    pub value: String,
    /// Its effect.
    pub meaning: String,
}

impl HfRotary {
    /// Returns the set for a type of layer. Without a name, returns the only set.
    ///
    /// A file with one set and without `layer_types` has the types `full_attention`,
    /// `sliding_attention`, and `chunked_attention`, which are alike.
    ///
    /// # Errors
    /// Returns an error if
    /// - no such type exists, or several exist and no name is given,
    /// - layers of this type have no rotary embedding ([`Error::Unrotated`]).
    pub fn layer(&self, layer_type: Option<&str>) -> Result<&HfLayer> {
        if let Some(name) = layer_type
            && self.unrotated_types.iter().any(|known| known == name)
        {
            return Err(Error::Unrotated {
                layer_type: name.to_owned(),
            });
        }
        let exists = |name: &str| match self.layer_types.is_empty() {
            true => layer_types::USUAL.contains(&name),
            false => self.layer_types.iter().any(|known| known == name),
        };
        let found = match (layer_type, &self.layers[..]) {
            (None, [only]) => Some(only),
            (Some(name), [only]) if only.layer_type.is_none() => exists(name).then_some(only),
            (None, _) => None,
            (Some(name), layers) => layers
                .iter()
                .find(|layer| layer.layer_type.as_deref() == Some(name)),
        };
        found.ok_or_else(|| Error::LayerType {
            layer_type: layer_type.map(str::to_owned),
            known: self.known(),
        })
    }

    /// Returns the set of a layer by its index, or `None` if this layer has no rotary embedding.
    ///
    /// ```
    /// use pe_core::hf_config::{self, UnknownKeys};
    ///
    /// let json = r#"{"model_type": "smollm3", "hidden_size": 2048, "num_attention_heads": 16,
    ///                "num_hidden_layers": 36, "no_rope_layer_interval": 4}"#;
    /// let model = hf_config::read(json, UnknownKeys::Reject)?;
    /// assert!(model.layer_at(2)?.is_some());
    /// assert!(model.layer_at(3)?.is_none());
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if layers differ and the type of this layer is not known.
    pub fn layer_at(&self, index: usize) -> Result<Option<&HfLayer>> {
        if self.unrotated.contains(&index) {
            return Ok(None);
        }
        match (self.layer_types.get(index), &self.layers[..]) {
            (_, [only]) if only.layer_type.is_none() && self.unrotated_types.is_empty() => {
                Ok(Some(only))
            }
            (layer_type, _) => {
                let layer_type = layer_type.map(String::as_str);
                let unknown = || Error::LayerType {
                    layer_type: None,
                    known: self.known(),
                };
                self.layer(Some(layer_type.ok_or_else(unknown)?)).map(Some)
            }
        }
    }

    /// Returns the factors of the attention scores in a layer, by its index. Queries, or the softmax
    /// scale, are multiplied by each of them.
    ///
    /// ```
    /// use pe_core::hf_config::{self, UnknownKeys};
    ///
    /// let json = r#"{"model_type": "llama4_text", "num_hidden_layers": 4, "no_rope_layers": [1, 1, 1, 0],
    ///                "attn_temperature_tuning": true, "attn_scale": 0.1, "floor_scale": 8192}"#;
    /// let model = hf_config::read(json, UnknownKeys::Reject)?;
    /// assert!(model.temperatures_at(0)?.is_empty());
    /// assert_eq!(model.temperatures_at(3)?[0].factor::<f32>(8191)?, 1.0693147); // 1 + 0.1 ln 2
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`layer_at`](Self::layer_at).
    pub fn temperatures_at(&self, index: usize) -> Result<&[ScoreTemperature]> {
        Ok(match self.layer_at(index)? {
            Some(layer) => &layer.temperatures,
            None => self.unrotated_temperature.as_slice(),
        })
    }

    /// Returns the names of the types of layers.
    fn known(&self) -> Vec<String> {
        let named = self
            .layers
            .iter()
            .filter_map(|layer| layer.layer_type.clone());
        let mut known: Vec<String> = named.collect();
        if known.is_empty() {
            known = match self.layer_types.is_empty() {
                true => layer_types::USUAL.map(str::to_owned).to_vec(),
                false => self.layer_types.clone(),
            };
            known.retain(|name| !self.unrotated_types.contains(name));
            known.sort();
            known.dedup();
        }
        known
    }
}

/// A `config.json`: its text, or the parsed value.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum HfConfig<'a> {
    /// The text of the file.
    Text(&'a str),
    /// The parsed file.
    Json(&'a serde_json::Value),
}

impl<'a> From<&'a str> for HfConfig<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a String> for HfConfig<'a> {
    fn from(text: &'a String) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a serde_json::Value> for HfConfig<'a> {
    fn from(value: &'a serde_json::Value) -> Self {
        Self::Json(value)
    }
}

/// Positional encoding of a model.
#[derive(Debug, Clone, PartialEq)]
pub enum HfModel {
    /// Rotary embeddings.
    Rotary(HfRotary),
    /// Another scheme, or none.
    Other(HfPositions),
}

/// Reads the `config.json` of a model with rotary embeddings, from its text or from a
/// `serde_json::Value`.
///
/// # Examples
/// ```
/// use pe_core::Rotary;
/// use pe_core::hf_config::{self, UnknownKeys};
///
/// let json = r#"{"model_type": "qwen2", "hidden_size": 896, "num_attention_heads": 14,
///                "max_position_embeddings": 32768, "rope_theta": 1000000.0}"#;
/// let model = hf_config::read(json, UnknownKeys::Reject)?;
/// let rotary = Rotary::new(model.layer(None)?.rotary.clone())?;
/// assert_eq!(rotary.pairs(), 32);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the file is not a JSON object, or its values are of the wrong kind,
/// - the model encodes positions in another way ([`Error::NotRotary`]; [`read_model`] explains it),
/// - the model type is unknown and no key is about rotary embeddings,
/// - widths are missing or do not fit, or the rope type is unknown,
/// - keys have no effect and `unknown` is [`UnknownKeys::Reject`].
///
/// [`Rotary::new`](crate::Rotary::new) checks the values.
pub fn read<'a>(config: impl Into<HfConfig<'a>>, unknown: UnknownKeys) -> Result<HfRotary> {
    match read_model(config, unknown)? {
        HfModel::Rotary(rotary) => Ok(rotary),
        HfModel::Other(positions) => Err(positions.not_rotary()),
    }
}

/// Reads any model's `config.json`, from its text or from a `serde_json::Value`, and returns the model's
/// positional encoding.
///
/// The model types are the ones of transformers 5.23. If a model type has several schemes, keys such as
/// `alibi` and `position_embedding_type` select one. `unknown` affects only rotary embeddings.
///
/// # Examples
/// ```
/// use pe_core::hf_config::{self, HfModel, HfScheme, UnknownKeys};
///
/// let json = r#"{"model_type": "t5", "relative_attention_num_buckets": 32}"#;
/// let HfModel::Other(positions) = hf_config::read_model(json, UnknownKeys::Reject)? else {
///     panic!("T5 has no rotary embedding");
/// };
/// assert_eq!(positions.schemes, [HfScheme::RelativeBuckets]);
/// assert_eq!(positions.keys[1].path, "relative_attention_num_buckets");
/// assert_eq!(
///     hf_config::read(json, UnknownKeys::Reject).unwrap_err().to_string(),
///     "config.json: model_type \"t5\" has no rotary embedding (scheme: relative position buckets)"
/// );
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`read`] except [`Error::NotRotary`].
pub fn read_model<'a>(config: impl Into<HfConfig<'a>>, unknown: UnknownKeys) -> Result<HfModel> {
    let mut reader = Reader::new(config.into())?;
    let model_type = reader
        .take("model_type", "decides what keys that are missing mean")
        .map(|value| reader::name(&reader.path("model_type"), &value))
        .transpose()?;
    if let Some((schemes, note)) = schemes::find(&mut reader, model_type.as_deref())? {
        schemes::keys(&mut reader, &schemes);
        let (keys, warnings) = reader.finish();
        return Ok(HfModel::Other(HfPositions {
            model_type,
            schemes,
            note,
            keys,
            warnings,
        }));
    }
    let model::Layers {
        rotated,
        types,
        unrotated_temperature,
    } = model::layers(&mut reader, model_type.as_deref())?;
    let (keys, warnings) = reader.finish();
    if unknown == UnknownKeys::Reject && !warnings.is_empty() {
        return Err(Error::IgnoredKeys { keys: warnings });
    }
    Ok(HfModel::Rotary(HfRotary {
        model_type,
        layers: rotated,
        layer_types: types.types,
        unrotated: types.unrotated,
        unrotated_types: types.unrotated_types,
        unrotated_temperature,
        keys,
        warnings,
    }))
}
