//! The interactive part of the page: sliders, three pictures, and the numbers below them.

use anyhow::Result;
use pe_core::{Base, Similarity, Sinusoidal, SinusoidalConfig};
use serde_json::{Value, json};

use crate::chart;
use crate::terminal::numbers::six_digits;

/// Rows of the map, and positions of the curve.
const POSITIONS: u32 = 128;
/// The sliders' values when the page opens.
const POSITION: u32 = 20;
const D_MODEL: usize = 128;
const BASE: u32 = 10_000;
/// The same base on its slider, in hundredths of a power of ten.
const BASE_STEP: u32 = 400;

/// Source of the numbers after a slider has moved.
const COMPUTED: &str = "These numbers: computed by this page's script in 64-bit arithmetic, within \
                        10\u{207b}\u{2079} of pe-core's (relative above 1).";

/// The script's modules, each after those that it imports.
const MODULES: [&str; 5] = [
    include_str!("script/number.js"),
    include_str!("script/table.js"),
    include_str!("script/sheet.js"),
    include_str!("script/pictures.js"),
    include_str!("script/main.js"),
];

/// Returns the first values of the sliders and the numbers for them.
pub(super) fn values() -> Result<Value> {
    let encoding = Sinusoidal::new(SinusoidalConfig {
        base: Base::Value(f64::from(BASE)),
        ..SinusoidalConfig::new(D_MODEL)
    })?;
    let mut row = vec![0.0; D_MODEL];
    encoding.fill_at(&[POSITION], &mut row)?;
    let waves = encoding.wavelengths();
    let of = |of, other| encoding.similarity(of, POSITION, other);
    let numbers = [
        ("entry-0", "column 0, sine of the fastest pair", row[0]),
        ("entry-1", "column 1, its cosine", row[1]),
        ("entry-2", "column 2, sine of the next pair", row[2]),
        (
            "entry-last",
            "last column, cosine of the slowest pair",
            row[D_MODEL - 1],
        ),
        (
            "wavelength",
            "longest wavelength, in positions",
            waves[waves.len() - 1],
        ),
        (
            "dot-0",
            "dot product with position 0",
            of(Similarity::Dot, 0)?,
        ),
        (
            "dot-self",
            "dot product with itself",
            of(Similarity::Dot, POSITION)?,
        ),
        (
            "neighbor",
            "distance of neighbors",
            encoding.neighbor_distance()?,
        ),
    ];
    let numbers = numbers.map(|(name, what, value)| {
        json!({ "name": name, "what": what, "value": format!("{value:e}"), "text": six_digits(value) })
    });
    Ok(json!({
        "position": POSITION,
        "last": POSITIONS - 1,
        "d_model": D_MODEL,
        "base": BASE,
        "base_step": BASE_STEP,
        "numbers": numbers,
    }))
}

/// Returns the script's data as JSON.
pub(super) fn data() -> String {
    json!({
        "positions": POSITIONS,
        "palette": chart::diverging_palette(),
        "computed": COMPUTED,
        "axes": chart::AXES,
        "rings": chart::RINGS,
    })
    .to_string()
}

/// Joins the modules into one script, because a page that loads nothing cannot import.
pub(super) fn script() -> String {
    let mut script = "\"use strict\";\n".to_owned();
    for line in MODULES.iter().flat_map(|module| module.lines()) {
        if !line.starts_with("import ") {
            script += line.strip_prefix("export ").unwrap_or(line);
            script.push('\n');
        }
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_import_from_earlier_ones_alone() {
        let names = ["number", "table", "sheet", "pictures", "main"];
        for (index, module) in MODULES.iter().enumerate() {
            for line in module.lines().filter(|line| line.starts_with("import ")) {
                let from = line
                    .rsplit("\"./")
                    .next()
                    .unwrap()
                    .trim_end_matches(".js\";");
                assert!(names[..index].contains(&from), "{line}");
            }
        }
        let script = script();
        assert!(!script.contains("\nimport ") && !script.contains("\nexport "));
    }
}
