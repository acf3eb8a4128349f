//! The part of the page that moves: sliders, three pictures and the numbers beside them.

use anyhow::Result;
use pe_core::{Base, Similarity, Sinusoidal, SinusoidalConfig};
use serde_json::json;

use super::number;
use crate::chart;

/// Rows of the live map, and positions of the live curve.
const POSITIONS: u32 = 128;
/// What the sliders stand at when the page opens.
const POSITION: u32 = 20;
const D_MODEL: usize = 128;
/// The base's slider counts hundredths of a power of ten.
const BASE_STEP: u32 = 400;

/// Where the numbers beside the sliders come from, as the page opens and after a move.
const EXACT: &str = "These numbers: computed by pe-core.";
const COMPUTED: &str = "These numbers: computed by this page's script in 64-bit arithmetic, within \
                        10\u{207b}\u{2079} of pe-core's (relative above 1).";

/// A slider: its name, what is written beside it, range, step and start.
struct Slider {
    name: &'static str,
    label: &'static str,
    range: (u32, u32),
    step: u32,
    start: u32,
    shown: &'static str,
}

const SLIDERS: [Slider; 3] = [
    Slider {
        name: "position",
        label: "position",
        range: (0, POSITIONS - 1),
        step: 1,
        start: POSITION,
        shown: "20",
    },
    Slider {
        name: "d_model",
        label: "d_model",
        range: (4, 512),
        step: 2,
        start: D_MODEL as u32,
        shown: "128",
    },
    Slider {
        name: "base",
        label: "base",
        range: (30, 700),
        step: 5,
        start: BASE_STEP,
        shown: "10000",
    },
];

/// Sliders, canvases and numbers.
pub(super) fn html() -> Result<String> {
    let mut out = String::from("<div class=\"sliders\">\n");
    for slider in SLIDERS {
        let (low, high) = slider.range;
        out += &format!(
            "<label for=\"{name}\"><span>{}</span><input type=\"range\" id=\"{name}\" \
             min=\"{low}\" max=\"{high}\" step=\"{}\" value=\"{}\"><output id=\"{name}-value\" \
             for=\"{name}\">{}</output></label>\n",
            slider.label,
            slider.step,
            slider.start,
            slider.shown,
            name = slider.name,
        );
    }
    out += "</div>\n<div class=\"canvases\">\n";
    for (name, title, label) in [
        (
            "map",
            "The table",
            "Map of the encodings: one row per position from the top down, one column per column",
        ),
        (
            "rings",
            "The circles",
            "One circle per pair of columns and a point on each, at the chosen position",
        ),
        (
            "curve",
            "Dot product with every position",
            "Curve of the dot products of the chosen position with all positions",
        ),
    ] {
        out += &format!(
            "<div class=\"canvas\" id=\"{name}-box\"><h3>{title}</h3><canvas id=\"{name}\" \
             role=\"img\" aria-label=\"{label}\"></canvas></div>\n"
        );
    }
    out += "</div>\n<dl id=\"live-numbers\">\n";
    for (name, what, value) in numbers()? {
        out += &format!(
            "<div><dt>{what}</dt><dd id=\"live-{name}\">{}</dd></div>\n",
            number(value)
        );
    }
    Ok(out + &format!("</dl>\n<p id=\"live-source\">{EXACT}</p>\n"))
}

/// The numbers beside the sliders where they stand at first: name, words, value.
fn numbers() -> Result<Vec<(&'static str, &'static str, f64)>> {
    let encoding = Sinusoidal::new(SinusoidalConfig {
        base: Base::Value(1e4),
        ..SinusoidalConfig::new(D_MODEL)
    })?;
    let mut row = vec![0.0; D_MODEL];
    encoding.fill_at(&[POSITION], &mut row)?;
    let waves = encoding.wavelengths();
    let of = |of, other| encoding.similarity(of, POSITION, other);
    Ok(vec![
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
    ])
}

/// What the script needs to know, as JSON.
pub(super) fn data() -> Result<String> {
    let data = json!({
        "positions": POSITIONS,
        "palette": chart::diverging_palette(),
        "computed": COMPUTED,
    });
    Ok(serde_json::to_string(&data)?)
}
