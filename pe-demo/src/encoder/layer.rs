//! One layer of the encoder.

use candle_core::{ModuleT, Result, Tensor};
use candle_nn::{Linear, VarBuilder};
use pe_candle::Dropout;

use super::attention::SelfAttention;
use super::config::{EncoderConfig, Norm, Residual};
use super::linear::{self, linear};
use super::mask::Mask;
use super::positions::InAttention;

/// Attention and feed-forward.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    attention: SelfAttention,
    attention_norm: LayerNorm,
    wide: Linear,
    narrow: Linear,
    feed_forward_norm: LayerNorm,
    dropouts: [Dropout; 2],
}

impl Layer {
    pub(super) fn new(config: &EncoderConfig, index: usize, vb: &VarBuilder<'_>) -> Result<Self> {
        let d_model = config.d_model();
        let dropout = |number: u64| {
            let seed = config.position.seed.wrapping_add(2 * index as u64 + number);
            Dropout::new(config.position.dropout, seed)
        };
        Ok(Self {
            attention: SelfAttention::new(d_model, config.heads, &vb.pp("attention"))?,
            attention_norm: LayerNorm::new(d_model, &vb.pp("attention_norm"))?,
            wide: linear(d_model, config.d_ff, vb.pp("wide"))?,
            narrow: linear(config.d_ff, d_model, vb.pp("narrow"))?,
            feed_forward_norm: LayerNorm::new(d_model, &vb.pp("feed_forward_norm"))?,
            dropouts: [dropout(1)?, dropout(2)?],
        })
    }

    pub(super) fn set_dropout_step(&self, step: u64) {
        for dropout in &self.dropouts {
            dropout.set_step(step);
        }
    }

    pub(super) fn forward(
        &self,
        xs: &Tensor,
        mask: &Mask,
        positions: &InAttention<'_>,
        config: &EncoderConfig,
        train: bool,
    ) -> Result<(Tensor, Tensor)> {
        let input = self.attention_norm.before(xs, config.norm)?;
        let (ys, weights) = self.attention.forward(&input, mask, positions)?;
        let ys = self.dropouts[0].forward_t(&ys, train)?;
        let xs = self
            .attention_norm
            .after(connect(xs, ys, config.residual)?, config.norm)?;

        let input = self.feed_forward_norm.before(&xs, config.norm)?;
        let ys = linear::forward(&self.wide, &input)?.relu()?;
        let ys = linear::forward(&self.narrow, &ys)?;
        let ys = self.dropouts[1].forward_t(&ys, train)?;
        let xs = self
            .feed_forward_norm
            .after(connect(&xs, ys, config.residual)?, config.norm)?;
        Ok((xs, weights))
    }
}

/// Adds the residual connection.
fn connect(xs: &Tensor, ys: Tensor, residual: Residual) -> Result<Tensor> {
    match residual {
        Residual::Added => xs + ys,
        Residual::Omitted => Ok(ys),
    }
}

/// Layer norm of plain operations. (Candle's fused one has no gradient.)
#[derive(Debug, Clone)]
pub(super) struct LayerNorm {
    weight: Tensor,
    bias: Tensor,
}

impl LayerNorm {
    pub(super) fn new(d_model: usize, vb: &VarBuilder<'_>) -> Result<Self> {
        Ok(Self {
            weight: vb.get_with_hints(d_model, "weight", candle_nn::Init::Const(1.0))?,
            bias: vb.get_with_hints(d_model, "bias", candle_nn::Init::Const(0.0))?,
        })
    }

    fn before(&self, xs: &Tensor, norm: Norm) -> Result<Tensor> {
        match norm {
            Norm::Pre => self.forward(xs),
            Norm::Post => Ok(xs.clone()),
        }
    }

    fn after(&self, xs: Tensor, norm: Norm) -> Result<Tensor> {
        match norm {
            Norm::Post => self.forward(&xs),
            Norm::Pre => Ok(xs),
        }
    }

    pub(super) fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        candle_nn::ops::layer_norm_slow(xs, &self.weight, &self.bias, 1e-5)
    }
}
