//! Multi-head self-attention.

use candle_core::{Result, Tensor};
use candle_nn::{Init, Linear, VarBuilder};
use pe_candle::RotaryEmbedding;

use crate::encoder::mask::Mask;
use crate::encoder::steady;

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
    /// Heads of equal width that share `d_model`.
    ///
    /// # Errors
    /// Those of the builder.
    pub fn new(d_model: usize, heads: usize, vb: &VarBuilder<'_>) -> Result<Self> {
        Ok(Self {
            heads,
            query: linear(d_model, d_model, vb.pp("query"))?,
            key: linear(d_model, d_model, vb.pp("key"))?,
            value: linear(d_model, d_model, vb.pp("value"))?,
            output: linear(d_model, d_model, vb.pp("output"))?,
        })
    }

    /// The attended values [B, T, d] of `xs` [B, T, d], and the weights [B, H, T, T]. Queries and
    /// keys are turned by their positions first, if `rotary` is given.
    ///
    /// # Errors
    /// Shapes that do not fit; more tokens than `rotary` has rows.
    pub fn forward(
        &self,
        xs: &Tensor,
        mask: &Mask,
        rotary: Option<&RotaryEmbedding>,
    ) -> Result<(Tensor, Tensor)> {
        let (batch, len, d_model) = xs.dims3()?;
        let width = d_model / self.heads;
        let split = |xs: Tensor| {
            xs.reshape((batch, len, self.heads, width))?
                .transpose(1, 2)?
                .contiguous()
        };
        let query = split(steady::forward(&self.query, xs)?)?;
        let key = split(steady::forward(&self.key, xs)?)?;
        let value = split(steady::forward(&self.value, xs)?)?;
        let (query, key) = match rotary {
            Some(rotary) => rotary.apply_rotary_emb_qkv(&query, &key, 0)?,
            None => (query, key),
        };

        let scores = (query.matmul(&key.t()?)? / (width as f64).sqrt())?;
        let weights = mask.softmax(&scores)?;
        let mixed = weights
            .matmul(&value)?
            .transpose(1, 2)?
            .reshape((batch, len, d_model))?;
        Ok((steady::forward(&self.output, &mixed)?, weights))
    }
}

/// A linear map with the initial weights of X. Glorot and Y. Bengio, "Understanding the
/// difficulty of training deep feedforward neural networks", 2010: uniform, variance
/// 2 / (inputs + outputs), no bias.
pub(crate) fn linear(inputs: usize, outputs: usize, vb: VarBuilder<'_>) -> Result<Linear> {
    let bound = (6.0 / (inputs + outputs) as f64).sqrt();
    let init = Init::Uniform {
        lo: -bound,
        up: bound,
    };
    let weight = vb.get_with_hints((outputs, inputs), "weight", init)?;
    let bias = vb.get_with_hints(outputs, "bias", Init::Const(0.0))?;
    Ok(Linear::new(weight, Some(bias)))
}
