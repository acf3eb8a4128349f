//! The dictionaries of parameters of a model, one for each type of layer.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::common::{Common, first_number};
use super::family::Sets;
use super::layer_types::LayerTypes;
use super::reader::{self, Reader, error};
use crate::error::Result;

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

/// Parameter dictionary of one type of layer, with its origin.
pub(super) struct Set {
    pub(super) layer_type: Option<String>,
    pub(super) path: String,
    pub(super) map: Map<String, Value>,
    /// The base if the dictionary has none.
    pub(super) theta: f64,
    /// The rotated fraction of the head if the dictionary has none.
    pub(super) partial: Option<f64>,
    pub(super) head_dim: usize,
}

/// Returns the parameter dictionaries, one per type of layer.
pub(super) fn sets(
    reader: &mut Reader,
    common: &Common,
    types: &mut LayerTypes,
) -> Result<Vec<Set>> {
    let theta = common.theta.unwrap_or(common.family.theta);
    let mut dictionary = |key: &str| -> Result<Option<Map<String, Value>>> {
        let map = match reader.take(key, "the parameters of the rotary embedding") {
            None => return Ok(None),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(error(reader.path(key), "is not a dictionary")),
        };
        let flat = !map.is_empty() && !map.values().any(Value::is_object);
        if flat && common.family.ignores.contains(&key) {
            let path = reader.path(key);
            reader.warn(
                &path,
                "has no types of layers, and no effect with this model type",
            );
            return Ok(None);
        }
        Ok(Some(map).filter(|map| !map.is_empty()))
    };
    let scaling = dictionary("rope_scaling")?;
    let parameters = dictionary("rope_parameters")?;
    let (path, mut given) = match (scaling, parameters) {
        (Some(scaling), Some(parameters)) if scaling != parameters => {
            // transformers uses rope_scaling and does not report it.
            let at = reader.path("rope_parameters");
            reader.warn(&at, "is not used, because rope_scaling is there too");
            drop(parameters);
            ("rope_scaling", scaling)
        }
        (Some(scaling), _) => ("rope_scaling", scaling),
        (None, Some(parameters)) => ("rope_parameters", parameters),
        (None, None) => match common.family.sets {
            Sets::Compressed(_) => ("rope_parameters", Map::new()),
            _ => ("rope_parameters (this model type's)", common.family.own()),
        },
    };
    let by_layer = widths_by_layer(reader)?;
    let heads = |reader: &mut Reader, layer_type: &str| -> Result<usize> {
        if let Some(dim) = by_layer.get(layer_type) {
            return Ok(*dim);
        }
        if layer_type == FULL {
            let meaning = "the width of a head in layers of full attention";
            let stated = reader.count("global_head_dim", meaning)?;
            if let Some(dim) = stated.or(common.family.global_head_dim) {
                return Ok(dim);
            }
        }
        Ok(common.head_dim)
    };
    let own = common.family.own();
    let merged = match common.family.sets {
        Sets::ScaledFull(_) | Sets::ScaledBoth(_) => true,
        Sets::One => own.values().any(Value::is_object),
        _ => false,
    };
    if merged
        && path == "rope_scaling"
        && !given.contains_key("rope_type")
        && given.remove("type").is_some()
    {
        let at = reader.path("rope_scaling.type");
        reader.warn(
            &at,
            "has no effect with this model type, which reads rope_type",
        );
    }
    // A dictionary of nulls alone is a key without a value.
    let nested = given.values().any(Value::is_object)
        && given.values().all(|v| v.is_object() || v.is_null());
    if nested {
        let mut sets = Vec::new();
        for (name, value) in &given {
            let Value::Object(map) = value else {
                // null marks layers without a rotary embedding.
                types.unrotated_types.push(name.clone());
                let of = |layer_type: &String| layer_type == name;
                let indices = types.types.iter().enumerate();
                let left = indices.filter(|(_, layer_type)| of(layer_type));
                types.unrotated.extend(left.map(|(index, _)| index));
                continue;
            };
            let of_type = own
                .get(name)
                .filter(|_| common.family.sets == Sets::Completed);
            let stated = |key: &str| of_type.and_then(|own| own.get(key)?.as_f64());
            let usual = default_theta(common, name, theta);
            sets.push(Set {
                layer_type: Some(name.clone()),
                path: format!("{path}.{name}"),
                map: map.clone(),
                theta: common.theta.or(stated("rope_theta")).unwrap_or(usual),
                partial: stated("partial_rotary_factor"),
                head_dim: heads(reader, name)?,
            });
        }
        return Ok(sets);
    }
    let one = |map| {
        vec![Set {
            layer_type: None,
            path: path.to_owned(),
            map,
            theta,
            partial: None,
            head_dim: common.head_dim,
        }]
    };
    match common.family.sets {
        Sets::Each => {
            let types = own.into_iter();
            let of = |(layer_type, _)| Set {
                layer_type: Some(layer_type),
                path: path.to_owned(),
                map: given.clone(),
                theta,
                partial: None,
                head_dim: common.head_dim,
            };
            return Ok(types.map(of).collect());
        }
        Sets::Compressed(base) => return compressed(reader, common, path, given, base),
        _ => {}
    }
    let local = first_number(
        reader,
        &common.family,
        &["rope_local_base_freq", "local_rope_theta"],
        "the base in layers of sliding attention",
    )?;
    let global = first_number(
        reader,
        &common.family,
        &["global_rope_theta"],
        "the base in layers of full attention",
    )?;
    let (slow, both) = match common.family.sets {
        Sets::One if local.is_none() && global.is_none() => return Ok(one(given)),
        Sets::One => (local.unwrap_or(theta), false),
        Sets::Each | Sets::Completed | Sets::Compressed(_) => return Ok(one(given)),
        // Olmo 3 has one base for both.
        Sets::ScaledFull(default) => (local.unwrap_or(default), false),
        Sets::ScaledBoth(default) => (local.unwrap_or(default), true),
    };
    let sliding = if both { given.clone() } else { Map::new() };
    Ok(vec![
        Set {
            layer_type: Some(FULL.to_owned()),
            path: path.to_owned(),
            map: given,
            theta: global.unwrap_or(theta),
            partial: None,
            head_dim: heads(reader, FULL)?,
        },
        Set {
            layer_type: Some(SLIDING.to_owned()),
            path: path.to_owned(),
            map: sliding,
            theta: slow,
            partial: None,
            head_dim: common.head_dim,
        },
    ])
}

