//! The text model of Qwen2-VL: positions in time, height, and width (M-RoPE).

use candle_core::{Result, Tensor, bail};
use candle_nn::VarBuilder;
use pe_candle::RotaryEmbedding;
use pe_candle::hf_config::{self, UnknownKeys};
use serde_json::Value;

use super::{Serial, llama};
use crate::blocks::RmsNorm;
use crate::{Batch, Decoder};

#[derive(Debug, Clone)]
pub struct Qwen2Vl {
    decoder: Decoder<Serial, RmsNorm>,
    rotary: RotaryEmbedding,
    /// Coordinate of each pair.
    axes: Vec<u8>,
}

impl Qwen2Vl {
    /// Loads a model by its `config.json`.
    pub fn new(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let layers = hf_config::read(config, UnknownKeys::Reject)?;
        let rotary = RotaryEmbedding::from_hf_config(config, None, vb.dtype(), vb.device())?;
        let Some(mrope) = layers.layer(None)?.mrope else {
            bail!("config.json states no mrope_section");
        };
        Ok(Self {
            axes: mrope.axes(rotary.rotary().pairs())?,
            rotary,
            decoder: llama::load(config, vb)?,
        })
    }

    /// Returns the logits of tokens `[B, T]` at positions `[3, B, T]`. The batch states cached tokens, padding, and packed sequences.
    pub fn forward(&mut self, tokens: &Tensor, positions: &Tensor, batch: Batch) -> Result<Tensor> {
        let batch = Batch {
            cos_sin: Some(self.rotary.cos_sin_by_axis(&self.axes, positions)?),
            ..batch
        };
        self.decoder.forward(tokens, &batch)
    }
}
