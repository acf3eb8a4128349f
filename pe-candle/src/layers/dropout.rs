//! Dropout that can be repeated: seeded, counted, without a stored mask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::backend::{BackendDevice, BackendStorage};
use candle_core::{
    CpuStorage, CudaStorage, CustomOp1, DType, Error, Layout, MetalStorage, ModuleT, Result, Shape,
    Tensor, bail, op,
};
use pe_core::Backend;

use crate::kernel::{Mask, Masking, ScaledDropout};
use crate::tensors::memory;

/// Inverted dropout with a mask that is a pure function of seed, step and element index.
///
/// In training each element is set to zero with probability `p` or else multiplied by `1 / (1 -
/// p)`; in evaluation, and with `p = 0`, the input itself comes back. (N. Srivastava et al.:
/// "Dropout: A Simple Way to Prevent Neural Networks from Overfitting", JMLR 15, 2014.)
///
/// # The mask
/// Nothing is drawn and nothing is stored: the random word of an element is computed from where
/// it stands, with [`philox4x32_10`](crate::philox4x32_10). The backward pass computes it
/// again. To have the same mask elsewhere:
///
/// ```text
/// e        index of the element in row-major order, whatever the strides
/// counter  (lo(e / 4), hi(e / 4), lo(step), hi(step))     32-bit words of 64-bit numbers
/// key      (lo(seed), hi(seed))
/// word     number e % 4 of the four that philox4x32_10(counter, key) gives
/// kept     if word >= threshold,  threshold = p * 2^32 rounded to nearest, ties away from zero
/// factor   1 / (1 - p) in f64, rounded to f32 unless the input is f64
/// ```
///
/// `p` is an `f32`, so the threshold is exact for `p >= 2^-9`, and the rate is within 2^-33 of
/// `p` for all. The mask is the same on every device and for any number of threads; a dropped
/// element is `+0`, even where the input is infinite or not a number.
///
/// # Steps
/// Each training call takes the next step number, and hence a new mask. The counter can be read
/// and set ([`step`](Dropout::step), [`set_step`](Dropout::set_step)), so that a run can be
/// resumed where it stopped. Clones share the counter: they are the same dropout. Two dropouts
/// of one model need different seeds, or their masks agree.
///
/// # Types
/// `f32` and `f64` are multiplied in their own type; `f16` and `bf16` in `f32`, rounded once.
/// Other types are an error. Gradients flow through (to any order, where Candle is told to keep them:
/// `CANDLE_GRAD_DO_NOT_DETACH=1`). On GPUs the mask is made on
/// the host, one byte per element, and copied there.
///
/// ```
/// use candle_core::{DType, Device, ModuleT, Tensor};
/// use pe_candle::Dropout;
///
/// let dropout = Dropout::new(0.5, 7)?;
/// let ones = Tensor::ones((4, 8), DType::F32, &Device::Cpu)?;
/// let first = dropout.forward_t(&ones, true)?.to_vec2::<f32>()?;
/// let second = dropout.forward_t(&ones, true)?.to_vec2::<f32>()?;
/// assert_ne!(first, second);
///
/// dropout.set_step(0); // once more from the start
/// assert_eq!(dropout.forward_t(&ones, true)?.to_vec2::<f32>()?, first);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Dropout {
    p: f32,
    seed: u64,
    step: Arc<AtomicU64>,
    backend: Backend,
}

impl Dropout {
    /// A dropout of probability `p`, at step 0.
    ///
    /// # Errors
    /// If `p` does not lie in `[0, 1)`.
    pub fn new(p: f32, seed: u64) -> Result<Self> {
        if !(0.0..1.0).contains(&p) {
            bail!("dropout probability p must lie in [0, 1), got {p}");
        }
        Ok(Self {
            p,
            seed,
            step: Arc::default(),
            backend: Backend::best(),
        })
    }

