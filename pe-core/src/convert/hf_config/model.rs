//! The settings of a model, translated to its sets of frequencies.

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
    let family = &common.family;
    let mut parameters = Parameters::new(set.path.clone(), &set.map);
    let base = parameters.number(reader, "rope_theta", "the base of the frequencies")?;
    // The warning about an unknown model type speaks of the base too.
    if base.is_none() && common.theta.is_none() && !has_type {
        let path = reader.path("rope_theta");
        reader.warn(&path, "is missing, and so is the model type: 10000 assumed");
    }
    let base = base.unwrap_or(set.theta);
    let own = parameters.number(
        reader,
        "partial_rotary_factor",
        "the rotated fraction of the head",
    )?;
    let stated = own.or(set.partial).or(common.partial);
    let around = Surroundings {
        longest: common.longest.or(family.positions),
        original: common.original,
    };
    let mut scaling = parameters.scaling(reader, &around, stated)?;
    if let (RopeScaling::Yarn(yarn), Sets::Compressed(_)) = (&mut scaling, family.sets) {
        // transformers sets it in this model type.
        yarn.attention_factor = yarn.attention_factor.or(Some(1.0));
    }
    let alpha = match scaling {
        RopeScaling::Dynamic { .. } if family.ntk_alpha => parameters.ntk_alpha(reader)?,
        _ => None,
    };
    if alpha.is_some() {
        scaling = RopeScaling::Default;
    }
    let mrope = parameters.mrope(reader, family.mrope)?;
    let temperatures = temperature::rotated(reader, &mut parameters, family, &scaling, &around)?;
    parameters.finish(reader);
    let (rotary_dim, exponent_dim) = width(reader, common, set, &scaling, stated)?;
    let pairs = rotary_dim / 2;
    if let Some(stated) = &mrope {
        stated.check(pairs)?;
    }
    let layer = HfLayer {
        layer_type: set.layer_type.clone(),
        head_dim: set.head_dim,
        layout: common.layout,
        rotary: RotaryConfig {
            rotary_dim,
            base: alpha.map_or(Ok(base), |alpha| ntk_base(base, alpha, rotary_dim))?,
            // The length of the class matters only to scalings that need one.
            max_position_embeddings: match scaling.depends_on_seq_len() {
                true => around.longest,
                false => common.longest,
            },
            scaling,
            recipe: RotaryRecipe::Exact,
            direction: family.direction,
            exponent_dim,
        },
        mrope: mrope.or_else(|| family.mrope.filter(|own| own.check(pairs).is_ok())),
        temperatures,
    };
    unread::tell_of_fraction(reader, common, &set.path, own, &layer);
    Ok(layer)
}

/// Returns the number of columns that rotate, and that of the exponents where it differs.
fn width(
    reader: &Reader,
    common: &Common,
    set: &Set,
    scaling: &RopeScaling,
    stated: Option<f64>,
) -> Result<(usize, Option<usize>)> {
    let family = &common.family;
    let partial = match scaling {
        // The functions of the other scalings use that of the dictionary in all model types.
        RopeScaling::Default if !family.uses("rope_parameters.partial_rotary_factor") => {
            common.partial
        }
        _ => stated,
    };
    let partial = partial.unwrap_or(family.partial);
    let dim = match scaling {
        RopeScaling::Proportional { .. } => set.head_dim,
        _ if common.separate => set.head_dim,
        _ => {
            let dim = set.head_dim as f64 * partial;
            if !(dim >= 0.0 && dim < set.head_dim as f64 + 1.0) {
                let problem = format!("{partial} is not within 0..=1");
                return Err(error(reader.path("partial_rotary_factor"), problem));
            }
            dim as usize
        }
    };
    // transformers' tables have a pair for the last column of an odd width. Some models use it.
    let exponent_dim = (family.odd && !dim.is_multiple_of(2)).then_some(dim);
    let dim = dim.saturating_add(usize::from(exponent_dim.is_some()));
    if dim == 0 || !dim.is_multiple_of(2) {
        let problem = format!(
            "{dim} is not an even number above 0 (head_dim {}, partial_rotary_factor {partial})",
            set.head_dim
        );
        return Err(error("rotary_dim", problem));
    }
    Ok((dim, exponent_dim))
}
