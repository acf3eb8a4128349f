//! The timestep block of Stable Diffusion: sines and cosines, then two products.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Linear, VarBuilder, linear};
use pe_candle::{TimestepEmbedding, TimestepEmbeddingConfig, TimestepPreset};

/// Timesteps `[B]` to activations `[B, width]`.
#[derive(Debug, Clone)]
pub struct TimeEmbedding {
    sinusoids: TimestepEmbedding,
    linear_1: Linear,
    linear_2: Linear,
}

impl TimeEmbedding {
    /// Loads the block of UNet2DConditionModel, or of the FLUX transformer.
    pub fn load(
        preset: TimestepPreset,
        dim: usize,
        width: usize,
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        let config = TimestepEmbeddingConfig::from_preset(preset, dim);
        Ok(Self {
            sinusoids: TimestepEmbedding::new(config, vb.dtype(), vb.device())?,
            linear_1: linear(dim, width, vb.pp("linear_1"))?,
            linear_2: linear(width, width, vb.pp("linear_2"))?,
        })
    }
}

impl Module for TimeEmbedding {
    fn forward(&self, timesteps: &Tensor) -> Result<Tensor> {
        let xs = self.sinusoids.forward(timesteps)?.apply(&self.linear_1)?;
        xs.silu()?.apply(&self.linear_2)
    }
}
