//! Tensors of real numbers on the host, as the exact values of `f64`.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use std::ops::Range;

use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, DType, Device, Error, Layout, Result, Storage, Tensor, bail};
use half::{bf16, f16};
use pe_core::Element;

use crate::tensors::memory;

/// Reads a tensor of any float or integer type, in row-major order, from any device. No value is
/// rounded.
pub(crate) fn read(what: &str, tensor: &Tensor) -> Result<Vec<f64>> {
    memory::for_copy(what, tensor, DType::F64)?;
    if tensor.elem_count() == 0 {
        return Ok(Vec::new());
    }
    let (storage, layout) = tensor.storage_and_layout();
    let is_float = matches!(
        tensor.dtype(),
        DType::F32 | DType::F64 | DType::F16 | DType::BF16
    );
    if let (Storage::Cpu(storage), true) = (&*storage, is_float && layout.is_contiguous()) {
        return read_storage(what, storage, layout);
    }
    drop(storage);
    // To the host first: not every device can convert every type.
    let host = tensor.detach().to_device(&Device::Cpu)?.flatten_all()?;
    if tensor.dtype() == DType::I64 {
        let values = host.to_vec1::<i64>()?;
        if let Some(index) = values.iter().position(|v| v.unsigned_abs() > 1 << 53) {
            let value = values.get(index).copied().unwrap_or_default();
            bail!("{what}: {value} (at index {index}) is outside -2^53..=2^53");
        }
        return Ok(values.into_iter().map(|value| value as f64).collect());
    }
    host.to_dtype(DType::F64)?.to_vec1()
}

/// Reads the part of a storage of floats that a contiguous layout names.
pub(crate) fn read_storage(what: &str, storage: &CpuStorage, layout: &Layout) -> Result<Vec<f64>> {
    let Some((start, end)) = layout.contiguous_offsets() else {
        bail!("{what} are not contiguous");
    };
    fn part<T: Copy>(all: &[T], range: Range<usize>, to: impl Fn(T) -> f64) -> Result<Vec<f64>> {
        let part = all.get(range).unwrap_or_default();
        Ok(part.iter().map(|value| to(*value)).collect())
    }
    match storage {
        CpuStorage::F32(all) => part(all, start..end, f64::from),
        CpuStorage::F64(all) => part(all, start..end, |value| value),
        CpuStorage::F16(all) => part(all, start..end, f64::from),
        CpuStorage::BF16(all) => part(all, start..end, f64::from),
        other => Err(unsupported(what, other.dtype())),
    }
}

/// Checks that rows can be computed in a type.
pub(crate) fn check_dtype(what: &str, dtype: DType) -> Result<()> {
    match dtype {
        DType::F32 | DType::F64 | DType::F16 | DType::BF16 => Ok(()),
        other => Err(unsupported(what, other)),
    }
}

/// A computation of rows in any of the four types.
pub(crate) trait Fill {
    /// Computes the entries as the nearest values of `T`.
    fn fill<T: Element>(&self) -> Result<Vec<T>>;
}

/// Returns the entries of a computation as a tensor of a type.
pub(crate) fn tensor_of(
    dtype: DType,
    rows: &impl Fill,
    dims: &[usize],
    device: &Device,
) -> Result<Tensor> {
    match dtype {
        DType::F32 => Tensor::from_vec(rows.fill::<f32>()?, dims, device),
        DType::F64 => Tensor::from_vec(rows.fill::<f64>()?, dims, device),
        DType::F16 => Tensor::from_vec(rows.fill::<f16>()?, dims, device),
        DType::BF16 => Tensor::from_vec(rows.fill::<bf16>()?, dims, device),
        other => Err(unsupported("rows", other)),
    }
}

/// Returns the entries of a computation as a storage of a type.
pub(crate) fn storage_of(dtype: DType, rows: &impl Fill) -> Result<CpuStorage> {
    Ok(match dtype {
        DType::F32 => CpuStorage::F32(rows.fill()?),
        DType::F64 => CpuStorage::F64(rows.fill()?),
        DType::F16 => CpuStorage::F16(rows.fill()?),
        DType::BF16 => CpuStorage::BF16(rows.fill()?),
        other => return Err(unsupported("rows", other)),
    })
}

fn unsupported(what: &str, dtype: DType) -> Error {
    let dtype = dtype.as_str();
    Error::msg(format!("{what} must be f32, f64, f16 or bf16, not {dtype}"))
}
