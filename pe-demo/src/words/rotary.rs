//! Rotary embeddings in words.

use pe_candle::checkpoint::RotarySpec;
use pe_core::{Direction, RopeScaling, RotaryConfig, RotaryRecipe, ScoreTemperature};
use serde_json::Value;

use super::additive::position_range;
use crate::terminal::numbers::{short, wavelength};

/// Describes a scaling with its parameters: `llama3 scaling (factor 8, low_freq_factor 1)`.
pub(crate) fn scaling(scaling: &RopeScaling) -> String {
    let name = scaling.name();
    let parameters = match serde_json::to_value(scaling) {
        Ok(Value::Object(object)) => object.into_iter().next().map(|(_, value)| value),
        _ => None,
    };
    let list: Vec<String> = parameters
        .iter()
        .filter_map(Value::as_object)
        .flatten()
        .filter_map(|(key, value)| match value {
            Value::Null => None,
            Value::Array(list) => Some(format!("{key} of {} values", list.len())),
            Value::Number(number) => Some(format!("{key} {}", short(number.as_f64()?))),
            other => Some(format!("{key} {other}")),
        })
        .collect();
    match (scaling, list.is_empty()) {
        (RopeScaling::Default, _) => "no scaling".to_owned(),
        (RopeScaling::Custom { .. }, _) => format!("frequencies given ({})", list.join(", ")),
        (_, true) => format!("{name} scaling"),
        (_, false) => format!("{name} scaling ({})", list.join(", ")),
    }
}

/// Describes a rotary embedding.
pub(crate) fn describe(config: &RotaryConfig) -> String {
    let base = match config.scaling {
        RopeScaling::Custom { .. } => String::new(),
        _ => format!("base {}, ", short(config.base)),
    };
    let direction = match config.direction {
        Direction::Counterclockwise => "",
        Direction::Clockwise => ", clockwise",
    };
    format!(
        "{} pairs of columns, {base}{}{direction}",
        config.rotary_dim / 2,
        scaling(&config.scaling)
    )
}

/// Describes a temperature of the attention scores.
pub(crate) fn temperature(temperature: &ScoreTemperature) -> String {
    let by_position = |scale: &f64, steps: String| {
        format!(
            "queries at position p are multiplied by 1 + {} ln(1 + floor({steps}))",
            short(*scale)
        )
    };
    match temperature {
        ScoreTemperature::Llama4 {
            attn_scale,
            floor_scale,
        } => by_position(attn_scale, format!("(p + 1) / {floor_scale}")),
        ScoreTemperature::Ministral3 {
            llama_4_scaling_beta,
            original_max_position_embeddings,
        } => by_position(
            llama_4_scaling_beta,
            format!("p / {original_max_position_embeddings}"),
        ),
        other => match other.factor::<f64>(0) {
            Ok(factor) => format!("the softmax scale is multiplied by {}", short(factor)),
            Err(error) => error.to_string(),
        },
    }
}

/// Describes the rounding of a table's entries.
pub(crate) fn recipe(recipe: RotaryRecipe) -> String {
    match recipe {
        RotaryRecipe::Exact => "every entry the nearest number of its type".to_owned(),
        recipe => format!("entries of the recipe {}", recipe.name()),
    }
}

/// Describes the shortest and the longest wavelength, and the number of pairs that do not rotate.
pub(crate) fn wavelengths(all: &[f64]) -> String {
    let turning = || {
        all.iter()
            .copied()
            .filter(|wavelength| wavelength.is_finite())
    };
    let still = all.len() - turning().count();
    let text = match (turning().reduce(f64::min), turning().reduce(f64::max)) {
        (Some(shortest), Some(longest)) => format!(
            "a turn takes {} to {} positions",
            wavelength(shortest),
            wavelength(longest)
        ),
        _ => return "no pair turns".to_owned(),
    };
    match still {
        0 => text,
        1 => text + "; 1 pair does not turn",
        _ => format!("{text}; {still} pairs do not turn"),
    }
}

/// Describes a table.
pub(crate) fn table(spec: &RotarySpec) -> String {
    let frequencies = spec.scheme().frequencies();
    let of_length = match spec.scheme().seq_len() {
        Some(length) => format!(", frequencies of sequences of {length} positions"),
        None => String::new(),
    };
    format!(
        "{}; {}{of_length}; {}; attention factor {}; {}",
        position_range(spec.positions()),
        describe(spec.config()),
        wavelengths(&frequencies.wavelengths()),
        short(frequencies.attention_factor()),
        recipe(spec.config().recipe),
    )
}
