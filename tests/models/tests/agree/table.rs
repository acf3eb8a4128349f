//! The table of models in MIGRATING.md.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use candle_core::Result;

use crate::kit::Row;
use crate::{images, text};

const BEGIN: &str = "<!-- models:begin -->\n";
const END: &str = "<!-- models:end -->";
/// By how much an error may differ from the one in the table: sums have another order on other machines.
const FACTOR: f64 = 8.0;

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "| model | positional part | calls | f64 | f32 | PyTorch's f32 | candle-transformers' f32 |\n|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let Row {
            model,
            part,
            cases,
            f64,
            f32,
            torch,
            upstream,
        } = row;
        let upstream = match upstream {
            None => "none comparable".to_owned(),
            Some(f64::INFINITY) => "**fails**".to_owned(),
            Some(error) if *error > crate::kit::F32 => format!("**{error:.0e}**"),
            Some(error) => format!("{error:.0e}"),
        };
        writeln!(
            out,
            "| `{model}` | {part} | {cases} | {f64:.0e} | {f32:.0e} | {torch:.0e} | {upstream} |"
        )
        .unwrap();
    }
    out
}

/// Whether two lines differ in numbers alone, and by no more than [`FACTOR`].
fn alike(found: &str, stated: &str) -> bool {
    let (found, stated): (Vec<_>, Vec<_>) =
        (found.split(' ').collect(), stated.split(' ').collect());
    let number = |word: &str| word.trim_matches('*').parse::<f64>().ok();
    found.len() == stated.len()
        && found
            .iter()
            .zip(stated)
            .all(|(found, stated)| match (number(found), number(stated)) {
                (Some(a), Some(b)) => {
                    a <= b * FACTOR && b <= a * FACTOR && found.len() == stated.len()
                }
                _ => *found == stated,
            })
}

/// `UPDATE_MIGRATING=1` writes the table.
#[test]
fn errors_are_those_of_the_table() -> Result<()> {
    let rows = [text::ALL, images::ALL]
        .concat()
        .into_iter()
        .map(|run| run());
    let found = table(&rows.collect::<Result<Vec<_>>>()?);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../MIGRATING.md");
    let text = fs::read_to_string(&path)?;
    let (before, rest) = text
        .split_once(BEGIN)
        .expect("MIGRATING.md has the first marker");
    let (stated, after) = rest
        .split_once(END)
        .expect("MIGRATING.md has the last marker");
    if std::env::var_os("UPDATE_MIGRATING").is_some() {
        return Ok(fs::write(
            &path,
            format!("{before}{BEGIN}{found}{END}{after}"),
        )?);
    }
    let alike = found.lines().count() == stated.lines().count()
        && found
            .lines()
            .zip(stated.lines())
            .all(|(found, stated)| alike(found, stated));
    assert!(
        alike,
        "UPDATE_MIGRATING=1 writes the table of MIGRATING.md:\n{found}"
    );
    Ok(())
}
