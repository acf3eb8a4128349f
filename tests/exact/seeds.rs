//! The rows of `tests/ROWS.md` about the mathematics. Names of tests carry the row.

mod columns;
mod shifts;
mod similarity;

use pe_core::{Preset, Sinusoidal};
use pe_tests::golden;
use serde_json::Value;

/// The golden numbers of a row.
fn seeds(row: &str) -> Value {
    golden::json::<Value>("seeds.json")[row].clone()
}

/// The first document's specification.
fn notebook() -> Sinusoidal {
    Sinusoidal::new(Preset::TfNotebook.config(512)).unwrap()
}
