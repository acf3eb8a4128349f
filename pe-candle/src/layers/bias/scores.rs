//! Scores with a bias, and their softmax: fused, or composed of Candle's operations.

use candle_core::{DType, Result, Tensor, bail};

use super::{AttentionBias, ScoreMask, ScoreScale};
use crate::kernel::{Outcome, Plan, SoftmaxBias, Term, bias_dtype};
use crate::layers::reference::Paths;
use crate::tensors::memory;

/// Computes `softmax(scale(scores) + bias)` over the keys, in one pass over the scores.
///
/// The scores have shape `[batch, heads, q_len, kv_len]`, or `[batch, q_len, kv_len]` for one head, in `f32`, `f64`, `f16`, or
/// `bf16`. 16-bit types are computed in `f32` and rounded once. Excluded keys have the weight 0, and a query without keys (or with
/// minus infinity at all of them) has weights of 0. A key with a sum that is more than 87.3 below the largest one (708.3 in `f64`) has
/// the weight 0 too: its true one is below the smallest normal number. A NaN, or a score of plus infinity, makes the weights of its
/// query NaN.
///
/// On the CPU nothing of the shape of the scores is built but the result: the bias is read by distance, key, or grid. The exponential has
/// an error below 1 ulp, and the bits are the same on every instruction set and for any number of threads. Gradients flow to the scores
/// and to all tensors of the bias. On other devices, Candle's operations compute the same.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{Alibi, AlibiConfig, ScoreMask, softmax_with_bias};
///
/// let alibi = Alibi::new(AlibiConfig::new(12), DType::F32, &Device::Cpu)?;
/// let scores = Tensor::zeros((1, 12, 1, 8), DType::F32, &Device::Cpu)?; // a step of decoding, at position 7
/// let bias = alibi.bias(1, 8, 7)?;
/// let weights = softmax_with_bias(&scores, Some(&bias), 0.125, &ScoreMask::causal(7))?;
/// # assert_eq!(weights.dims(), [1, 12, 1, 8]);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the scores have another type or number of axes,
/// - the bias, or the padding or packing of the mask, does not go with their shape,
/// - the scale is not finite, or the cap is not positive and finite.
pub fn softmax_with_bias(
    scores: &Tensor,
    bias: Option<&AttentionBias>,
    scale: impl Into<ScoreScale>,
    mask: &ScoreMask,
) -> Result<Tensor> {
    Call::new(scores, bias, scale.into(), mask, Outcome::Weights)?.fresh(scores)
}

/// Does the same as [`softmax_with_bias`] in the memory of contiguous scores on the CPU, without a gradient. It allocates only a
/// row per thread. All tensors that share the memory change as well.
///
/// # Errors
/// Returns the errors of [`softmax_with_bias`], and an error if the scores are not contiguous, are not on the CPU, or are tracked for
/// gradients.
pub fn softmax_with_bias_inplace(
    scores: &Tensor,
    bias: Option<&AttentionBias>,
    scale: impl Into<ScoreScale>,
    mask: &ScoreMask,
) -> Result<()> {
    Call::new(scores, bias, scale.into(), mask, Outcome::Weights)?.in_place(scores)
}

/// Computes `scale(scores) + bias`, with minus infinity for excluded keys, in one pass over the scores. [`softmax_with_bias`]
/// computes the softmax of these sums.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::{Alibi, AlibiConfig, ScoreMask, add_to_scores};
///
/// let alibi = Alibi::new(AlibiConfig::new(1), DType::F32, &Device::Cpu)?;
/// let scores = Tensor::ones((1, 1, 2, 2), DType::F32, &Device::Cpu)?;
/// let sums = add_to_scores(&scores, Some(&alibi.bias(2, 2, 0)?), 2.0, &ScoreMask::causal(0))?;
/// let wanted = [2.0, f32::NEG_INFINITY, 2.0 - 1.0 / 256.0, 2.0];
/// assert_eq!(sums.flatten_all()?.to_vec1::<f32>()?, wanted);
/// # Ok::<(), candle_core::Error>(())
/// ```
///
/// # Errors
/// Returns the errors of [`softmax_with_bias`].
pub fn add_to_scores(
    scores: &Tensor,
    bias: Option<&AttentionBias>,
    scale: impl Into<ScoreScale>,
    mask: &ScoreMask,
) -> Result<Tensor> {
    Call::new(scores, bias, scale.into(), mask, Outcome::Scores)?.fresh(scores)
}

