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

impl Set {
    fn new(
        common: &Common,
        layer_type: Option<&str>,
        path: &str,
        map: Map<String, Value>,
        theta: f64,
    ) -> Self {
        Self {
            layer_type: layer_type.map(str::to_owned),
            path: path.to_owned(),
            map,
            theta,
            partial: None,
            head_dim: common.head_dim,
        }
    }
}

/// Returns the parameter dictionaries, one per type of layer.
pub(super) fn sets(
    reader: &mut Reader,
    common: &Common,
    types: &mut LayerTypes,
) -> Result<Vec<Set>> {
    let (path, mut given) = dictionary(reader, common)?;
    let widths = widths_by_layer(reader)?;
    drop_old_type(reader, common, path, &mut given);
    // A dictionary of nulls alone is a key without a value.
    let nested = given.values().any(Value::is_object)
        && given.values().all(|v| v.is_object() || v.is_null());
    if nested {
        return by_name(reader, common, types, path, given, &widths);
    }
    let theta = common.theta.unwrap_or(common.family.theta);
    match common.family.sets {
        Sets::Each => {
            let own = common.family.own();
            let set = |name: &String| Set::new(common, Some(name), path, given.clone(), theta);
            return Ok(own.keys().map(set).collect());
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
    let (slow, sliding) = match common.family.sets {
        Sets::One if local.is_some() || global.is_some() => (theta, Map::new()),
        // Olmo 3 has one base for both.
        Sets::ScaledFull(default) => (default, Map::new()),
        Sets::ScaledBoth(default) => (default, given.clone()),
        _ => return Ok(vec![Set::new(common, None, path, given, theta)]),
    };
    let head_dim = head_dim(reader, common, &widths, FULL)?;
    let full = Set::new(common, Some(FULL), path, given, global.unwrap_or(theta));
    let slow = local.unwrap_or(slow);
    Ok(vec![
        Set { head_dim, ..full },
        Set::new(common, Some(SLIDING), path, sliding, slow),
    ])
}

/// Returns the dictionary that transformers uses, with its path, or that of the model type.
fn dictionary(reader: &mut Reader, common: &Common) -> Result<(&'static str, Map<String, Value>)> {
    let mut take = |key: &str| -> Result<Option<Map<String, Value>>> {
        let map = match reader.take(key, "the parameters of the rotary embedding") {
            None => return Ok(None),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(error(reader.path(key), "is not a dictionary")),
        };
        let flat = !map.is_empty() && !map.values().any(Value::is_object);
        if flat && common.family.ignores.contains(&key) {
            let why = "has no types of layers, and no effect with this model type";
            reader.warn(&reader.path(key), why);
            return Ok(None);
        }
        Ok(Some(map).filter(|map| !map.is_empty()))
    };
    Ok(match (take("rope_scaling")?, take("rope_parameters")?) {
        (Some(scaling), parameters) => {
            if parameters.is_some_and(|parameters| scaling != parameters) {
                // transformers uses rope_scaling and does not report it.
                let at = reader.path("rope_parameters");
                reader.warn(&at, "is not used, because rope_scaling is there too");
            }
            ("rope_scaling", scaling)
        }
        (None, Some(parameters)) => ("rope_parameters", parameters),
        (None, None) => match common.family.sets {
            Sets::Compressed(_) => ("rope_parameters", Map::new()),
            _ => ("rope_parameters (this model type's)", common.family.own()),
        },
    })
}

/// Removes the old name of `rope_type` where transformers merges the dictionary with its own, and does not see it.
fn drop_old_type(reader: &mut Reader, common: &Common, path: &str, given: &mut Map<String, Value>) {
    let merged = match common.family.sets {
        Sets::ScaledFull(_) | Sets::ScaledBoth(_) => true,
        Sets::One => common.family.own().values().any(Value::is_object),
        _ => false,
    };
    if merged
        && path == "rope_scaling"
        && !given.contains_key("rope_type")
        && given.remove("type").is_some()
    {
        let why = "has no effect with this model type, which reads rope_type";
        reader.warn(&reader.path("rope_scaling.type"), why);
    }
}

/// Returns the sets of a dictionary of dictionaries, named by the type of layer.
fn by_name(
    reader: &mut Reader,
    common: &Common,
    types: &mut LayerTypes,
    path: &str,
    given: Map<String, Value>,
    widths: &BTreeMap<String, usize>,
) -> Result<Vec<Set>> {
    let own = match common.family.sets {
        Sets::Completed => common.family.own(),
        _ => Map::new(),
    };
    let mut sets = Vec::new();
    for (name, value) in given {
        let Value::Object(map) = value else {
            // null marks layers without a rotary embedding.
            let indices = types.types.iter().enumerate();
            let left = indices.filter(|(_, layer_type)| **layer_type == name);
            types.unrotated.extend(left.map(|(index, _)| index));
            types.unrotated_types.push(name);
            continue;
        };
        let stated = |key: &str| own.get(&name)?.get(key)?.as_f64();
        let theta = common.theta.or(stated("rope_theta"));
        let theta = theta.unwrap_or_else(|| default_theta(common, &name));
        let path = format!("{path}.{name}");
        sets.push(Set {
            partial: stated("partial_rotary_factor"),
            head_dim: head_dim(reader, common, widths, &name)?,
            ..Set::new(common, Some(&name), &path, map, theta)
        });
    }
    Ok(sets)
}

/// Returns the width of a head in a type of layer.
fn head_dim(
    reader: &mut Reader,
    common: &Common,
    widths: &BTreeMap<String, usize>,
    layer_type: &str,
) -> Result<usize> {
    if let Some(dim) = widths.get(layer_type) {
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
    let set = |layer_type, map, theta| Set::new(common, Some(layer_type), path, map, theta);
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

/// Returns the base of a named type of layer where neither the file nor the dictionary of the model type has one.
fn default_theta(common: &Common, layer_type: &str) -> f64 {
    match common.family.sets {
        Sets::ScaledFull(slow) | Sets::ScaledBoth(slow) if layer_type == SLIDING => slow,
        _ => common.family.theta,
    }
}
