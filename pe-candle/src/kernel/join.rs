//! Results that are computed part by part.

use candle_core::{CpuStorage, DType, Result, Storage, Tensor, WithDType, bail};
use half::{bf16, f16};

use super::raw::{Zeros, zeros};

/// Returns the elements of contiguous parts on the CPU, one part after the other: `count` of them, of one type.
pub(crate) fn join(
    dtype: DType,
    count: usize,
    parts: impl Iterator<Item = Result<Tensor>>,
) -> Result<CpuStorage> {
    match dtype {
        DType::F32 => join_as::<f32>(count, parts),
        DType::F64 => join_as::<f64>(count, parts),
        DType::F16 => join_as::<f16>(count, parts),
        DType::BF16 => join_as::<bf16>(count, parts),
        other => bail!("no parts of type {} are joined", other.as_str()),
    }
}

fn join_as<T: WithDType + Zeros>(
    count: usize,
    parts: impl Iterator<Item = Result<Tensor>>,
) -> Result<CpuStorage> {
    let Some(mut all) = zeros::<T>(count) else {
        bail!(
            "no memory for {count} elements of type {}",
            T::DTYPE.as_str()
        );
    };
    let mut rest = &mut all[..];
    for part in parts {
        let part = part?;
        let (storage, layout) = part.storage_and_layout();
        let (Storage::Cpu(storage), Some((start, end))) = (&*storage, layout.contiguous_offsets())
        else {
            bail!("a part is not contiguous, or not on the cpu");
        };
        let elements = &storage.as_slice::<T>()?[start..end];
        let Some((own, others)) = rest.split_at_mut_checked(elements.len()) else {
            bail!("the parts have more than {count} elements");
        };
        own.copy_from_slice(elements);
        rest = others;
    }
    Ok(T::to_cpu_storage_owned(all))
}
