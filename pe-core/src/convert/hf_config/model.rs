//! The settings of a model, translated to its sets of frequencies.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::HfLayer;
use super::families;
use super::family::{Family, PLAIN, Sets};
use super::layer_types::{LayerTypes, layer_types};
use super::parameters::{Parameters, Surroundings};
use super::reader::{self, Reader, error};
use super::temperature;
use super::unread;
use crate::error::Result;
use crate::families::rotary::{RotaryConfig, ScoreTemperature, ntk_base};
use crate::spec::pair_layout::PairLayout;
use crate::spec::recipe::RotaryRecipe;
use crate::turns::scaling::RopeScaling;

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

/// Settings that apply to all layers.
struct Common {
    family: Family,
    head_dim: usize,
    /// Whether `head_dim` is the part of a head that has positions, all of which rotates.
    separate: bool,
    layout: PairLayout,
    theta: Option<f64>,
    partial: Option<f64>,
    longest: Option<usize>,
    original: Option<usize>,
}

/// Contents of a file about layers.
pub(super) struct Layers {
    pub(super) rotated: Vec<HfLayer>,
    pub(super) types: LayerTypes,
    pub(super) unrotated_temperature: Option<ScoreTemperature>,
}

/// Parameter dictionary of one type of layer, with its origin.
struct Set {
    layer_type: Option<String>,
    path: String,
    map: Map<String, Value>,
    /// The base if the dictionary has none.
    theta: f64,
    /// The rotated fraction of the head if the dictionary has none.
    partial: Option<f64>,
    head_dim: usize,
}

pub(super) fn layers(reader: &mut Reader, model_type: Option<&str>) -> Result<Layers> {
    let known =
        model_type.and_then(|name| families::family(name).or_else(|| families::on_request(name)));
    let path = reader.path("model_type");
    match (model_type, known.and_then(|family| family.differs)) {
        (Some(name), None) if known.is_none() => {
            let why = format!(
                "{name:?} is not known: half-split pairs over the whole head, and a base of 10000 where \
                 the file has none, are assumed"
            );
            reader.warn(&path, &why);
        }
        (_, Some(how)) => reader.warn(&path, how),
        (None, _) if reader.is_nested() => {
            reader.warn(
                &path,
                "is missing: half-split pairs over the whole head are assumed",
            );
        }
        _ => {}
    }
    let mut common = common(reader, known.unwrap_or(PLAIN))?;
    if model_type == Some("chatglm") {
        chatglm(reader, &mut common)?;
    }
    let mut types = layer_types(reader, common.family)?;
    let sets = sets(reader, &common, &mut types)?;
    let mut rotated = Vec::with_capacity(sets.len());
    for set in &sets {
        rotated.push(layer(reader, &common, set, model_type.is_some())?);
    }
    unread::tell(reader, &common.family, common.separate, &rotated);
    Ok(Layers {
        rotated,
        types,
        unrotated_temperature: temperature::unrotated(reader, &common.family)?,
    })
}

fn common(reader: &mut Reader, family: Family) -> Result<Common> {
    let (head_dim, separate) = head_dim(reader, family)?;
    const BASE: &str = "the base of the frequencies";
    let keys = ["rope_theta", "rotary_emb_base", "rotary_embedding_base"];
    // Some model types have a dictionary with a base, and use the key with another dictionary.
    let has = |key| matches!(reader.peek(key), Some(Value::Object(map)) if !map.is_empty());
    let mut theta = match has("rope_scaling") || has("rope_parameters") {
        true if family.uses("rope_theta beside rope_scaling") => {
            reader.number("rope_theta", BASE)?
        }
        _ => None,
    };
    if theta.is_none() {
        theta = first_number(reader, &family, &keys, BASE)?;
    }
    // DBRX keeps it with the settings of attention.
    let inside = |value: &Value| value.get("rope_theta").cloned();
    if theta.is_none()
        && family.uses("attn_config")
        && let Some(value) = reader.peek("attn_config").and_then(inside)
    {
        let path = "attn_config.rope_theta";
        theta = Some(reader::number(&reader.path(path), &value)?);
        reader.note(path, &value, BASE);
    }
    let fractions = ["partial_rotary_factor", "rotary_pct"];
    let mut partial = first_number(
        reader,
        &family,
        &fractions,
        "the rotated fraction of the head",
    )?;
    let rotary_dim = match family.uses("rotary_dim") {
        true => reader.count("rotary_dim", "the number of rotated columns")?,
        false => None,
    };
    if let Some(rotary_dim) = rotary_dim.or(family.rotary_dim.filter(|_| partial.is_none())) {
        if rotary_dim > head_dim {
            let problem = format!("{rotary_dim} exceeds head_dim {head_dim}");
            return Err(error(reader.path("rotary_dim"), problem));
        }
        // The part is multiplied by the width again and truncated, so rounding must not lose a
        // column.
        let part = rotary_dim as f64 / head_dim as f64;
        let back = (head_dim as f64 * part) as usize;
        partial = Some(if back < rotary_dim {
            part.next_up()
        } else {
            part
        });
    }
    let mut layout = family.layout;
    for key in ["rope_interleave", "rope_interleaved"] {
        let value = reader.take(key, "which columns form a pair");
        if let Some(interleaved) = value.as_ref().and_then(Value::as_bool) {
            layout = if interleaved {
                PairLayout::Interleaved
            } else {
                PairLayout::HalfSplit
            };
        }
    }
    reader.take("use_rope", "whether layers have a rotary embedding");
    Ok(Common {
        family,
        head_dim,
        separate,
        layout,
        theta,
        partial,
        longest: reader.first_count(
            &["max_position_embeddings", "n_positions", "max_seq_len"],
            "the longest sequence",
        )?,
        original: reader.count(
            "original_max_position_embeddings",
            "the original training length",
        )?,
    })
}

