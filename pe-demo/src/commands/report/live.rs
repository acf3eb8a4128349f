//! The two sheets with sliders: their first values, and the numbers for them.

use anyhow::Result;
use pe_core::{
    Base, RopeScaling, Rotary, RotaryConfig, Similarity, Sinusoidal, SinusoidalConfig, YarnScaling,
};
use serde_json::{Value, json};

use super::template;
use crate::terminal::numbers::{six_digits, thousands};

/// Rows of the table, and positions of its curve.
pub(super) const POSITIONS: u32 = 128;
const POSITION: u32 = 20;
const D_MODEL: usize = 128;
const BASE: u32 = 10_000;

/// Distances of the curve of rotary scores.
pub(super) const DISTANCES: u32 = 4096;
const DISTANCE: u32 = 2048;
const HEAD_DIM: usize = 128;
const THETA: u32 = 10_000;
const TRAINED: u32 = 1024;
const FACTOR: u32 = 4;

/// A slider. Its steps are those of a number, or of its logarithm.
struct Slider {
    /// Its name on the page and in the page's address.
    id: &'static str,
    label: &'static str,
    scale: Scale,
    range: [u32; 3],
    /// The first value, on the slider's scale.
    step: u32,
    /// The same as a number.
    value: u32,
    /// Whether a button moves it.
    plays: bool,
}

#[derive(Clone, Copy)]
enum Scale {
    Linear,
    /// Hundredths of a power of ten.
    Decades,
    /// Powers of two.
    Octaves,
}

impl Slider {
    /// Builds a slider over numbers from `low` to `high`.
    const fn linear(id: &'static str, label: &'static str, range: [u32; 3], value: u32) -> Self {
        Self {
            id,
            label,
            scale: Scale::Linear,
            range,
            step: value,
            value,
            plays: false,
        }
    }

    /// Adds a button that moves the slider.
    const fn with_play(self) -> Self {
        Self {
            plays: true,
            ..self
        }
    }

    /// Returns the slider for the template.
    fn json(&self) -> Value {
        let [min, max, step] = self.range;
        let scale = match self.scale {
            Scale::Linear => "linear",
            Scale::Decades => "decades",
            Scale::Octaves => "octaves",
        };
        let play = if self.plays {
            vec![json!({ "id": self.id, "label": self.label })]
        } else {
            Vec::new()
        };
        let slider = json!({
            "id": self.id,
            "label": self.label,
            "scale": scale,
            "min": min,
            "max": max,
            "step": step,
            "value": self.step,
            "text": thousands(u64::from(self.value)),
            "play": play,
        });
        json!({ "slider": [slider], "choice": [] })
    }
}

/// Returns the slider of a base, 10^2 to 10^7 or less.
const fn base(id: &'static str, label: &'static str, [low, high]: [u32; 2], value: u32) -> Slider {
    Slider {
        id,
        label,
        scale: Scale::Decades,
        range: [low, high, 5],
        step: 400,
        value,
        plays: false,
    }
}

/// Formats numbers for the template: a name, words, and a value.
fn numbers<const N: usize>(numbers: [(&str, &str, f64); N]) -> Vec<Value> {
    let number = |(name, what, value): (&str, &str, f64)| json!({ "name": name, "what": what, "value": format!("{value:e}"), "text": six_digits(value) });
    numbers.map(number).to_vec()
}

/// Fills the markup of a sheet.
fn sheet(values: &Value) -> Result<Value> {
    let sheet = template::fill(include_str!("sheet.html"), values)?;
    Ok(json!({ "sheet": sheet }))
}

/// Returns a picture of a sheet: its address, title, and description.
fn canvas(id: &str, title: &str, label: &str) -> Value {
    json!({ "id": id, "title": title, "label": label })
}

