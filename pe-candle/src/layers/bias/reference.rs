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
        if let Some(cap) = self.cap {
            z = ((z / cap)?.tanh()? * cap)?;
        }
        for (term, values) in self.terms.iter().zip(operands) {
            if let Some(term) = term {
                z = z.broadcast_add(&expanded(term, values, q_len, kv_len)?)?;
            }
        }
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

/// Returns the values of all queries and keys, `[1 or batch, 1 or heads, q_len, kv_len]`.
pub(super) fn expanded(
    term: &Term,
    values: &Tensor,
    q_len: usize,
    kv_len: usize,
) -> Result<Tensor> {
    let (batch, heads, _) = values.dims3()?;
    let place = |query| (0..kv_len).map(move |key| term.place(query, key) as u32);
    let index: Vec<_> = (0..q_len).flat_map(place).collect();
    let index = Tensor::from_vec(index, q_len * kv_len, values.device())?;
    let values = values.contiguous()?.index_select(&index, 2)?;
    values.reshape((batch, heads, q_len, kv_len))
}
