//! Reference of the scores with a bias, composed of Candle's own operations.

use candle_core::{D, Result, Tensor};

use crate::kernel::{Outcome, SoftmaxBias, Term};
use crate::layers::reference::compute_dtype;

impl SoftmaxBias {
    /// Does what [`apply`](Self::apply) does by Candle's operations, in the type that is computed in.
    pub(crate) fn by_reference(&self, scores: &Tensor, operands: [&Tensor; 2]) -> Result<Tensor> {
        let dtype = compute_dtype(scores.dtype());
        let [_, _, q_len, kv_len] = self.dims;
        let wide = scores.to_dtype(dtype)?.reshape(&self.dims)?;
        let mut z = wide.affine(self.factor, 0.0)?;
        let bounded = |z: Tensor, cap: Option<f64>| match cap {
            Some(cap) => (z / cap)?.tanh()? * cap,
            None => Ok(z),
        };
        z = bounded(z, self.caps[0])?;
        let terms = self.terms.iter().zip(operands);
        let terms = terms.filter_map(|(term, values)| Some((term.as_ref()?, values)));
        if let Some(bias) = sum(terms, q_len, kv_len)? {
            z = z.broadcast_add(&bias)?;
        }
        z = bounded(z, self.caps[1])?;
        if let Some(excluded) = self.rules.excluded(self.dims) {
            let excluded = Tensor::from_vec(excluded, &self.dims[..], z.device())?;
            let none = Tensor::new(f32::NEG_INFINITY, z.device())?.to_dtype(dtype)?;
            z = excluded.where_cond(&none.broadcast_as(&self.dims[..])?, &z)?;
        }
        if self.outcome == Outcome::Weights {
            let most = z.max_keepdim(D::Minus1)?.detach();
            let zeros = most.zeros_like()?;
            let most = most.eq(f64::NEG_INFINITY)?.where_cond(&zeros, &most)?;
            let powers = z.broadcast_sub(&most)?.exp()?;
            let sum = powers.sum_keepdim(D::Minus1)?;
            let sum = sum.eq(0.0)?.where_cond(&sum.ones_like()?, &sum)?;
            z = powers.broadcast_div(&sum)?;
        }
        z.reshape(scores.dims())?.to_dtype(scores.dtype())
    }
}

/// Returns the sum of the terms, times those that are gates, `[1 or batch, 1 or heads, q_len, kv_len]`.
pub(super) fn sum<'a>(
    terms: impl Iterator<Item = (&'a Term, &'a Tensor)>,
    q_len: usize,
    kv_len: usize,
) -> Result<Option<Tensor>> {
    let mut sum: Option<Tensor> = None;
    for (term, values) in terms {
        let values = expanded(term, values, q_len, kv_len)?;
        sum = Some(match sum {
            None => values,
            Some(sum) if term.is_gate() => sum.broadcast_mul(&values)?,
            Some(sum) => sum.broadcast_add(&values)?,
        });
    }
    Ok(sum)
}

/// Returns the values of all queries and keys, `[1 or batch, 1 or heads, q_len, kv_len]`.
fn expanded(term: &Term, values: &Tensor, q_len: usize, kv_len: usize) -> Result<Tensor> {
    let place = |query| (0..kv_len).map(move |key| term.place(query, key) as u32);
    let index: Vec<_> = (0..q_len).flat_map(place).collect();
    let index = Tensor::from_vec(index, q_len * kv_len, values.device())?;
    let [batch, heads] = term.owners(values.elem_count());
    let values = values.reshape((batch * heads, term.len))?;
    let values = values.contiguous()?.index_select(&index, 1)?;
    match term.steps {
        [sequence, head] if sequence < head && sequence > 0 => values
            .reshape((heads, batch, q_len, kv_len))?
            .transpose(0, 1),
        _ => values.reshape((batch, heads, q_len, kv_len)),
    }
}
