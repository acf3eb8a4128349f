//! Readers of the files in `golden/`. Its README states their origin.

use std::path::PathBuf;

use pe_core::{Base, Spacing};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The path of a golden file.
pub fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("golden")
        .join(name)
}

/// The contents of a golden file.
pub fn text(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the value of a golden JSON file.
pub fn json<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the numbers of a JSON list, also of lists in it.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

/// Asserts that a number is another within a tolerance.
#[track_caller]
pub fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected} +- {tolerance}"
    );
}

/// Returns a bit pattern from its hexadecimal digits.
pub fn hex(digits: &str) -> u64 {
    u64::from_str_radix(digits, 16).unwrap()
}

/// Returns the bit patterns of a JSON list of hexadecimal texts.
pub fn patterns(value: &Value) -> Vec<u64> {
    let items = value.as_array().unwrap().iter();
    items.map(|item| hex(item.as_str().unwrap())).collect()
}

/// The data lines of a golden CSV file, split at commas; comments and the column names left out.
pub fn rows(name: &str) -> Vec<Vec<String>> {
    let rows: Vec<Vec<String>> = text(name)
        .lines()
        .filter(|line| !line.starts_with('#'))
        .skip(1)
        .map(|line| line.split(',').map(str::to_owned).collect())
        .collect();
    assert!(!rows.is_empty(), "{name} is empty");
    rows
}

/// One line of `entries.csv`, `hard_entries.csv` or `timesteps.csv`.
pub struct Entry {
    pub d: usize,
    pub base: f64,
    pub spacing: Spacing,
    pub pair: usize,
    pub position: f64,
    /// sine and cosine as f64, f32, f16, bf16 bit patterns.
    pub bits: [(u64, u64); 4],
}

/// The entries of a golden file.
pub fn entries(name: &str) -> Vec<Entry> {
    rows(name).iter().map(|row| entry(row)).collect()
}

fn entry(row: &[String]) -> Entry {
    let hex = |at: usize| hex(&row[at]);
    Entry {
        d: row[0].parse().unwrap(),
        base: row[1].parse().unwrap(),
        spacing: spacing(&row[2]),
        pair: row[3].parse().unwrap(),
        position: row[4].parse().unwrap(),
        bits: [
            (hex(5), hex(6)),
            (hex(7), hex(8)),
            (hex(9), hex(10)),
            (hex(11), hex(12)),
        ],
    }
}

/// A spacing by its name in the golden files.
pub fn spacing(name: &str) -> Spacing {
    match name {
        "paper" => Spacing::Paper,
        "inclusive" => Spacing::Inclusive,
        other => Spacing::Shifted(
            other
                .strip_prefix("shift:")
                .and_then(|shift| shift.parse().ok())
                .unwrap_or_else(|| panic!("unknown spacing {other}")),
        ),
    }
}

/// A base of the golden files.
pub fn base(value: f64) -> Base {
    Base::Value(value)
}
