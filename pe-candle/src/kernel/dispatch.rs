//! The element types of storages.

use candle_core::{CpuStorage, DType, Error, Layout, Result, WithDType, bail};

/// Returns the part of a storage that a contiguous layout names.
pub(super) fn part<'a, T: WithDType>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    let all = storage.as_slice::<T>()?;
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&all[start..end]),
        None => bail!("the table is not contiguous"),
    }
}

/// The error for types of input and table that no kernel takes together.
pub(super) fn mismatch(op: &str, xs: DType, table: DType) -> Error {
    let (xs, table) = (xs.as_str(), table.as_str());
    Error::msg(format!(
        "no kernel for {op} of {xs} with a table of {table}"
    ))
}

/// Runs an expression for the types of input and tables that go together: `by_type!(operation, input, type of the
/// tables, |elements, entry type| expression)`.
macro_rules! by_type {
    ($op:expr, $xs:expr, $table:expr, |$x:ident, $entry:ident| $call:expr) => {
        by_type!(
            @ $op, $xs, $table, $x, $entry, $call;
            F32 F32 f32, F64 F64 f64, F64 F32 f32, F16 F16 f16, F16 F32 f32, BF16 BF16 bf16, BF16 F32 f32
        )
    };
    (@ $op:expr, $xs:expr, $table:expr, $x:ident, $entry:ident, $call:expr;
     $($input:ident $table_type:ident $type:ident),*) => {{
        #[allow(unused_imports)]
        use half::{bf16, f16};
        let types = ($xs.dtype(), $table);
        match ($xs, types.1) {
            $((candle_core::CpuStorage::$input($x), candle_core::DType::$table_type) => {
                type $entry = $type;
                $call
            })*
            _ => return Err(crate::kernel::dispatch::mismatch($op, types.0, types.1)),
        }
    }};
}
pub(super) use by_type;
