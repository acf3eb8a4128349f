//! Reader of the resized grids in `golden/resize.json`.

use pe_core::ResizePreset;
use serde_json::Value;

use crate::golden;

/// Columns of the tables.
pub const WIDTH: usize = 3;

/// A grid that the library of a preset has resized.
pub struct Preset {
    pub preset: ResizePreset,
    /// Rows and columns of the table's grid.
    pub sides: [usize; 2],
    /// Rows and columns that it was resized to.
    pub to: [usize; 2],
    /// The resized table in the library's order, row after row, with the rows that are kept.
    pub values: Vec<f32>,
}

/// All of them.
pub fn presets() -> Vec<Preset> {
    let all: Value = golden::json("resize.json");
    assert_eq!(all["width"], WIDTH);
    let pair = |value: &Value| [0, 1].map(|i| value[i].as_u64().unwrap() as usize);
    let bits = |hex: &str| f32::from_bits(u32::from_str_radix(hex, 16).unwrap());
    let preset = |case: &Value| Preset {
        preset: case["preset"].as_str().unwrap().parse().unwrap(),
        sides: pair(&case["sides"]),
        to: pair(&case["to"]),
        values: case["values"]
            .as_str()
            .unwrap()
            .split(' ')
            .map(bits)
            .collect(),
    };
    all["presets"]
        .as_array()
        .unwrap()
        .iter()
        .map(preset)
        .collect()
}

/// The entry of the table that the script resizes.
pub fn entry(row: usize, column: usize) -> f64 {
    let mixed = 31 * (row * WIDTH + column) + 7 * column * column;
    (mixed as f64 % 129.0 - 64.0) / 64.0
}
