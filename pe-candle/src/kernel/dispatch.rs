//! From storages to the types of their elements.

use candle_core::{CpuStorage, Layout, Result, WithDType, bail};

/// The part of a storage that a contiguous layout names.
pub(super) fn part<'a, T: WithDType>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [T]> {
    let all = storage.as_slice::<T>()?;
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&all[start..end]),
        None => bail!("the table is not contiguous"),
    }
}

/// Runs an expression for the types of input and tables that go together: `by_type!(input, type
/// of the tables, error for other types, |elements, entry type| expression)`.
macro_rules! by_type {
    ($xs:expr, $table:expr, $mismatch:expr, |$x:ident, $entry:ident| $call:expr) => {{
        use candle_core::{CpuStorage as C, DType};
        use half::{bf16, f16};
        let types = ($xs.dtype(), $table);
        match ($xs, types.1) {
            (C::F32($x), DType::F32) => {
                type $entry = f32;
                $call
            }
            (C::F64($x), DType::F64) => {
                type $entry = f64;
                $call
            }
            (C::F64($x), DType::F32) => {
                type $entry = f32;
                $call
            }
            (C::F16($x), DType::F16) => {
                type $entry = f16;
                $call
            }
            (C::F16($x), DType::F32) => {
                type $entry = f32;
                $call
            }
            (C::BF16($x), DType::BF16) => {
                type $entry = bf16;
                $call
            }
            (C::BF16($x), DType::F32) => {
                type $entry = f32;
                $call
            }
            _ => return Err($mismatch(types.0, types.1)),
        }
    }};
}
pub(super) use by_type;
