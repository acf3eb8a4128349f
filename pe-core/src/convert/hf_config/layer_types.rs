//! The types of a model's layers, and the layers without a rotary embedding.

use std::collections::BTreeSet;

use serde_json::Value;

use super::family::{Family, Sets, Unrotated};
use super::reader::{self, Reader, error};
use crate::error::Result;

/// Names of types in models with attention in all layers. Files without `layer_types` may be asked for
/// them.
pub(super) const USUAL: [&str; 3] = ["full_attention", "sliding_attention", "chunked_attention"];

/// Types of layers that are not attention.
const NOT_ATTENTION: [&str; 8] = [
    "linear_attention",
    "conv",
    "mamba",
    "mamba2",
    "recurrent",
    "ssm",
    "mlp",
    "moe",
];

/// The number of Cohere 2 MoE's first layers, which have rules of their own.
const DENSE: &str = "first_k_dense_replace";

const FULL: &str = "full_attention";

/// The largest number of layers that is enumerated.
const MAX_LAYERS: usize = 1 << 16;

/// The types of the layers by index, as far as they are known, and the layers without a rotary
/// embedding.
#[derive(Default)]
pub(super) struct LayerTypes {
    pub(super) types: Vec<String>,
    pub(super) unrotated: Vec<usize>,
    pub(super) unrotated_types: Vec<String>,
}

pub(super) fn layer_types(reader: &mut Reader, family: Family) -> Result<LayerTypes> {
    let mut found = LayerTypes {
        types: stated(reader)?,
        ..LayerTypes::default()
    };
    if let Sets::Compressed(_) = family.sets {
        found.types = by_compression(reader, family, found.types)?;
    }
    let mut types = BTreeSet::new();
    match family.unrotated {
        Unrotated::Nothing => {}
        Unrotated::Full { key, period } | Unrotated::FullBesideSliding { key, period } => {
            let always = matches!(family.unrotated, Unrotated::Full { .. });
            let window = "null means that every layer sees the whole sequence, and rotates";
            // null is a value of its own here.
            let without = !always && reader.states_null("sliding_window");
            if without {
                reader.take_null("sliding_window", window);
            } else {
                types.insert(FULL.to_owned());
                let dense = reader.peek(DENSE).and_then(Value::as_u64);
                if always && dense.is_some_and(|layers| layers > 0) {
                    let at = reader.path(DENSE);
                    reader.warn(
                        &at,
                        "these layers rotate even if they see the whole sequence",
                    );
                }
                if found.types.is_empty() && period > 0 {
                    found.types = by_period(reader, family, key, period)?;
                }
            }
        }
        Unrotated::Listed { period } => found.unrotated = listed(reader, family, period)?,
        Unrotated::ByBase { period } => found.unrotated = by_base(reader, family, period)?,
    }
    for layer_type in &found.types {
        if NOT_ATTENTION.contains(&layer_type.as_str()) {
            types.insert(layer_type.clone());
        }
    }
    if !types.is_empty() {
        let indices = found.types.iter().enumerate();
        let left = indices.filter(|(_, layer_type)| types.contains(*layer_type));
        found.unrotated = left.map(|(index, _)| index).collect();
    }
    found.unrotated_types = types.into_iter().collect();
    Ok(found)
}

/// Reads `layer_types`.
fn stated(reader: &mut Reader) -> Result<Vec<String>> {
    let Some(value) = reader.take("layer_types", "the type of each layer") else {
        return Ok(Vec::new());
    };
    let path = reader.path("layer_types");
    let list = value
        .as_array()
        .ok_or_else(|| error(path.clone(), "is not a list of names"))?;
    list.iter().map(|name| reader::name(&path, name)).collect()
}

/// Returns the sets of DeepSeek V4's layers: `main` for layers that attend to a window alone, `compress` for the
/// others. Without `layer_types` and `compress_ratios`, all layers compress.
fn by_compression(reader: &mut Reader, family: Family, stated: Vec<String>) -> Result<Vec<String>> {
    const RATIOS: &str = "compress_ratios";
    let set = |compresses: bool| if compresses { "compress" } else { "main" }.to_owned();
    let layers = count(reader, family)?;
    let ratios = reader.take(
        RATIOS,
        "0 for layers that attend to a window alone, 4 or 128 for layers that compress",
    );
    let mut sets = Vec::new();
    if !stated.is_empty() {
        for name in &stated {
            sets.push(set(match name.as_str() {
                "sliding_attention" => false,
                "compressed_sparse_attention" | "heavily_compressed_attention" => true,
                _ => {
                    let problem = format!("{name:?} is not a type of this model's layers");
                    return Err(error(reader.path("layer_types"), problem));
                }
            }));
        }
    } else if let Some(ratios) = ratios {
        let path = reader.path(RATIOS);
        let list = ratios
            .as_array()
            .ok_or_else(|| error(path.clone(), "is not a list of numbers"))?;
        for ratio in list {
            sets.push(set(match reader::count(&path, ratio)? {
                0 => false,
                4 | 128 => true,
                other => return Err(error(path, format!("{other} is none of 0, 4, and 128"))),
            }));
        }
    } else {
        sets.resize(layers.unwrap_or(0), set(true));
    }
    // The last entries of released files are those of layers that transformers does not build.
    sets.truncate(layers.unwrap_or(sets.len()));
    Ok(sets)
}

