//! Readers of the files in `golden/`. Its README states their origin.

use std::path::PathBuf;

use pe_core::{Base, Spacing};

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
    let hex = |at: usize| u64::from_str_radix(&row[at], 16).unwrap();
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
