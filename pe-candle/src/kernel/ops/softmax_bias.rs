//! Scores with a bias, and their softmax, as one operation, its gradients, and its variant in place.
//!
//! A bias is read row by row from small tensors (`terms.rs`): nothing of the shape of the scores is built.

mod exp;
mod gradients;
mod image;
mod rows;
mod rules;
mod terms;
mod tile;

use candle_core::backend::BackendStorage;
use candle_core::{
    CpuStorage, CustomOp3, DType, Device, InplaceOp3, Layout, Result, Shape, Storage, Tensor,
    WithDType, bail,
};
use half::{bf16, f16};

use crate::kernel::dispatch::{Operand, part};
use crate::kernel::element::{Activation, Compute};
use crate::kernel::isa::Level;
use exp::Real;
use gradients::Back;
use rows::{Pass, Scale};
use terms::Terms;

pub(crate) use rows::Outcome;
pub(crate) use rules::{Packed, Rules};
pub(crate) use terms::{Read, Term};

/// `factor s + bias` without the keys that the rules exclude, and its softmax. `cap tanh(z / cap)` bounds the scores or the sums.
#[derive(Debug, Clone)]
pub(crate) struct SoftmaxBias {
    pub(crate) level: Level,
    /// Batch, heads, queries, and keys.
    pub(crate) dims: [usize; 4],
    pub(crate) factor: f64,
    /// The cap of the scores, and that of their sums with the bias.
    pub(crate) caps: [Option<f64>; 2],
    pub(crate) rules: Rules,
    /// The terms that the second and the third operand hold.
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
            caps: self.caps.map(|cap| cap.map(C::from_f64)),
        }
    }

    /// Returns the terms with their values.
    fn values<'a, C: Real>(&'a self, operands: [Operand<'a>; 2]) -> Result<Terms<'a, C>> {
        let mut terms = [None, None];
        for ((term, operand), out) in self.terms.iter().zip(operands).zip(&mut terms) {
            if let Some(term) = term {
                let data = part::<C>(operand)?;
                term.check(data.len(), self.dims)?;
                *out = Some((term, data));
            }
        }
        Ok(terms)
    }

    fn pass<'a, C: Real>(&'a self, operands: [Operand<'a>; 2]) -> Result<Pass<'a, C>> {
        Ok(Pass {
            level: self.level,
            dims: self.dims,
            scale: self.scale(),
            rules: &self.rules,
            terms: self.values(operands)?,
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
        let (grad, operands) = (grad.contiguous()?, [first, second]);
        let wanted = [0, 1].map(|index| {
            let term = self.terms[index].as_ref();
            term.filter(|_| operands[index].track_op())
        });
        let of_terms = |op: &Self, result: &Tensor, grad: &Tensor| -> Result<[_; 2]> {
            let of_term = |index: usize| {
                if wanted[index].is_none() {
                    return Ok(None);
                }
                let shape = operands[index].shape().clone();
                let op = op.clone();
                let op = TermGradient { op, index, shape };
                result
                    .apply_op3_no_bwd(grad, operands[1 - index], &op)
                    .map(Some)
            };
            Ok([of_term(0)?, of_term(1)?])
        };
        let (of_scores, [one, two]) = if let [None, Some(_)] = self.caps {
            // The slope of the cap is the same for both: it goes into a gradient of the sums.
            let mut sums = self.clone();
            sums.outcome = Outcome::Scores;
            let capped = scores.apply_op3_no_bwd(first, second, &sums)?;
            let back = [result, &grad, &capped];
            let (of_sums, _) = self.gradients(back, 1.0, [None, None])?;
            let of_scores = match scores.track_op() {
                true => Some(of_sums.affine(self.factor, 0.0)?),
                false => None,
            };
            (of_scores, of_terms(&sums, result, &of_sums)?)
        } else if scores.track_op() {
            let back = [result, &grad, scores];
            let owned = [0, 1].map(|index| Some((wanted[index]?, operands[index].shape())));
            match self.gradients(back, self.factor, owned)? {
                (of_scores, Some(terms)) => (Some(of_scores), terms),
                (of_scores, None) => (Some(of_scores), of_terms(self, result, &grad)?),
            }
        } else {
            (None, of_terms(self, result, &grad)?)
        };
        Ok((of_scores, one, two))
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

impl SoftmaxBias {
    /// Returns the gradient of the scores from the result, its gradient, and the scores, and with it those of the terms, each with its
    /// operand, if each sequence and head has values of its own.
    fn gradients(
        &self,
        [result, grad, scores]: [&Tensor; 3],
        factor: f64,
        terms: [Option<(&Term, &Shape)>; 2],
    ) -> Result<(Tensor, Option<[Option<Tensor>; 2]>)> {
        fn of<T>(
            op: &SoftmaxBias,
            [(ys, layout), gs, xs]: [Operand<'_>; 3],
            scale: Scale<T::Compute>,
            terms: [Option<(&Term, &Shape)>; 2],
        ) -> Result<(Tensor, Option<[Option<Tensor>; 2]>)>
        where
            T: Activation + WithDType,
            T::Compute: Real,
        {
            let back = op.back(op.own(ys.as_slice()?, layout)?, part::<T>(gs)?);
            let owns = |(term, values): &(&Term, &Shape)| back.owns(term, values.elem_count());
            let owned = terms.iter().flatten().all(owns);
            let of_terms = terms.map(|term| term.filter(|_| owned));
            let (dx, sums) = back.to_scores(
                part(xs)?,
                scale,
                of_terms.map(|term| term.map(|(term, values)| (term, values.elem_count()))),
            )?;
            let dx = Tensor::from_vec(dx, layout.shape(), &Device::Cpu)?;
            let tensor = |(term, sums): (Option<(&Term, &Shape)>, _)| {
                term.map(|(_, values)| Tensor::from_vec(sums, values.clone(), &Device::Cpu))
                    .transpose()
            };
            let [one, two] = sums;
            let sums = [tensor((of_terms[0], one))?, tensor((of_terms[1], two))?];
            Ok((dx, owned.then_some(sums)))
        }
        let guards = [result, grad, scores].map(Tensor::storage_and_layout);
        let operand = |index: usize| {
            let (storage, layout) = &guards[index];
            match &**storage {
                Storage::Cpu(storage) => Ok((storage, *layout)),
                _ => bail!("the gradient of a softmax is computed on the cpu"),
            }
        };
        let operands = [operand(0)?, operand(1)?, operand(2)?];
        let op = Self {
            factor,
            ..self.clone()
        };
        match operands[0].0.dtype() {
            DType::F32 => of::<f32>(&op, operands, op.scale(), terms),
            DType::F64 => of::<f64>(&op, operands, op.scale(), terms),
            DType::F16 => of::<f16>(&op, operands, op.scale(), terms),
            _ => of::<bf16>(&op, operands, op.scale(), terms),
        }
    }
}

impl SoftmaxBias {
    /// Returns the gradients of scores without a cap, and of the values of the terms, which have these shapes and are not gates, from
    /// the result and its gradient.
    pub(crate) fn gradients_of_all(
        &self,
        result: &Tensor,
        grad: &Tensor,
        shapes: &[Shape; 2],
    ) -> Result<(Tensor, [Option<Tensor>; 2])> {
        let of = |index: usize| Some((self.terms[index].as_ref()?, &shapes[index]));
        let back = [result, grad, result];
        let (of_scores, of_terms) = self.gradients(back, self.factor, [of(0), of(1)])?;
        if let Some(of_terms) = of_terms {
            return Ok((of_scores, of_terms));
        }
        let other = Tensor::zeros(1, bias_dtype(result.dtype()), &Device::Cpu)?;
        let mut of_terms = [None, None];
        for (index, of_term) in of_terms.iter_mut().enumerate() {
            if self.terms[index].is_some() {
                let (mut op, shape) = (self.clone(), shapes[index].clone());
                op.terms[1 - index] = None;
                let op = TermGradient { op, index, shape };
                *of_term = Some(result.apply_op3_no_bwd(grad, &other, &op)?);
            }
        }
        Ok((of_scores, of_terms))
    }
}

/// The gradient of a term from the result, its gradient, and the other operand.
struct TermGradient {
    op: SoftmaxBias,
    index: usize,
    shape: Shape,
}

impl CustomOp3 for TermGradient {
    fn name(&self) -> &'static str {
        "bias-gradient"
    }

    fn cpu_fwd(
        &self,
        results: &CpuStorage,
        layout: &Layout,
        grads: &CpuStorage,
        grads_layout: &Layout,
        other: &CpuStorage,
        other_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        fn of<T>(
            gradient: &TermGradient,
            ys: &[T],
            gs: &[T],
            other: Operand<'_>,
        ) -> Result<CpuStorage>
        where
            T: Activation + WithDType,
            T::Compute: Real,
        {
            let TermGradient { op, index, shape } = gradient;
            let mut others = op.clone();
            let Some(term) = others.terms[*index].take() else {
                bail!("the bias has no part {index}");
            };
            let (others, back) = (others.values([other; 2])?, op.back(ys, gs));
            let sums = back.to_term(&term, others, shape.elem_count())?;
            Ok(<T::Compute as WithDType>::to_cpu_storage_owned(sums))
        }
        let other = (other, other_layout);
        let sums = by_scores!(results, |ys| {
            of(
                self,
                self.op.own(ys, layout)?,
                part((grads, grads_layout))?,
                other,
            )?
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