/// Does the same as [`add_to_scores`] in the memory of contiguous scores on the CPU, without a gradient.
///
/// # Errors
/// Returns the errors of [`softmax_with_bias_inplace`].
pub fn add_to_scores_inplace(
    scores: &Tensor,
    bias: Option<&AttentionBias>,
    scale: impl Into<ScoreScale>,
    mask: &ScoreMask,
) -> Result<()> {
    Call::new(scores, bias, scale.into(), mask, Outcome::Scores)?.in_place(scores)
}

/// A checked call.
struct Call<'a> {
    bias: Option<&'a AttentionBias>,
    scale: ScoreScale,
    mask: &'a ScoreMask,
    outcome: Outcome,
    dims: [usize; 4],
}

impl<'a> Call<'a> {
    fn new(
        scores: &Tensor,
        bias: Option<&'a AttentionBias>,
        scale: ScoreScale,
        mask: &'a ScoreMask,
        outcome: Outcome,
    ) -> Result<Self> {
        scale.check()?;
        memory::for_result("the result", scores)?;
        let dims = match *scores.dims() {
            [batch, heads, q_len, kv_len] => [batch, heads, q_len, kv_len],
            [batch, q_len, kv_len] => [batch, 1, q_len, kv_len],
            ref dims => bail!(
                "scores are [batch, heads, q_len, kv_len] or [batch, q_len, kv_len], got {dims:?}"
            ),
        };
        if !matches!(
            scores.dtype(),
            DType::F32 | DType::F64 | DType::F16 | DType::BF16
        ) {
            bail!(
                "scores are f32, f64, f16 or bf16, not {}",
                scores.dtype().as_str()
            );
        }
        if let Some(bias) = bias {
            bias.check(dims)?;
        }
        mask.check(scores.dims(), dims)?;
        Ok(Self {
            bias,
            scale,
            mask,
            outcome,
            dims,
        })
    }

    fn plan(&self) -> Plan {
        self.bias.map_or_else(Plan::best, |bias| bias.plan)
    }

    /// Returns the operation and its operands.
    fn operation(&self, scores: &Tensor) -> Result<(SoftmaxBias, [Tensor; 2])> {
        let dtype = bias_dtype(scores.dtype());
        let parts = self.bias.map_or(&[][..], |bias| &bias.parts);
        let operand = |index: usize| match parts.get(index) {
            Some(part) => part.values.to_dtype(dtype)?.contiguous(),
            None => Tensor::zeros(1, dtype, scores.device()),
        };
        let term =
            |index: usize| -> Option<Term> { parts.get(index).map(|part| part.term.clone()) };
        let operation = SoftmaxBias {
            level: self.plan().level,
            dims: self.dims,
            factor: self.scale.factor,
            caps: self.scale.caps(),
            rules: self.mask.rules.clone(),
            terms: [term(0), term(1)],
            outcome: self.outcome,
        };
        Ok((operation, [operand(0)?, operand(1)?]))
    }

    fn fresh(&self, scores: &Tensor) -> Result<Tensor> {
        let (operation, [first, second]) = self.operation(scores)?;
        let plan = self.plan();
        if !plan.has_kernel(scores) {
            return (Paths::get(&plan)?.weigh)(&operation, scores, [&first, &second]);
        }
        operation.apply(&scores.contiguous()?, [&first, &second])
    }

    fn in_place(&self, scores: &Tensor) -> Result<()> {
        if scores.track_op() {
            bail!("scores that are tracked for gradients cannot be replaced in place");
        }
        if !scores.device().is_cpu() || !scores.is_contiguous() {
            bail!("scores are replaced in place only if they are contiguous and on the CPU");
        }
        let (operation, [first, second]) = self.operation(scores)?;
        operation.apply_in_place(scores, [&first, &second])
    }
}
