//! `pe-demo plot`: figures, their numbers, their files.

mod arguments;
mod files;
mod numbers;
mod pictures;
mod rotary;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;

use crate::util::{arg, run};

/// All figures, in the order of the catalog.
pub(crate) const FIGURES: [&str; 25] = [
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
    "fourier-fit",
];

/// Output of `plot` and the files that it wrote.
pub(crate) struct Drawn {
    printed: String,
    files: BTreeMap<String, Vec<u8>>,
}

/// Draws figures into a new folder.
fn draw(options: &str) -> Drawn {
    let folder = tempfile::tempdir().unwrap();
    // Folders are made as needed.
    let folder = folder.path().join("a/b");
    let printed = run(&format!("plot -o {} {options}", arg(&folder)));
    let entries = std::fs::read_dir(&folder).unwrap();
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(path).unwrap())
    };
    let files = entries.map(file).collect();
    Drawn { printed, files }
}

impl Drawn {
    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.files[&format!("{name}.json")]).unwrap()
    }

    fn text(&self, file: &str) -> &str {
        std::str::from_utf8(&self.files[file]).unwrap()
    }
}

/// All figures with their numbers, drawn once for all tests.
fn all() -> &'static Drawn {
    static ALL: OnceLock<Drawn> = OnceLock::new();
    ALL.get_or_init(|| draw("--data json"))
}

/// The same in the other formats.
fn all_others() -> &'static Drawn {
    static ALL: OnceLock<Drawn> = OnceLock::new();
    ALL.get_or_init(|| draw("--format svg --data csv"))
}

/// The numbers of one figure, drawn with further options.
pub(crate) fn numbers(name: &str, options: &str) -> Value {
    if options.is_empty() {
        return all().json(name);
    }
    // SVG is the cheaper picture.
    draw(&format!("{name} --data json --format svg {options}")).json(name)
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
