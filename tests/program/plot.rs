//! `pe-demo plot`: figures, their numbers, their files.

mod arguments;
mod files;
mod numbers;
mod pictures;
mod rotary;

use std::path::Path;

use serde_json::Value;

use crate::util::{arg, run};

/// All figures, in the order of the catalog.
const FIGURES: [&str; 24] = [
    "angle-rates",
    "angle-map",
    "encoding-map",
    "dot-product",
    "sse",
    "shifted-map",
    "sinusoids",
    "encoding-matrix",
    "binary",
    "transposed",
    "transposed-corner",
    "tiles",
    "distances",
    "dimension-pairs",
    "inverted-map",
    "rings",
    "dimensions",
    "rotary-frequencies",
    "rotary-wavelengths",
    "alibi-slopes",
    "t5-buckets",
    "distance-decay",
    "grid-similarity",
    "resize-kernels",
];

/// The numbers of one figure, drawn with further options.
fn numbers(name: &str, options: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    // SVG is the cheaper picture.
    let path = arg(folder.path());
    run(&format!(
        "plot {name} --data json --format svg -o {path} {options}"
    ));
    read(&folder.path().join(format!("{name}.json")))
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter().map(|number| number.as_f64().unwrap()).collect()
}

/// A number next to a figure.
fn fact(figure: &Value, what: &str) -> f64 {
    let facts = figure["facts"].as_array().unwrap();
    let found = facts.iter().find(|fact| fact["what"] == what);
    let found = found.unwrap_or_else(|| panic!("no fact {what} in {facts:?}"));
    found["value"].as_f64().unwrap()
}
