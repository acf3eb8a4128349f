//! Conversion of tables to tensors, the only one of the crate.

use std::ops::Range;

use candle_core::{DType, Device, Result, Tensor, WithDType, bail};
use half::{bf16, f16};
use pe_core::{CosSin, Element, MAX_TABLE_BYTES, Rotary, RotaryFrequencies, Sinusoidal, Table};

pub(crate) use crate::kernel::raw::Zeros;
use crate::kernel::raw::{LARGE, zeros};

/// Calls a function for the type that the entries of a table are to have.
macro_rules! by_dtype {
    ($dtype:expr, $of:ident($($argument:expr),*)) => {
        match $dtype {
            DType::F32 => $of::<f32>($($argument),*),
            DType::F64 => $of::<f64>($($argument),*),
            DType::F16 => $of::<f16>($($argument),*),
            DType::BF16 => $of::<bf16>($($argument),*),
            other => bail!("tables are f32, f64, f16 or bf16, not {}", other.as_str()),
        }
    };
}

/// Converts a table to a tensor of shape `[rows, width]`.
///
/// On the CPU the tensor reuses the table's memory. For other devices the table is copied.
///
/// # Errors
/// Returns an error if the device reports one.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device};
/// use pe_candle::Sinusoidal;
///
/// let table = Sinusoidal::paper(64)?.table::<f64>(0..10)?;
/// let tensor = pe_candle::table_to_tensor(table, &Device::Cpu)?;
/// assert_eq!((tensor.dims(), tensor.dtype()), (&[10, 64][..], DType::F64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn table_to_tensor<T: Element + WithDType>(table: Table<T>, device: &Device) -> Result<Tensor> {
    let shape = (table.rows(), table.width());
    Tensor::from_vec(table.into_vec(), shape, device)
}

/// Computes the encodings of a range of positions as a tensor of shape `[positions, d_model]`.
///
/// Every entry is the `dtype` nearest to the formula of [`Sinusoidal`]. Tables for any device are
/// computed on the host, because a GPU's own sine depends on its compiler and loses accuracy at
/// large angles. All devices hold the same bits. Large tables are computed by as many threads as
/// rayon's current pool has. The call never waits for the pool's own threads.
///
/// # Errors
/// Returns an error if
/// - `dtype` is not `f32`, `f64`, `f16`, or `bf16`,
/// - the range descends or ends above 2^32,
/// - the table exceeds [`pe_core::MAX_TABLE_BYTES`].
///
/// # Examples
/// ```
/// use candle_core::{DType, Device};
/// use pe_candle::Sinusoidal;
///
/// let encoding = Sinusoidal::paper(8)?;
/// let pe = pe_candle::sinusoidal_tensor(&encoding, 0..3, DType::F32, &Device::Cpu)?;
/// assert_eq!(pe.to_vec2::<f32>()?[0], [0., 1., 0., 1., 0., 1., 0., 1.]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn sinusoidal_tensor(
    encoding: &Sinusoidal,
    positions: Range<u64>,
    dtype: DType,
    device: &Device,
) -> Result<Tensor> {
    fn of<T: Element + WithDType + Zeros>(
        encoding: &Sinusoidal,
        positions: Range<u64>,
        device: &Device,
    ) -> Result<Tensor> {
        if let Some(mut entries) = large_zeros::<T>(encoding.d_model(), &positions) {
            encoding.fill(positions.start, &mut entries)?;
            let shape = (entries.len() / encoding.d_model(), encoding.d_model());
            return Tensor::from_vec(entries, shape, device);
        }
        table_to_tensor(encoding.table::<T>(positions)?, device)
    }
    by_dtype!(dtype, of(encoding, positions, device))
}

