//! Temperatures of the attention scores that a model's settings state.

use serde_json::Value;

use super::family::{Family, Temper};
use super::parameters::{Parameters, Surroundings};
use super::reader::{Reader, error};
use crate::error::Result;
use crate::families::rotary::ScoreTemperature;
use crate::turns::scaling::RopeScaling;

/// Reads the temperatures of layers with a rotary embedding, from its parameters.
pub(super) fn rotated(
    reader: &mut Reader,
    parameters: &mut Parameters<'_>,
    family: &Family,
    scaling: &RopeScaling,
    around: &Surroundings,
) -> Result<Vec<ScoreTemperature>> {
    let mut found = Vec::new();
    if family.tempers.contains(&Temper::Mscale) && *scaling != RopeScaling::Default {
        const MSCALE: &str = "scales the softmax";
        let all_dim = match scaling {
            RopeScaling::Yarn(yarn) => yarn.mscale_all_dim,
            _ => parameters.number(reader, "mscale_all_dim", MSCALE)?,
        };
        if let Some(mscale_all_dim) = all_dim.filter(|all_dim| *all_dim != 0.0) {
            let factor = match scaling {
                RopeScaling::Yarn(yarn) => yarn.factor,
                _ => parameters.needed(reader, "factor", MSCALE)?,
            };
            found.push(ScoreTemperature::Mscale {
                factor,
                mscale_all_dim,
            });
        }
    }
    const BETA: &str = "llama_4_scaling_beta";
    if family.tempers.contains(&Temper::Beta) {
        let meaning = "scales queries by position, with original_max_position_embeddings";
        if let Some(llama_4_scaling_beta) = parameters.number(reader, BETA, meaning)? {
            let original_max_position_embeddings = parameters.original(reader, around)?;
            found.push(ScoreTemperature::Ministral3 {
                llama_4_scaling_beta,
                original_max_position_embeddings,
            });
        }
    } else {
        let meaning = "scales queries by position in other model types; no effect in this one";
        parameters.number(reader, BETA, meaning)?;
    }
    for temperature in &found {
        temperature.factor::<f64>(0)?;
    }
    Ok(found)
}

/// Reads the temperature of layers without a rotary embedding.
pub(super) fn unrotated(reader: &mut Reader, family: &Family) -> Result<Option<ScoreTemperature>> {
    if !family.tempers.contains(&Temper::Unrotated) {
        return Ok(None);
    }
    const TUNING: &str = "attn_temperature_tuning";
    let meaning = "whether layers without a rotary embedding scale queries by position";
    let tuned = match reader.take(TUNING, meaning) {
        None => true,
        Some(Value::Bool(tuned)) => tuned,
        // Some files write 4.
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(_) => {
            let problem = "is neither true nor false";
            return Err(error(reader.path(TUNING), problem));
        }
    };
    let scale = reader.number("attn_scale", "the factor of this scale's logarithm")?;
    let floor = reader.count(
        "floor_scale",
        "the number of positions of this scale's steps",
    )?;
    if !tuned {
        return Ok(None);
    }
    let temperature = ScoreTemperature::Llama4 {
        attn_scale: scale.unwrap_or(0.1),
        floor_scale: floor.unwrap_or(8192),
    };
    temperature.factor::<f64>(0)?;
    Ok(Some(temperature))
}
