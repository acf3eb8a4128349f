//! Multi-head self-attention.

use candle_core::{Result, Tensor};
use candle_nn::{Linear, VarBuilder};
use pe_candle::softmax_with_bias;

use super::linear::{self, linear};
use super::mask::Mask;
use super::positions::InAttention;

/// Scaled dot-product attention of a sequence to itself, in several heads
/// (Vaswani et al., 2017, section 3.2).
#[derive(Debug, Clone)]
pub struct SelfAttention {
    heads: usize,
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
}

impl SelfAttention {
    /// Builds heads of equal width that share `d_model`.
    ///
    /// # Errors
    /// Returns the errors of the builder.
    pub fn new(d_model: usize, heads: usize, vb: &VarBuilder<'_>) -> Result<Self> {
        Ok(Self {
            heads,
            query: linear(d_model, d_model, vb.pp("query"))?,
            key: linear(d_model, d_model, vb.pp("key"))?,
            value: linear(d_model, d_model, vb.pp("value"))?,
            output: linear(d_model, d_model, vb.pp("output"))?,
        })
    }

    /// Returns the attended values [B, T, d] of `xs` [B, T, d], and the weights [B, H, T, T]. Queries
    /// and keys are rotated by their positions, and a bias is added to the scores, if the scheme has
    /// one.
    ///
    /// # Errors
    /// Returns an error if shapes do not fit, or if there are more tokens than a rotary table has rows.
    pub(super) fn forward(
        &self,
        xs: &Tensor,
        mask: &Mask,
        positions: &InAttention<'_>,
    ) -> Result<(Tensor, Tensor)> {
        let (batch, len, d_model) = xs.dims3()?;
        let width = d_model / self.heads;
        let split = |xs: Tensor| {
            xs.reshape((batch, len, self.heads, width))?
                .transpose(1, 2)?
                .contiguous()
        };
        let query = split(linear::forward(&self.query, xs)?)?;
        let key = split(linear::forward(&self.key, xs)?)?;
        let value = split(linear::forward(&self.value, xs)?)?;
        let (query, key) = match positions.rotary {
            Some(rotary) => rotary.apply_rotary_emb_qkv(&query, &key, 0)?,
            None => (query, key),
        };

        let scores = query.matmul(&key.t()?)?;
        let scale = 1.0 / (width as f64).sqrt();
        let weights = match &positions.bias {
            Some(bias) => softmax_with_bias(&scores, Some(bias), scale, mask.rules())?,
            None => mask.softmax(&(scores / (width as f64).sqrt())?)?,
        };
        let mixed = weights
            .matmul(&value)?
            .transpose(1, 2)?
            .reshape((batch, len, d_model))?;
        Ok((linear::forward(&self.output, &mixed)?, weights))
    }
}
