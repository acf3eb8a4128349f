//! Additive tables in words.

use std::ops::Range;

use pe_candle::checkpoint::SinusoidalSpec;
use pe_core::{Base, Recipe, Spacing};
use serde::Serialize;

use crate::terminal::numbers::short;

/// Describes a table.
pub(crate) fn table(spec: &SinusoidalSpec) -> String {
    let config = spec.config();
    let positions = position_range(spec.positions());
    let base = match config.base {
        Base::Value(base) => format!("base {}", short(base)),
        Base::MinRate(rate) => format!("min_rate {}", short(rate)),
        other => format!("base {}", short(other.value())),
    };
    let layout = kebab(&config.layout);
    let spacing = match config.spacing {
        Spacing::Shifted(shift) => format!("spacing shifted={}", short(shift)),
        spacing => format!("{} spacing", spacing.name()),
    };
    let mut text = format!("{positions}; {base}, {layout} columns, {spacing}");
    if config.d_model % 2 == 1 {
        text += &format!(", odd width: {}", kebab(&config.odd_width));
    }
    if let Some(padding) = config.padding_idx {
        text += &format!(", zeros at position {padding}");
    }
    text + &match config.recipe {
        Recipe::Exact => "; every entry the nearest number of its type".to_owned(),
        recipe => format!("; entries of the recipe {}", recipe.name()),
    }
}

/// Describes the positions of a table's rows.
pub(crate) fn position_range(range: Range<u64>) -> String {
    if range.is_empty() {
        return "no positions".to_owned();
    }
    format!("positions {} to {}", range.start, range.end - 1)
}

/// Returns the name of a choice in files and on the command line.
pub(crate) fn kebab<T: Serialize + std::fmt::Debug>(choice: &T) -> String {
    match serde_json::to_value(choice) {
        Ok(serde_json::Value::String(name)) => name,
        _ => format!("{choice:?}"),
    }
}