/// The keys that ChatGLM and GLM-4 have of their own.
fn chatglm(reader: &mut Reader, common: &mut Common) -> Result<()> {
    if reader.peek("position_encoding_2d") == Some(&Value::Bool(true)) {
        return Err(error(
            reader.path("position_encoding_2d"),
            "is true: the two-dimensional rotation of the first ChatGLM is not supported",
        ));
    }
    reader.take("position_encoding_2d", "false: one position per token");
    // Only ChatGLM2-6B-32K divides positions by it instead. Its file does not show that.
    if let Some(ratio) = reader.number("rope_ratio", "multiplies the base 10000")? {
        let theta = common.theta.unwrap_or(common.family.theta) * ratio;
        if !(theta.is_finite() && theta > 0.0) {
            let problem = format!("is {ratio}: the base would be {theta}");
            return Err(error(reader.path("rope_ratio"), problem));
        }
        common.theta = Some(theta);
    }
    match reader.take("original_rope", "which columns form a pair") {
        None | Some(Value::Bool(true)) => {}
        Some(Value::Bool(false)) => common.layout = PairLayout::HalfSplit,
        Some(_) => {
            let problem = "is neither true nor false";
            return Err(error(reader.path("original_rope"), problem));
        }
    }
    if common.longest.is_none() {
        common.longest = reader.count("seq_length", "the longest sequence")?;
    }
    Ok(())
}

const HEAD_DIM: &str = "the width of a head";

/// Returns the width of a head, and whether it is the part of a head that has positions.
fn head_dim(reader: &mut Reader, family: Family) -> Result<(usize, bool)> {
    let part = reader.count("qk_rope_head_dim", "the part of a head that has positions")?;
    if let Some(dim) = part.or(family.head_dim.filter(|_| family.separate)) {
        return Ok((dim, true));
    }
    Ok((width_of_heads(reader, family)?, false))
}

fn width_of_heads(reader: &mut Reader, family: Family) -> Result<usize> {
    if family.uses("head_dim")
        && let Some(dim) = reader.count("head_dim", HEAD_DIM)?
    {
        return Ok(dim);
    }
    // kv_channels of these models is half of it.
    let key = match family.twice {
        true => "attention_head_dim",
        false => "kv_channels",
    };
    if family.uses(key)
        && let Some(dim) = reader.count(key, HEAD_DIM)?
    {
        return Ok(dim);
    }
    if let Some(dim) = family.head_dim {
        return Ok(dim);
    }
    let hidden = reader.first_count(
        &["hidden_size", "n_embd", "d_model", "dim"],
        "divided by the number of heads: the width of a head",
    )?;
    let heads = reader.first_count(
        &[
            "num_attention_heads",
            "n_head",
            "n_heads",
            "encoder_num_attention_heads",
        ],
        "the number of heads",
    )?;
    match (hidden.or(family.hidden), heads.or(family.heads)) {
        (Some(hidden), Some(heads)) => hidden
            .saturating_mul(if family.twice { 2 } else { 1 })
            .checked_div(heads)
            .ok_or_else(|| error(reader.path("num_attention_heads"), "is 0")),
        _ => Err(error(
            reader.path("head_dim"),
            "is missing, and so is hidden_size or num_attention_heads",
        )),
    }
}

