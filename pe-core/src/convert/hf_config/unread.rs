//! Keys of a file that its model type does not use, with another value than the one that is used.

use serde_json::Value;

use super::HfLayer;
use super::common::Common;
use super::family::{Family, Sets};
use super::reader::Reader;
use crate::turns::scaling::RopeScaling;

const BASES: [&str; 6] = [
    "rope_theta",
    "rotary_emb_base",
    "rotary_embedding_base",
    "rope_local_base_freq",
    "local_rope_theta",
    "global_rope_theta",
];

/// Returns whether a fraction of the head, or of a head of `whole` columns, is what rotates.
fn rotates(layer: &HfLayer, fraction: f64, whole: Option<f64>) -> bool {
    if let RopeScaling::Proportional {
        partial_rotary_factor,
        ..
    } = layer.rotary.scaling
    {
        return partial_rotary_factor == fraction;
    }
    let dim = (whole.unwrap_or(layer.head_dim as f64) * fraction) as usize;
    dim == layer.rotary.rotary_dim || Some(dim) == layer.rotary.exponent_dim
}

/// Returns how much of a head rotates, in words.
fn rotated(layer: &HfLayer) -> String {
    format!(
        "{} of {} columns rotate",
        layer.rotary.rotary_dim, layer.head_dim
    )
}

/// Returns the rotated fraction that the dictionary of the model type has.
fn own_fraction(family: &Family) -> Option<f64> {
    family.own().get("partial_rotary_factor")?.as_f64()
}

/// Returns the width that the file states for the whole head where only a separate part of it rotates.
fn whole_head(reader: &Reader, separate: bool) -> Option<f64> {
    let stated = reader.peek("head_dim").and_then(Value::as_f64);
    stated.filter(|_| separate)
}

/// Warns if a fraction of the head in the dictionary at `path` is not what transformers uses.
pub(super) fn tell_of_fraction(
    reader: &mut Reader,
    common: &Common,
    path: &str,
    own: Option<f64>,
    layer: &HfLayer,
) {
    let part = own_fraction(&common.family);
    let plain = layer.rotary.scaling == RopeScaling::Default;
    let whole_heads = match (common.family.sets, path) {
        (Sets::Compressed(_), path) => own.is_none() && path.contains('.'),
        (_, "rope_scaling") => part.is_some() && (own.is_none() || plain),
        (_, "rope_parameters") => part.is_some() && plain,
        _ => false,
    };
    if common.separate && whole_heads {
        let why =
            "transformers computes the frequencies of whole heads then, of which a part rotates";
        reader.warn(&reader.path(path), why);
    }
    let whole = whole_head(reader, common.separate);
    if let Some(own) = own
        && !rotates(layer, own, whole)
        && !(common.separate && part == Some(own))
    {
        let path = reader.path(&format!("{path}.partial_rotary_factor"));
        let used = rotated(layer);
        reader.warn(&path, &format!("{own} has no effect: {used}"));
    }
}

/// Warns of each key with a value that no layer has.
pub(super) fn tell(reader: &mut Reader, family: &Family, separate: bool, layers: &[HfLayer]) {
    let Some(first) = layers.first() else {
        return;
    };
    let mut bases: Vec<_> = layers.iter().map(|l| l.rotary.base.to_string()).collect();
    bases.dedup();
    let used = format!("the base is {}", bases.join(", "));
    // They multiply the base.
    if !reader.was_taken("rope_ratio") && !family.ntk_alpha {
        for key in BASES {
            check(reader, key, &used, |value| {
                layers.iter().any(|layer| layer.rotary.base == value)
            });
        }
        let inside = reader
            .peek("attn_config")
            .and_then(|value| value.get("rope_theta"))
            .and_then(Value::as_f64);
        if let Some(value) = inside
            && !layers.iter().any(|layer| layer.rotary.base == value)
        {
            let path = reader.path("attn_config.rope_theta");
            reader.warn(&path, &format!("{value} has no effect: {used}"));
        }
    }
    let used = rotated(first);
    let whole = whole_head(reader, separate);
    for key in ["partial_rotary_factor", "rotary_pct"] {
        check(reader, key, &used, |value| {
            layers.iter().any(|layer| rotates(layer, value, whole))
        });
    }
    check(reader, "rotary_dim", &used, |value| {
        layers
            .iter()
            .any(|layer| layer.rotary.rotary_dim as f64 == value)
    });
    if family.twice {
        return;
    }
    let used = format!("a head has {} columns", first.head_dim);
    let is_width = |value: f64| layers.iter().any(|layer| layer.head_dim as f64 == value);
    if !separate {
        check(reader, "head_dim", &used, is_width);
        check(reader, "kv_channels", &used, is_width);
    } else if family.reads.is_some() && family.uses("head_dim") {
        let used = format!("qk_rope_head_dim is {}", first.head_dim);
        let part = own_fraction(family).unwrap_or(1.0);
        check(reader, "head_dim", &used, |value| {
            is_width(value) || is_width(value * part)
        });
    }
}

/// Warns of a key unless its number fits.
fn check(reader: &mut Reader, key: &str, used: &str, fits: impl Fn(f64) -> bool) {
    let Some(value) = reader.peek(key).and_then(Value::as_f64) else {
        return;
    };
    if !fits(value) {
        let path = reader.path(key);
        reader.warn(&path, &format!("{value} has no effect: {used}"));
    }
    if !reader.was_taken(key) {
        reader.take(key, format!("not used by this model type: {used}"));
    }
}
