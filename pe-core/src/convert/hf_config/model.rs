//! The settings of a model, translated to its sets of frequencies.

use serde_json::Value;

use super::HfLayer;
use super::common::{Common, chatglm, common};
use super::families;
use super::family::{PLAIN, Sets};
use super::layer_types::{LayerTypes, layer_types};
use super::parameters::{Parameters, Surroundings};
use super::reader::{Reader, error};
use super::sets::{Set, sets};
use super::temperature;
use super::unread;
use crate::error::Result;
use crate::families::rotary::{RotaryConfig, ScoreTemperature, ntk_base};
use crate::spec::recipe::RotaryRecipe;
use crate::turns::scaling::RopeScaling;

/// Contents of a file about layers.
pub(super) struct Layers {
    pub(super) rotated: Vec<HfLayer>,
    pub(super) types: LayerTypes,
    pub(super) unrotated_temperature: Option<ScoreTemperature>,
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
