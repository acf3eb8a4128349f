//! Scores with a bias, and their softmax, as one operation, its gradients, and its variant in place.
//!
//! A bias is read row by row from small tensors (`terms.rs`): nothing of the shape of the scores is built.

mod exp;
mod gradients;
mod rows;
mod rules;
mod terms;

use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CustomOp2, CustomOp3, DType, InplaceOp3, Layout, Result, Shape, Tensor, WithDType,
    bail,
};

use crate::kernel::dispatch::{Operand, part};
use crate::kernel::element::{Activation, Compute};
use crate::kernel::isa::Level;
use exp::Real;
use gradients::Back;
use rows::{Pass, Scale};

pub(crate) use rows::Outcome;
pub(crate) use rules::Rules;
pub(crate) use terms::{Read, Term};

/// `cap tanh(scale s / cap) + bias`, without the keys that the rules exclude, and the softmax of it.
#[derive(Debug, Clone)]
pub(crate) struct SoftmaxBias {
    pub(crate) level: Level,
    /// Batch, heads, queries, and keys.
    pub(crate) dims: [usize; 4],
    pub(crate) factor: f64,
    pub(crate) cap: Option<f64>,
    pub(crate) rules: Rules,
    /// How the second and the third operand are read.
    pub(crate) terms: [Option<Term>; 2],
    pub(crate) outcome: Outcome,
}

/// Runs an expression for the type of the scores.
macro_rules! by_scores {
    ($storage:expr, |$xs:ident| $call:expr) => {
        match $storage {
            CpuStorage::F32($xs) => $call,
            CpuStorage::F64($xs) => $call,
            CpuStorage::F16($xs) => $call,
            CpuStorage::BF16($xs) => $call,
            other => bail!("no kernel for scores of {}", other.dtype().as_str()),
        }
    };
}

impl SoftmaxBias {
    /// Returns the result, as a tensor that gradients flow through. The scores are contiguous, and the operands are those of
    /// [`terms`](Self::terms), or one number in the place of a missing one.
    pub(crate) fn apply(self, scores: &Tensor, [first, second]: [&Tensor; 2]) -> Result<Tensor> {
        if scores.track_op() || first.track_op() || second.track_op() {
            scores.apply_op3(first, second, self)
        } else {
            scores.apply_op3_no_bwd(first, second, &self)
        }
    }

    /// Replaces the scores in their memory.
    pub(crate) fn apply_in_place(
        &self,
        scores: &Tensor,
        [first, second]: [&Tensor; 2],
    ) -> Result<()> {
        scores.inplace_op3(first, second, self)
    }

    fn scale<C: Compute>(&self) -> Scale<C> {
        Scale {
            factor: C::from_f64(self.factor),
            cap: self.cap.map(C::from_f64),
        }
    }

    fn pass<'a, C: Real>(&'a self, operands: [Operand<'a>; 2]) -> Result<Pass<'a, C>> {
        let mut terms = [None, None];
        for ((term, (storage, layout)), out) in self.terms.iter().zip(operands).zip(&mut terms) {
            if let Some(term) = term {
                let data = part::<C>((storage, layout))?;
                term.check(data.len(), self.dims)?;
                *out = Some((term, data));
            }
        }
        Ok(Pass {
            level: self.level,
            dims: self.dims,
            scale: self.scale(),
            rules: &self.rules,
            terms,
            outcome: self.outcome,
        })
    }

    fn map<T>(&self, xs: &[T], layout: &Layout, operands: [Operand<'_>; 2]) -> Result<CpuStorage>
    where
        T: Activation + WithDType,
        T::Compute: Real,
    {
        let ys = self
            .pass::<T::Compute>(operands)?
            .map(self.own(xs, layout)?);
        Ok(T::to_cpu_storage_owned(ys))
    }

    /// Returns the elements of the scores.
    fn own<'a, T>(&self, xs: &'a [T], layout: &Layout) -> Result<&'a [T]> {
        match layout.contiguous_offsets() {
            Some((start, end)) if end - start == self.dims.iter().product::<usize>() => {
                Ok(&xs[start..end])
            }
            _ => bail!(
                "scores of layout {layout:?} are not contiguous, of shape {:?}",
                self.dims
            ),
        }
    }
}

impl CustomOp3 for SoftmaxBias {
    fn name(&self) -> &'static str {
        "softmax-bias"
    }