/// Returns the number of layers, or `None` if it is not known.
fn count(reader: &mut Reader, family: Family) -> Result<Option<usize>> {
    let keys = ["num_hidden_layers", "n_layers", "n_layer"];
    let count = reader.first_count(&keys, "the number of layers")?;
    let count = count.or(family.layers);
    match count {
        Some(count) if count > MAX_LAYERS => {
            let problem = format!("{count} layers exceed {MAX_LAYERS}");
            Err(error(reader.path("num_hidden_layers"), problem))
        }
        count => Ok(count),
    }
}

/// Returns the types of layers where each `period`-th sees the whole sequence.
fn by_period(
    reader: &mut Reader,
    family: Family,
    key: &'static str,
    period: usize,
) -> Result<Vec<String>> {
    let meaning = "one layer of so many sees the whole sequence, and does not rotate";
    let period = match reader.peek(key).cloned() {
        // A pattern in letters needs layer_types in transformers.
        Some(Value::String(_)) => return Ok(Vec::new()),
        _ => reader.count(key, meaning)?.unwrap_or(period),
    };
    let Some(count) = count(reader, family)? else {
        return Ok(Vec::new());
    };
    let of = |index: usize| match index.saturating_add(1).checked_rem(period) {
        Some(0) => FULL,
        _ => "sliding_attention",
    };
    Ok((0..count).map(|index| of(index).to_owned()).collect())
}

/// Returns the layers that `no_rope_layers` marks by 0, or each `no_rope_layer_interval`-th.
fn listed(reader: &mut Reader, family: Family, period: usize) -> Result<Vec<usize>> {
    const LIST: &str = "no_rope_layers";
    const INTERVAL: &str = "no_rope_layer_interval";
    if let Some(value) = reader.take(LIST, "1 for layers that rotate, 0 for others") {
        let path = reader.path(LIST);
        let list = value
            .as_array()
            .ok_or_else(|| error(path.clone(), "is not a list of 0 and 1"))?;
        if !list.is_empty() {
            reader.take(INTERVAL, "no effect beside no_rope_layers");
            let flags = list.iter().map(|flag| match flag {
                Value::Bool(rotates) => Ok(*rotates),
                flag => reader::count(&path, flag).map(|flag| flag != 0),
            });
            return zeros(flags);
        }
    }
    let stated = reader.count(INTERVAL, "one layer of so many does not rotate")?;
    let period = stated.unwrap_or(period);
    let rotates = |index: usize| index.saturating_add(1).checked_rem(period) != Some(0);
    let count = count(reader, family)?.unwrap_or(0);
    zeros((0..count).map(|index| Ok(rotates(index))))
}

/// Returns the layers with a `layer_rope_theta` of 0. Without it, these are the last layer and each
/// `period`-th before it.
fn by_base(reader: &mut Reader, family: Family, period: usize) -> Result<Vec<usize>> {
    const KEY: &str = "layer_rope_theta";
    let Some(value) = reader.take(
        KEY,
        "the base of each layer; 0 for layers that do not rotate",
    ) else {
        let count = count(reader, family)?.unwrap_or(0);
        let from_last = |index: usize| count.saturating_sub(1).saturating_sub(index);
        let rotates = |index| from_last(index).checked_rem(period) != Some(0);
        return zeros((0..count).map(|index| Ok(rotates(index))));
    };
    let path = reader.path(KEY);
    let list = value
        .as_array()
        .ok_or_else(|| error(path.clone(), "is not a list of numbers"))?;
    let bases: Vec<f64> = list
        .iter()
        .map(|base| reader::number(&path, base))
        .collect::<Result<_>>()?;
    let mut other = bases.iter().filter(|base| **base != 0.0);
    let first = other.next();
    if other.any(|base| Some(base) != first) {
        reader.warn(&path, "layers have different bases, and one is used");
    }
    zeros(bases.into_iter().map(|base| Ok(base != 0.0)))
}

fn zeros(rotates: impl Iterator<Item = Result<bool>>) -> Result<Vec<usize>> {
    let mut indices = Vec::new();
    for (index, rotates) in rotates.enumerate() {
        if !rotates? {
            indices.push(index);
        }
    }
    Ok(indices)
}
