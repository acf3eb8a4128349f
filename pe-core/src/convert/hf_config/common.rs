//! The settings of a model that apply to all layers.

use serde_json::Value;

use super::family::Family;
use super::reader::{self, Reader, error};
use crate::error::Result;
use crate::spec::pair_layout::PairLayout;

/// Settings that apply to all layers.
pub(super) struct Common {
    pub(super) family: Family,
    pub(super) head_dim: usize,
    /// Whether `head_dim` is the part of a head that has positions, all of which rotates.
    pub(super) separate: bool,
    pub(super) layout: PairLayout,
    pub(super) theta: Option<f64>,
    pub(super) partial: Option<f64>,
    pub(super) longest: Option<usize>,
    pub(super) original: Option<usize>,
}

/// Reads the settings.
pub(super) fn common(reader: &mut Reader, family: Family) -> Result<Common> {
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

/// Reads the keys that ChatGLM and GLM-4 have of their own.
pub(super) fn chatglm(reader: &mut Reader, common: &mut Common) -> Result<()> {
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
pub(super) fn first_number(
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
