//! Types of inputs and of the tables that they may be combined with.

use candle_core::{DType, Result, bail};

/// Table or tables that an input is combined with, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableKind {
    /// One table of encodings.
    Encoding,
    /// Two tables, of cosines and of sines.
    CosSin,
}

/// Checks that an input can be combined with tables of a type: its own type, or `f32`.
pub(crate) fn check_dtypes(what: &str, input: DType, kind: TableKind, table: DType) -> Result<()> {
    use DType::{BF16, F16, F32, F64};
    let [are, they] = match kind {
        TableKind::Encoding => ["table is", "it"],
        TableKind::CosSin => ["tables are", "they"],
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