    /// The probability that an element is dropped.
    pub fn p(&self) -> f32 {
        self.p
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The step that the next training call will take.
    pub fn step(&self) -> u64 {
        self.step.load(Ordering::Relaxed)
    }

    /// Sets the step that the next training call will take, for this and all its clones.
    pub fn set_step(&self, step: u64) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// Drops elements if `train`, and then takes the next step.
    ///
    /// # Errors
    /// As [`Dropout::forward_at_step`].
    pub fn forward(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        if !train {
            return Ok(xs.clone());
        }
        if self.p != 0.0 {
            // A refused call takes no step.
            check_dtype(xs.dtype())?;
            memory::for_result("the result", xs)?;
        }
        let step = self.step.fetch_add(1, Ordering::Relaxed);
        self.forward_at_step(xs, step, true)
    }

    /// Drops elements if `train`, with the mask of the step given. The counter stays as it is.
    ///
    /// # Errors
    /// In training with `p > 0`: an input that is not `f32`, `f64`, `f16` or `bf16`.
    pub fn forward_at_step(&self, xs: &Tensor, step: u64, train: bool) -> Result<Tensor> {
        if !train || self.p == 0.0 {
            return Ok(xs.clone());
        }
        check_dtype(xs.dtype())?;
        memory::for_result("the result", xs)?;
        if xs.elem_count() == 0 {
            return Ok(xs.clone());
        }
        xs.apply_op1(self.op(step))
    }

    /// Whether the mask of a step keeps the element of an index in row-major order.
    pub fn keeps(&self, step: u64, index: u64) -> bool {
        let mask = self.masking(step).mask;
        mask.keeps(mask.block(index / 4)[(index % 4) as usize])
    }

    /// [`Dropout::forward_at_step`] in training, by the code that serves GPUs: for the tests,
    /// which compare the two on the CPU.
    #[doc(hidden)]
    pub fn forward_portable(&self, xs: &Tensor, step: u64) -> Result<Tensor> {
        xs.apply_op1(Portable(self.op(step)))
    }

    /// The same dropout on an instruction set: for the tests.
    #[doc(hidden)]
    pub fn with_backend(self, backend: Backend) -> Self {
        Self { backend, ..self }
    }

    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }

    /// What a call is to apply, if anything; a training call takes the next step.
    pub(crate) fn next_masking(&self, train: bool) -> Option<Masking> {
        if !train {
            return None;
        }
        let step = self.step.fetch_add(1, Ordering::Relaxed);
        (self.p != 0.0).then(|| self.masking(step))
    }

    fn masking(&self, step: u64) -> Masking {
        Masking {
            mask: Mask {
                seed: self.seed,
                step,
                // At most 2^32 - 2^8, since p is an f32 below 1.
                threshold: (f64::from(self.p) * TWO_POW_32).round() as u32,
            },
            factor: 1.0 / (1.0 - f64::from(self.p)),
        }
    }

    fn op(&self, step: u64) -> DropoutOp {
        DropoutOp {
            masking: self.masking(step),
            backend: self.backend,
        }
    }
}

impl ModuleT for Dropout {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward(xs, train)
    }
}

const TWO_POW_32: f64 = 4_294_967_296.0;

fn check_dtype(dtype: DType) -> Result<()> {
    match dtype {
        DType::F32 | DType::F64 | DType::F16 | DType::BF16 => Ok(()),
        other => Err(unsupported(other)),
    }
}

fn unsupported(dtype: DType) -> Error {
    let dtype = dtype.as_str();
    Error::msg(format!("dropout takes f32, f64, f16 or bf16, not {dtype}"))
}

/// One application of a mask; its own backward pass.
#[derive(Debug, Clone, Copy)]
struct DropoutOp {
    masking: Masking,
    backend: Backend,
}

impl DropoutOp {
    /// The masked elements through the operations that every backend has, with the mask made
    /// here and copied to the device.
    fn on_backend<S>(&self, storage: &S, layout: &Layout) -> Result<(S, Shape)>
    where
        S: BackendStorage,
        S::Device: BackendDevice<Storage = S>,
    {
        let (device, dtype, shape) = (storage.device(), storage.dtype(), layout.shape());
        check_dtype(dtype)?;
        let plain = Layout::contiguous(shape);
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
                .binary_impl::<op::Mul>(&factor, &plain, &scalar)?
                .to_dtype(&plain, dtype)?,
            _ => storage.binary_impl::<op::Mul>(&factor, layout, &scalar)?,
        };
        let zero = device.zeros_impl(&Shape::from(1), dtype)?;
        let ys = keep.where_cond(&plain, &scaled, &plain, &zero, &scalar)?;
        Ok((ys, shape.clone()))
    }
}

impl CustomOp1 for DropoutOp {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        check_dtype(storage.dtype())?;
        let shape = layout.shape();
        let kernel = ScaledDropout {
            scale: None,
            masking: Some(self.masking),
            backend: self.backend,
        };
        if let Some(ys) = kernel.on_cpu(storage, layout) {
            return Ok((ys, shape.clone()));
        }
        // More than three axes in another order.
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

/// [`DropoutOp`] by the route of the GPUs, on the CPU.
struct Portable(DropoutOp);

impl CustomOp1 for Portable {
    fn name(&self) -> &'static str {
        "dropout, portable"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        self.0.on_backend(storage, layout)
    }
}