/// Computes the cosines and sines of a range of positions as tensors of shape `[positions, pairs]`,
/// on the host as in [`sinusoidal_tensor`].
///
/// # Errors
/// Returns an error if `dtype` is not `f32`, `f64`, `f16`, or `bf16`. Also returns the errors of
/// [`RotaryFrequencies::tables`].
pub(crate) fn cos_sin_tensors(
    frequencies: &RotaryFrequencies,
    positions: Range<u64>,
    dtype: DType,
    device: &Device,
) -> Result<[Tensor; 2]> {
    fn of<T: Element + WithDType + Zeros>(
        frequencies: &RotaryFrequencies,
        positions: Range<u64>,
        device: &Device,
    ) -> Result<[Tensor; 2]> {
        let pairs = frequencies.pairs();
        let large = || large_zeros::<T>(pairs, &positions);
        if let (Some(mut cos), Some(mut sin)) = (large(), large()) {
            frequencies.fill(positions.start, &mut cos, &mut sin)?;
            let tensor = |table: Vec<T>| Tensor::from_vec(table, ((), pairs), device);
            return Ok([tensor(cos)?, tensor(sin)?]);
        }
        let CosSin { cos, sin } = frequencies.tables::<T>(positions)?;
        Ok([table_to_tensor(cos, device)?, table_to_tensor(sin, device)?])
    }
    by_dtype!(dtype, of(frequencies, positions, device))
}

/// Computes the cosines and sines of steps of decoding as tensors of `f32`, of shape `[positions, pairs]`:
/// [`Rotary::step_tables`].
///
/// # Errors
/// Returns the errors of [`Rotary::step_tables`].
pub(crate) fn step_tensors(
    rotary: &Rotary,
    positions: Range<u64>,
    device: &Device,
) -> Result<[Tensor; 2]> {
    let CosSin { cos, sin } = rotary.step_tables::<f32>(positions)?;
    Ok([table_to_tensor(cos, device)?, table_to_tensor(sin, device)?])
}

/// Returns zeroed memory for a table that is large enough to benefit from huge pages. Returns `None`
/// for smaller tables, and if [`Sinusoidal::table`] has an error to report.
pub(crate) fn large_zeros<T: Zeros>(width: usize, positions: &Range<u64>) -> Option<Vec<T>> {
    let rows = positions.end.checked_sub(positions.start)?;
    let entries = rows.checked_mul(width as u64)?;
    let bytes = entries.checked_mul(size_of::<T>() as u64)?;
    let pays = positions.end <= 1 << 32 && (LARGE as u64..=MAX_TABLE_BYTES).contains(&bytes);
    let entries = usize::try_from(entries).ok()?;
    pays.then(|| zeros(entries)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_tables_equal_those_of_pe_core() -> Result<()> {
        let encoding = Sinusoidal::paper(1024)?;
        // Just below and above the limit for huge pages, at a nonzero start.
        for rows in [1023, 1025] {
            let table = encoding.table::<f32>(7..7 + rows)?;
            let tensor = sinusoidal_tensor(&encoding, 7..7 + rows, DType::F32, &Device::Cpu)?;
            assert_eq!(tensor.dims(), [rows as usize, 1024]);
            let found = tensor.flatten_all()?.to_vec1::<f32>()?;
            assert!(found == table.as_slice(), "{rows}");
        }
        Ok(())
    }

    #[test]
    fn large_cosines_and_sines_are_those_of_the_core() -> Result<()> {
        let rotary = pe_core::Rotary::new(pe_core::RotaryConfig::new(128))?;
        let frequencies = rotary.frequencies(0)?;
        // Just below and above the limit for huge pages.
        for rows in [16_383, 16_385] {
            let tables = frequencies.tables::<f32>(7..7 + rows)?;
            let [cos, sin] = cos_sin_tensors(&frequencies, 7..7 + rows, DType::F32, &Device::Cpu)?;
            for (tensor, table) in [(cos, tables.cos), (sin, tables.sin)] {
                assert_eq!(tensor.dims(), [rows as usize, 64]);
                assert!(
                    tensor.flatten_all()?.to_vec1::<f32>()? == table.as_slice(),
                    "{rows}"
                );
            }
        }
        Ok(())
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn invalid_ranges_of_any_size_are_named() -> Result<()> {
        let encoding = Sinusoidal::paper(1024)?;
        for range in [
            9..3,
            0..1 << 33,
            (1 << 32) - 1..(1 << 32) + 4096,
            0..1 << 32,
        ] {
            let of =
                |range: Range<u64>| sinusoidal_tensor(&encoding, range, DType::F32, &Device::Cpu);
            let wanted = encoding.table::<f32>(range.clone()).map(drop).unwrap_err();
            let found = of(range).unwrap_err().to_string();
            assert!(found.starts_with(&wanted.to_string()), "{found}");
        }
        Ok(())
    }
}
