//! Checks that memory can hold the elements that a tensor declares, before anything is allocated.
//!
//! A view may declare any number of elements over little memory (`Tensor::broadcast_as`), and the
//! product of its axes may overflow: Candle's own `elem_count` multiplies unchecked. A failed
//! allocation ends the process.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use candle_core::{DType, Result, Tensor, bail};

use crate::kernel::raw::has_memory;

/// Smallest size in bytes for which memory is reserved on trial. Smaller views are never dangerous.
const TRIAL: usize = 1 << 30;

/// Returns the bytes that the elements of a tensor need.
///
/// # Errors
/// Returns an error if the product of the nonzero axes exceeds the address space. An axis of size 0 is
/// no exception, because Candle multiplies in order.
pub(crate) fn declared(what: &str, tensor: &Tensor) -> Result<usize> {
    size(what, tensor.dims(), tensor.dtype())
}

/// Checks that memory can hold a copy of a tensor in another type.
pub(crate) fn for_copy(what: &str, tensor: &Tensor, dtype: DType) -> Result<()> {
    let size = size(what, tensor.dims(), dtype)?;
    let empty = tensor.dims().contains(&0);
    if !empty && size >= TRIAL && !has_memory::<u8>(size) {
        let dims = tensor.dims();
        bail!("{what}: no memory for {size} bytes, shape {dims:?}");
    }
    Ok(())
}

/// Checks that memory can hold a result with the shape and type of a tensor.
pub(crate) fn for_result(what: &str, tensor: &Tensor) -> Result<()> {
    for_copy(what, tensor, tensor.dtype())
}

/// Checks that an input can be changed in place: to `work`, such as "add".
pub(crate) fn own(work: &str, xs: &Tensor) -> Result<()> {
    if !xs.device().is_cpu() {
        let location = xs.device().location();
        bail!("only the cpu can {work} in place, the input is on {location:?}");
    }
    if xs.track_op() {
        let what = match xs.is_variable() {
            true => "is a variable",
            false => "was computed from a variable",
        };
        bail!("the input {what}: take a copy (detach, then copy) to {work} in place");
    }
    if xs.elem_count() != 0 && xs.layout().has_internal_overlap() {
        let (dims, strides) = (xs.dims(), xs.stride());
        bail!(
            "elements of the input share their places: shape {dims:?} with strides {strides:?} \
             cannot be changed in place"
        );
    }
    Ok(())
}

/// Returns the bytes that elements of a shape need.
///
/// # Errors
/// Returns the error of [`declared`].
pub(crate) fn size(what: &str, dims: &[usize], dtype: DType) -> Result<usize> {
    let size = dims
        .iter()
        .try_fold(dtype.size_in_bytes().max(1), |size, dim| {
            size.checked_mul((*dim).max(1))
        });
    match size {
        Some(size) if isize::try_from(size).is_ok() => Ok(size),
        _ => bail!("{what} declares more elements than can be addressed: shape {dims:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn sizes_beyond_address_space_or_memory_are_rejected() -> Result<()> {
        let one = Tensor::zeros((1, 1), DType::F32, &Device::Cpu)?;
        let of = |dims: (usize, usize)| one.broadcast_as(dims);
        assert_eq!(declared("x", &of((3, 5))?)?, 60);
        assert_eq!(
            declared("x", &Tensor::zeros((3, 0), DType::F32, &Device::Cpu)?)?,
            12
        );
        let message = |result: Result<()>| result.map_err(|error| error.to_string()).err();
        let text = message(for_result("x", &of((1 << 40, 1 << 40))?)).unwrap_or_default();
        let wanted = "x declares more elements than can be addressed: shape [1099511627776, 109951";
        assert!(text.starts_with(wanted), "{text}");
        // 2^61 elements exceed the address space, 2^45 only the memory.
        assert!(declared("x", &of((1 << 61, 1))?).is_err());
        assert_eq!(declared("x", &of((1 << 45, 1))?)?, 1 << 47);
        let text = message(for_result("x", &of((1 << 45, 1))?)).unwrap_or_default();
        assert!(
            text.starts_with("x: no memory for 140737488355328 bytes"),
            "{text}"
        );
        for_result("x", &of((1 << 10, 1 << 10))?)?;
        for_result("x", &of((1 << 14, 1 << 14))?) // 1 GiB, reserved on trial
    }
}
