//! Dropout that can be repeated: seeded, counted, without a stored mask.

mod op;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::{ModuleT, Result, Tensor, bail};
use pe_core::Backend;

use self::op::{DropoutOp, Portable, check_dtype};
use crate::kernel::{Mask, Masking};
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