/// Reads the first number among the keys that have an effect.
fn first_number(
    reader: &mut Reader,
    family: &Family,
    keys: &[&str],
    meaning: &str,
) -> Result<Option<f64>> {
    for key in keys.iter().filter(|key| family.uses(key)) {
        if let Some(found) = reader.number(key, meaning)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the parameter dictionaries, one per type of layer.
fn sets(reader: &mut Reader, common: &Common, types: &mut LayerTypes) -> Result<Vec<Set>> {
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

fn layer(reader: &mut Reader, common: &Common, set: &Set, has_type: bool) -> Result<HfLayer> {
    let mut parameters = Parameters::new(set.path.clone(), &set.map);
    let base = parameters.number(reader, "rope_theta", "the base of the frequencies")?;
    // The warning about an unknown model type speaks of the base too.
    if base.is_none() && common.theta.is_none() && !has_type {
        let path = reader.path("rope_theta");
        reader.warn(&path, "is missing, and so is the model type: 10000 assumed");
    }
    let own = parameters.number(
        reader,
        "partial_rotary_factor",
        "the rotated fraction of the head",
    )?;
    let stated = own.or(set.partial).or(common.partial);
    let around = Surroundings {
        longest: common.longest.or(common.family.positions),
        original: common.original,
    };
    let mut scaling = parameters.scaling(reader, &around, stated)?;
    if let (RopeScaling::Yarn(yarn), Sets::Compressed(_)) = (&mut scaling, common.family.sets) {
        // transformers sets it in this model type.
        yarn.attention_factor = yarn.attention_factor.or(Some(1.0));
    }
    let alpha = match scaling {
        RopeScaling::Dynamic { .. } if common.family.ntk_alpha => parameters.ntk_alpha(reader)?,
        _ => None,
    };
    if alpha.is_some() {
        scaling = RopeScaling::Default;
    }
    let mrope = parameters.mrope(reader, common.family.mrope)?;
    let family = &common.family;
    let temperatures = temperature::rotated(reader, &mut parameters, family, &scaling, &around)?;
    parameters.finish(reader);
    // The functions of the other scalings use it in all model types.
    let stated = match scaling {
        RopeScaling::Default if !family.uses("rope_parameters.partial_rotary_factor") => {
            common.partial
        }
        _ => stated,
    };
    // The length of the class matters only to scalings that need one.
    let longest = match scaling.depends_on_seq_len() {
        true => around.longest,
        false => common.longest,
    };
    let rotary_dim = match scaling {
        RopeScaling::Proportional { .. } => set.head_dim,
        _ if common.separate => set.head_dim,
        _ => {
            let partial = stated.unwrap_or(common.family.partial);
            let dim = set.head_dim as f64 * partial;
            if !(dim >= 0.0 && dim < set.head_dim as f64 + 1.0) {
                let problem = format!("{partial} is not within 0..=1");
                return Err(error(reader.path("partial_rotary_factor"), problem));
            }
            dim as usize
        }
    };
    // transformers' tables have a pair for the last column of an odd width. Some models use it.
    let exponent_dim = (common.family.odd && !rotary_dim.is_multiple_of(2)).then_some(rotary_dim);
    let rotary_dim = rotary_dim.saturating_add(usize::from(exponent_dim.is_some()));
    if rotary_dim == 0 || !rotary_dim.is_multiple_of(2) {
        let problem = format!(
            "{rotary_dim} is not an even number above 0 (head_dim {}, partial_rotary_factor {})",
            set.head_dim,
            stated.unwrap_or(common.family.partial),
        );
        return Err(error("rotary_dim", problem));
    }
    let pairs = rotary_dim / 2;
    let mrope = match mrope {
        Some(stated) => {
            stated.check(pairs)?;
            Some(stated)
        }
        None => common.family.mrope.filter(|own| own.check(pairs).is_ok()),
    };
    let layer = HfLayer {
        layer_type: set.layer_type.clone(),
        head_dim: set.head_dim,
        layout: common.layout,
        rotary: RotaryConfig {
            rotary_dim,
            base: match alpha {
                Some(alpha) => ntk_base(base.unwrap_or(set.theta), alpha, rotary_dim)?,
                None => base.unwrap_or(set.theta),
            },
            scaling,
            max_position_embeddings: longest,
            recipe: RotaryRecipe::Exact,
            direction: common.family.direction,
            exponent_dim,
        },
        mrope,
        temperatures,
    };
    let part = unread::own_fraction(family);
    let whole_heads = match set.path.as_str() {
        "rope_scaling" => own.is_none() || layer.rotary.scaling == RopeScaling::Default,
        "rope_parameters" => layer.rotary.scaling == RopeScaling::Default,
        _ => false,
    };
    let whole_heads = match family.sets {
        Sets::Compressed(_) => own.is_none() && set.path.contains('.'),
        _ => part.is_some() && whole_heads,
    };
    if common.separate && whole_heads {
        let path = reader.path(&set.path);
        let why =
            "transformers computes the frequencies of whole heads then, of which a part rotates";
        reader.warn(&path, why);
    }
    let whole = reader.peek("head_dim").and_then(Value::as_f64);
    let whole = whole.filter(|_| common.separate);
    if let Some(own) = own
        && !unread::rotates(&layer, own, whole)
        && !(common.separate && part == Some(own))
    {
        let path = reader.path(&format!("{}.partial_rotary_factor", set.path));
        let used = unread::rotated(&layer);
        reader.warn(&path, &format!("{own} has no effect: {used}"));
    }
    Ok(layer)
}
