//! Tables of numbers as text: a row a line, between commas, semicolons, tabs, or spaces.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{Entries, Tensor, Wanted};
use crate::sources::file;

/// Decimal digits from which a number is not one of 32 bits.
const DIGITS_OF_F32: usize = 9;

pub(super) fn read(
    path: &Path,
    wanted: Wanted<'_>,
    visit: &mut dyn FnMut(Tensor) -> Result<()>,
) -> Result<()> {
    let text = file::text(path, wanted.most_bytes, "a table of numbers")?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if !wanted.takes(&name) {
        return Ok(());
    }
    let (mut entries, mut width, mut rows, mut digits) = (Vec::new(), None, 0usize, 0);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let cells: Vec<&str> = match line.contains([',', ';', '\t']) {
            true => line.split([',', ';', '\t']).map(str::trim).collect(),
            false => line.split_whitespace().collect(),
        };
        let values: Option<Vec<f64>> = cells.iter().map(|cell| cell.parse().ok()).collect();
        let Some(values) = values else {
            // Names of the columns.
            ensure!(rows == 0, "line {} is not a row of numbers", number + 1);
            continue;
        };
        let expected = *width.get_or_insert(values.len());
        ensure!(
            values.len() == expected,
            "line {} has {} numbers, the first row {expected}",
            number + 1,
            values.len()
        );
        let of_cell = |cell: &&str| {
            let mantissa = cell.split(['e', 'E']).next().unwrap_or_default();
            let mantissa = mantissa.trim_start_matches(['-', '+', '0', '.']);
            mantissa.chars().filter(char::is_ascii_digit).count()
        };
        digits = digits.max(cells.iter().map(of_cell).max().unwrap_or(0));
        entries.extend(values);
        rows += 1;
    }
    ensure!(rows > 0, "there are no rows of numbers");
    let (dtype, entries) = match digits > DIGITS_OF_F32 {
        true => ("F64", Entries::F64(entries)),
        false => (
            "F32",
            Entries::F32(entries.iter().map(|x| *x as f32).collect()),
        ),
    };
    visit(Tensor {
        name: name.into_owned(),
        dtype: dtype.to_owned(),
        shape: vec![rows, width.unwrap_or(0)],
        entries: Some(entries),
    })
}