/// Returns the sets of DeepSeek V4: layers that compress have their own base and the dictionary, others
/// have neither.
fn compressed(
    reader: &mut Reader,
    common: &Common,
    path: &str,
    mut given: Map<String, Value>,
    base: f64,
) -> Result<Vec<Set>> {
    const BASE: &str = "the base in layers that compress";
    let base = reader.number("compress_rope_theta", BASE)?.unwrap_or(base);
    if given
        .remove("rope_theta")
        .is_some_and(|theta| theta.as_f64() != Some(base))
    {
        let at = reader.path(&format!("{path}.rope_theta"));
        reader.warn(&at, "has no effect with this model type");
    }
    let set = |layer_type: &str, map, theta| Set {
        layer_type: Some(layer_type.to_owned()),
        path: path.to_owned(),
        map,
        theta,
        partial: None,
        head_dim: common.head_dim,
    };
    let main = common.theta.unwrap_or(10_000.0);
    Ok(vec![
        set("compress", given, base),
        set("main", Map::new(), main),
    ])
}

/// Returns the widths of heads that `per_layer_config` states, by the types of these layers.
fn widths_by_layer(reader: &mut Reader) -> Result<BTreeMap<String, usize>> {
    const KEY: &str = "per_layer_config";
    let Some(Value::Object(layers)) = reader.peek(KEY).cloned() else {
        return Ok(BTreeMap::new());
    };
    let types = reader
        .peek("layer_types")
        .and_then(Value::as_array)
        .cloned();
    let mut widths = BTreeMap::new();
    for (index, settings) in layers {
        let Some(value) = settings.get("head_dim") else {
            continue;
        };
        let path = format!("{KEY}.{index}.head_dim");
        let dim = reader::count(&reader.path(&path), value)?;
        let layer_type = index
            .parse::<usize>()
            .ok()
            .and_then(|index| types.as_ref()?.get(index)?.as_str())
            .ok_or_else(|| error(reader.path(&path), "is of a layer that layer_types lacks"))?;
        reader.note(
            &path,
            value,
            format!("the width of a head in {layer_type} layers"),
        );
        if let Some(other) = widths.insert(layer_type.to_owned(), dim)
            && other != dim
        {
            let problem = format!("is {dim}, but {other} in another {layer_type} layer");
            return Err(error(reader.path(&path), problem));
        }
    }
    Ok(widths)
}

/// Returns the base of a named type of layer with no base in its dictionary.
fn default_theta(common: &Common, layer_type: &str, theta: f64) -> f64 {
    match common.family.sets {
        Sets::ScaledFull(slow) | Sets::ScaledBoth(slow)
            if layer_type == SLIDING && common.theta.is_none() =>
        {
            slow
        }
        _ => theta,
    }
}