    fn cpu_fwd(
        &self,
        scores: &CpuStorage,
        layout: &Layout,
        first: &CpuStorage,
        first_layout: &Layout,
        second: &CpuStorage,
        second_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let operands = [(first, first_layout), (second, second_layout)];
        let ys = by_scores!(scores, |xs| self.map(xs, layout, operands)?);
        Ok((ys, layout.shape().clone()))
    }

    fn bwd(
        &self,
        scores: &Tensor,
        first: &Tensor,
        second: &Tensor,
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let grad = grad.contiguous()?;
        let of_term = |operand: &Tensor, term: &Option<Term>| match term {
            Some(term) if operand.track_op() => {
                let op = TermGradient {
                    of: self.clone(),
                    term: term.clone(),
                    shape: operand.shape().clone(),
                };
                result.apply_op2_no_bwd(&grad, &op).map(Some)
            }
            _ => Ok(None),
        };
        let of_scores = match scores.track_op() {
            true => Some(result.apply_op3_no_bwd(&grad, scores, &ScoreGradient(self.clone()))?),
            false => None,
        };
        let [one, two] = &self.terms;
        Ok((of_scores, of_term(first, one)?, of_term(second, two)?))
    }
}

impl InplaceOp3 for SoftmaxBias {
    fn name(&self) -> &'static str {
        "softmax-bias in place"
    }

    fn cpu_fwd(
        &self,
        scores: &mut CpuStorage,
        layout: &Layout,
        first: &CpuStorage,
        first_layout: &Layout,
        second: &CpuStorage,
        second_layout: &Layout,
    ) -> Result<()> {
        let operands = [(first, first_layout), (second, second_layout)];
        by_scores!(scores, |xs| {
            let (start, len) = (layout.start_offset(), self.own(xs, layout)?.len());
            let pass = self.pass(operands)?;
            pass.map_in_place(&mut xs[start..start + len]);
        });
        Ok(())
    }
}

/// The gradient of the scores from the result, its gradient, and the scores.
struct ScoreGradient(SoftmaxBias);

impl CustomOp3 for ScoreGradient {
    fn name(&self) -> &'static str {
        "softmax-bias-gradient"
    }

    fn cpu_fwd(
        &self,
        results: &CpuStorage,
        layout: &Layout,
        grads: &CpuStorage,
        grads_layout: &Layout,
        scores: &CpuStorage,
        scores_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        fn of<T>(op: &SoftmaxBias, ys: &[T], gs: &[T], xs: &[T]) -> CpuStorage
        where
            T: Activation + WithDType,
            T::Compute: Real,
        {
            let back = op.back(ys, gs);
            T::to_cpu_storage_owned(back.to_scores(xs, op.scale()))
        }
        let dx = by_scores!(results, |ys| {
            let (ys, gs) = (self.0.own(ys, layout)?, part((grads, grads_layout))?);
            of(&self.0, ys, gs, part((scores, scores_layout))?)
        });
        Ok((dx, layout.shape().clone()))
    }
}

/// The gradient of a term from the result and its gradient.
struct TermGradient {
    of: SoftmaxBias,
    term: Term,
    shape: Shape,
}

impl CustomOp2 for TermGradient {
    fn name(&self) -> &'static str {
        "bias-gradient"
    }

    fn cpu_fwd(
        &self,
        results: &CpuStorage,
        layout: &Layout,
        grads: &CpuStorage,
        grads_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        fn of<T>(op: &TermGradient, ys: &[T], gs: &[T]) -> CpuStorage
        where
            T: Activation + WithDType,
            T::Compute: Real,
        {
            let sums = op.of.back(ys, gs).to_term(&op.term, op.shape.elem_count());
            <T::Compute as WithDType>::to_cpu_storage_owned(sums)
        }
        let sums = by_scores!(results, |ys| {
            of(self, self.of.own(ys, layout)?, part((grads, grads_layout))?)
        });
        Ok((sums, self.shape.clone()))
    }
}

impl SoftmaxBias {
    fn back<'a, T: Activation>(&'a self, ys: &'a [T], gs: &'a [T]) -> Back<'a, T> {
        Back {
            level: self.level,
            dims: self.dims,
            rules: &self.rules,
            outcome: self.outcome,
            ys,
            gs,
        }
    }
}

/// Returns the type that biases of scores of a type have.
pub(crate) fn bias_dtype(scores: DType) -> DType {
    match scores {
        DType::F64 => DType::F64,
        _ => DType::F32,
    }
}
