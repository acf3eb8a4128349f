//! Which types of inputs and tables go together.

use candle_core::{DType, Result, bail};

/// What an input is checked against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Against {
    /// A table of encodings.
    Table,
    /// The tables of cosines and sines.
    Tables,
}

/// Checks that the type of a table, or of tables, goes with that of an input.
pub(crate) fn check_dtypes(what: &str, input: DType, against: Against, table: DType) -> Result<()> {
    use DType::{BF16, F16, F32, F64};
    let [are, they] = match against {
        Against::Table => ["table is", "it"],
        Against::Tables => ["tables are", "they"],
    };
    match (input, table) {
        (F32, F32) | (F64, F64 | F32) | (F16, F16 | F32) | (BF16, BF16 | F32) => Ok(()),
        (F32 | F64 | F16 | BF16, _) => bail!(
            "{what} is {}, but the {are} {}: {they} must be of that type or f32",
            input.as_str(),
            table.as_str()
        ),
        _ => bail!(
            "{what} must be f32, f64, f16 or bf16, not {}",
            input.as_str()
        ),
    }
}