/// Returns the sheet of the table.
pub(super) fn table() -> Result<Value> {
    let encoding = Sinusoidal::new(SinusoidalConfig {
        base: Base::Value(f64::from(BASE)),
        ..SinusoidalConfig::new(D_MODEL)
    })?;
    let mut row = vec![0.0; D_MODEL];
    encoding.fill_at(&[POSITION], &mut row)?;
    let waves = encoding.wavelengths();
    let of = |of, other| encoding.similarity(of, POSITION, other);
    let sliders = [
        Slider::linear("position", "position", [0, POSITIONS - 1, 1], POSITION).with_play(),
        Slider::linear("d_model", "d_model", [4, 512, 2], D_MODEL as u32),
        base("base", "base", [30, 700], BASE),
    ];
    sheet(&json!({
        "id": "table-sheet",
        "controls": sliders.each_ref().map(Slider::json),
        "canvases": [
            canvas("circles", "One circle per pair of columns", "A point on each circle at the angle of its pair"),
            canvas("map", "The table", "Map of the encodings: one row per position from the top down, one column per column"),
            canvas("curve", "Dot product with every position", "Curve of the dot products of the chosen position with all positions"),
        ],
        "numbers": numbers([
            ("entry-0", "column 0, sine of the fastest pair", row[0]),
            ("entry-1", "column 1, its cosine", row[1]),
            ("entry-2", "column 2, sine of the next pair", row[2]),
            ("entry-last", "last column, cosine of the slowest pair", row[D_MODEL - 1]),
            ("wavelength", "longest wavelength, in positions", waves[waves.len() - 1]),
            ("dot-0", "dot product with position 0", of(Similarity::Dot, 0)?),
            ("dot-self", "dot product with itself", of(Similarity::Dot, POSITION)?),
            ("neighbor", "distance of neighbors", encoding.neighbor_distance()?),
        ]),
    }))
}

/// Returns the sheet of rotary scores.
pub(super) fn rotary() -> Result<Value> {
    let config = RotaryConfig {
        base: f64::from(THETA),
        ..RotaryConfig::new(HEAD_DIM)
    };
    let unscaled = Rotary::new(config.clone())?.frequencies(0)?;
    let yarn = YarnScaling::new(f64::from(FACTOR), TRAINED as usize);
    let scaled = Rotary::new(RotaryConfig {
        scaling: RopeScaling::Yarn(yarn),
        ..config
    })?;
    let scaled = scaled.frequencies(0)?;
    // Each cosine has the attention factor once, a score has it twice.
    let score = |distance: u32| -> Result<f64> {
        let row = u64::from(distance);
        let cosines = scaled.tables::<f64>(row..row + 1)?.cos.into_vec();
        Ok(cosines.iter().sum::<f64>() * scaled.attention_factor())
    };
    let [before, after] = [&unscaled, &scaled].map(|rates| rates.wavelengths());
    let slow = before.iter().filter(|wave| **wave > f64::from(TRAINED));
    let sliders = [
        Slider::linear("distance", "distance", [0, DISTANCES, 1], DISTANCE).with_play(),
        base("rope_theta", "base", [200, 700], THETA),
        Slider::linear("head_dim", "head_dim", [4, 256, 2], HEAD_DIM as u32),
        Slider::linear("factor", "factor", [1, 16, 1], FACTOR),
        Slider {
            id: "trained",
            label: "trained length",
            scale: Scale::Octaves,
            range: [7, 12, 1],
            step: TRAINED.ilog2(),
            value: TRAINED,
            plays: false,
        },
    ];
    let scalings = [
        ("none", "none"),
        ("linear", "linear"),
        ("yarn", "YaRN"),
        ("llama3", "Llama 3"),
    ];
    let scalings = scalings.map(|(id, label)| {
        json!({ "id": id, "label": label, "selected": if id == "yarn" { " selected" } else { "" } })
    });
    let scaling = json!({ "id": "scaling", "label": "scaling", "options": scalings });
    let [distance, theta, head_dim, factor, trained] = sliders.each_ref().map(Slider::json);
    sheet(&json!({
        "id": "rotary-sheet",
        "controls": [
            distance, theta, head_dim, json!({ "slider": [], "choice": [scaling] }), factor, trained,
        ],
        "canvases": [
            canvas("scores", "q \u{b7} k over the distance", "Curve of the dot product of a rotated query and key over their distance, with and without scaling"),
            canvas("waves", "Wavelength of each pair", "Curve of the wavelengths of all pairs, with and without scaling, and the trained length"),
        ],
        "numbers": numbers([
            ("score-0", "q \u{b7} k at distance 0", score(0)?),
            ("score", "q \u{b7} k at the chosen distance", score(DISTANCE)?),
            ("attention", "attention factor", scaled.attention_factor()),
            ("slow", "pairs without a full turn in the trained length", slow.count() as f64),
            ("longest", "longest wavelength, in positions", after[after.len() - 1]),
            ("longest-before", "the same without scaling", before[before.len() - 1]),
        ]),
    }))
}
