//! Dropout as an operation of Candle.

use candle_core::backend::{BackendDevice, BackendStorage};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, DType, Error, Layout, MetalStorage, Result, Shape, Tensor,
    op,
};

use crate::kernel::{Masking, Plan, ScaledDropout};
use crate::layers::reference::Paths;

pub(super) fn check_dtype(dtype: DType) -> Result<()> {
    match dtype {
        DType::F32 | DType::F64 | DType::F16 | DType::BF16 => Ok(()),
        other => Err(unsupported(other)),
    }
}

fn unsupported(dtype: DType) -> Error {
    let dtype = dtype.as_str();
    Error::msg(format!("dropout takes f32, f64, f16 or bf16, not {dtype}"))
}

/// One application of a mask. Its backward pass is the same operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DropoutOp {
    pub(super) masking: Masking,
    pub(super) plan: Plan,
}

impl DropoutOp {
    /// Applies the mask by the operations of every backend. The mask is computed here and copied to the
    /// device.
    pub(crate) fn on_backend<S>(&self, storage: &S, layout: &Layout) -> Result<(S, Shape)>
    where
        S: BackendStorage,
        S::Device: BackendDevice<Storage = S>,
    {
        let (device, dtype, shape) = (storage.device(), storage.dtype(), layout.shape());
        check_dtype(dtype)?;
        let dense = Layout::contiguous(shape);
        let scalar = Layout::contiguous(1).broadcast_as(shape)?;
        let Masking { mask, factor } = self.masking;
        let keep: Vec<u8> = (0..shape.elem_count().div_ceil(4) as u64)
            .flat_map(|block| mask.block(block))
            .map(|word| mask.keeps(word).into())
            .take(shape.elem_count())
            .collect();
        let keep = device.storage_from_cpu_storage_owned(CpuStorage::U8(keep))?;
        let factor = device.storage_from_cpu_storage_owned(match dtype {
            DType::F64 => CpuStorage::F64(vec![factor]),
            _ => CpuStorage::F32(vec![factor as f32]),
        })?;
        let scaled = match dtype {
            DType::F16 | DType::BF16 => storage
                .to_dtype(layout, DType::F32)?
                .binary_impl::<op::Mul>(&factor, &dense, &scalar)?
                .to_dtype(&dense, dtype)?,
            _ => storage.binary_impl::<op::Mul>(&factor, layout, &scalar)?,
        };
        let zero = device.zeros_impl(&Shape::from(1), dtype)?;
        let ys = keep.where_cond(&dense, &scaled, &dense, &zero, &scalar)?;
        Ok((ys, shape.clone()))
    }
}

impl CustomOp1 for DropoutOp {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        check_dtype(storage.dtype())?;
        if self.plan.reference.is_some() {
            return (Paths::get(&self.plan)?.drop)(self, storage, layout);
        }
        let shape = layout.shape();
        if ScaledDropout::supports(layout) {
            let kernel = ScaledDropout {
                scale: None,
                masking: Some(self.masking),
                level: self.plan.level,
            };
            return kernel.on_cpu(storage, layout);
        }
        // The kernel does not support more than three axes in another order.
        let mut dense = storage.device().zeros_impl(shape, storage.dtype())?;
        storage.copy_strided_src(&mut dense, 0, layout)?;
        self.cpu_fwd(&dense, &Layout::contiguous(shape))
    }

    fn cuda_fwd(&self, storage: &CudaStorage, layout: &Layout) -> Result<(CudaStorage, Shape)> {
        self.on_backend(storage, layout)
    }

    fn metal_fwd(&self, storage: &MetalStorage, layout: &Layout) -> Result<(MetalStorage, Shape)> {
        self.on_backend(storage, layout)
    }

    fn bwd(&self, _arg: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        grad.apply_op1(*self).map(Some)
    }
}
