//! Repeatable dropout: seeded, with a step counter, without a stored mask.

mod op;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use candle_core::{ModuleT, Result, Tensor, bail};

pub(crate) use self::op::DropoutOp;
use self::op::check_dtype;
use crate::kernel::{Mask, Masking, Plan};
use crate::tensors::memory;

/// Inverted dropout with a mask that is a pure function of seed, step, and element index.
///
/// Training sets each element to zero with probability `p` and multiplies the others by `1 / (1 - p)`.
/// In evaluation, and with `p = 0`, the result is the input itself. (N. Srivastava et al.: "Dropout: A
/// Simple Way to Prevent Neural Networks from Overfitting", JMLR 15, 2014.)
///
/// # Mask
/// The mask is not stored: [`philox4x32_10`](crate::philox4x32_10) computes the random word of an
/// element from its index, and the backward pass computes it again. The same mask in other code:
///
/// ```text
/// e        index of the element in row-major order, whatever the strides
/// counter  (lo(e / 4), hi(e / 4), lo(step), hi(step))     32-bit words of 64-bit numbers
/// key      (lo(seed), hi(seed))
/// word     word e % 4 of philox4x32_10(counter, key)
/// kept     if word >= threshold,  threshold = p * 2^32 rounded to nearest, ties away from zero
/// factor   1 / (1 - p) in f64, rounded to f32 unless the input is f64
/// ```
///
/// `p` is an `f32`, so the threshold is exact for `p >= 2^-9`, and the rate is within 2^-33 of every
/// `p`. The mask is the same on every device and for any number of threads. A dropped element is `+0`,
/// even if the input is infinite or NaN.
///
/// # Steps
/// Each training call uses the next step, and therefore a new mask. [`step`](Dropout::step) reads the
/// counter and [`set_step`](Dropout::set_step) sets it, so that a training run can be resumed. Clones
/// share the counter. The dropouts of one model need different seeds, because equal seeds give equal
/// masks.
///
/// # Types
/// `f32` and `f64` are multiplied in their own type, `f16` and `bf16` in `f32` with one rounding. Other
/// types are an error. Gradients flow through, to any order if Candle keeps them
/// (`CANDLE_GRAD_DO_NOT_DETACH=1`). For GPUs the mask is computed on the host, one byte per element, and
/// copied.
///
/// # Examples
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
    pub(crate) plan: Plan,
}

impl Dropout {
    /// Creates a dropout with probability `p`, at step 0.
    ///
    /// # Errors
    /// Returns an error if `p` is outside `[0, 1)`.
    pub fn new(p: f32, seed: u64) -> Result<Self> {
        if !(0.0..1.0).contains(&p) {
            bail!("dropout probability p must lie in [0, 1), got {p}");
        }
        Ok(Self {
            p,
            seed,
            step: Arc::default(),
            plan: Plan::best(),
        })
    }

    /// Returns the probability of dropping an element.
    pub fn p(&self) -> f32 {
        self.p
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the step of the next training call.
    pub fn step(&self) -> u64 {
        self.step.load(Ordering::Relaxed)
    }

    /// Sets the step of the next training call, for this dropout and all its clones.
    pub fn set_step(&self, step: u64) {
        self.step.store(step, Ordering::Relaxed);
    }

    /// Drops elements if `train`, and increments the step.
    ///
    /// # Errors
    /// Returns the errors of [`Dropout::forward_at_step`].
    pub fn forward(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        if !train {
            return Ok(xs.clone());
        }
        if self.p != 0.0 {
            // A call with an error uses no step.
            check_dtype(xs.dtype())?;
            memory::for_result("the result", xs)?;
        }
        let step = self.step.fetch_add(1, Ordering::Relaxed);
        self.forward_at_step(xs, step, true)
    }

    /// Drops elements if `train`, with the mask of a given step. The counter is unchanged.
    ///
    /// # Examples
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use pe_candle::Dropout;
    ///
    /// let dropout = Dropout::new(0.5, 7)?;
    /// let ones = Tensor::ones((4, 8), DType::F32, &Device::Cpu)?;
    /// let a = dropout.forward_at_step(&ones, 3, true)?;
    /// let b = dropout.forward_at_step(&ones, 3, true)?;
    /// assert_eq!(a.to_vec2::<f32>()?, b.to_vec2::<f32>()?);
    /// assert_eq!(dropout.step(), 0);
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error in training with `p > 0` if the input is not `f32`, `f64`, `f16`, or `bf16`.
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

    /// Returns whether the mask of a step keeps the element with an index in row-major order.
    pub fn keeps(&self, step: u64, index: u64) -> bool {
        let mask = self.masking(step).mask;
        mask.keeps(mask.block(index / 4)[(index % 4) as usize])
    }

    /// Returns the mask that a call applies, if any. A training call uses the next step.
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
            plan: self.plan,
        }
    }
}

impl ModuleT for Dropout {
    fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        self.forward(xs, train)
    }
}

const TWO_POW_32: f64 = 4_294_967_296.0;
