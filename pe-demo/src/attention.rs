//! Multi-head self-attention.

use candle_core::{DType, Device, Error, Result, Tensor};
use candle_nn::{Init, Linear, Module, VarBuilder};
use pe_candle::table_to_tensor;
use pe_core::{CosSin, Rotary, RotaryConfig};

use crate::mask::Mask;

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
    /// keys are turned by their positions first, if `turn` is given.
    ///
    /// # Errors
    /// Shapes that do not fit; more tokens than `turn` has positions.
    pub fn forward(
        &self,
        xs: &Tensor,
        mask: &Mask,
        turn: Option<&Turn>,
    ) -> Result<(Tensor, Tensor)> {
        let (batch, len, d_model) = xs.dims3()?;
        let width = d_model / self.heads;
        let split = |xs: Tensor| {
            xs.reshape((batch, len, self.heads, width))?
                .transpose(1, 2)?
                .contiguous()
        };
        let query = split(self.query.forward(xs)?)?;
        let key = split(self.key.forward(xs)?)?;
        let value = split(self.value.forward(xs)?)?;
        let (query, key) = match turn {
            Some(turn) => turn.apply(&query, &key)?,
            None => (query, key),
        };

        let scores = (query.matmul(&key.t()?)? / (width as f64).sqrt())?;
        let weights = mask.softmax(&scores)?;
        let mixed = weights
            .matmul(&value)?
            .transpose(1, 2)?
            .reshape((batch, len, d_model))?;
        Ok((self.output.forward(&mixed)?, weights))
    }
}

/// Rotary positions: turns the pairs of each query and key by angles that grow with its position,
/// so that scores depend on distances (Su et al., "RoFormer", 2021).
#[derive(Debug, Clone)]
pub struct Turn {
    cos: Tensor,
    sin: Tensor,
}

impl Turn {
    /// Angles for heads of width `head_dim`, an even number, and `max_seq_len` positions.
    ///
    /// # Errors
    /// Those of the table.
    pub fn new(head_dim: usize, max_seq_len: usize, dtype: DType, device: &Device) -> Result<Self> {
        let rotary = Rotary::new(RotaryConfig::new(head_dim)).map_err(Error::wrap)?;
        let frequencies = rotary.frequencies(max_seq_len).map_err(Error::wrap)?;
        let tables = frequencies.tables::<f32>(0..max_seq_len as u64);
        let CosSin { cos, sin } = tables.map_err(Error::wrap)?;
        Ok(Self {
            cos: table_to_tensor(cos, device)?.to_dtype(dtype)?,
            sin: table_to_tensor(sin, device)?.to_dtype(dtype)?,
        })
    }

    /// Queries and keys [B, H, T, head_dim] at the positions 0 .. T.
    fn apply(&self, query: &Tensor, key: &Tensor) -> Result<(Tensor, Tensor)> {
        let len = query.dim(2)?;
        let (cos, sin) = (self.cos.narrow(0, 0, len)?, self.sin.narrow(0, 0, len)?);
        let turn = |xs: &Tensor| candle_nn::rotary_emb::rope_slow(xs, &cos, &sin);
        Ok((turn(query)?, turn(key)?))
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
