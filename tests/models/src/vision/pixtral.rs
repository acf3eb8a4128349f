//! The image part of Pixtral: a rotary embedding by row and column, for packed images of any size.

use candle_core::{D, Module, Result, Tensor};
use candle_nn::{Activation, Conv2d, Linear, VarBuilder, linear_no_bias};
use pe_candle::{
    AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, AxialRotaryPreset, PatchGrid, ScoreMask,
};
use serde::Deserialize;
use serde_json::Value;

use super::patch_embedding;
use crate::blocks::{RmsNorm, attend, split_heads};
use crate::config;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    patch_size: usize,
}

#[derive(Debug, Clone)]
struct Layer {
    attention_norm: RmsNorm,
    qkvo: [Linear; 4],
    ffn_norm: RmsNorm,
    mlp: [Linear; 3],
}

/// An encoder of images.
#[derive(Debug, Clone)]
pub struct Pixtral {
    embedding: Conv2d,
    norm: RmsNorm,
    rotary: AxialRotaryEmbedding,
    layers: Vec<Layer>,
    config: Config,
}

impl Pixtral {
    pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let config: Config = config::read(config)?;
        let (width, inner) = (config.hidden_size, config.intermediate_size);
        let head_dim = width / config.num_attention_heads;
        let rotary = AxialRotaryEmbeddingConfig::from_preset(AxialRotaryPreset::Pixtral, head_dim);
        let layer = |index| {
            let vb = vb.pp(format!("transformer.layers.{index}"));
            let linear = |name, from, to| linear_no_bias(from, to, vb.pp(name));
            let project = |name| linear(name, width, width);
            Ok(Layer {
                attention_norm: RmsNorm::new(width, 1e-5, vb.pp("attention_norm"))?,
                qkvo: [
                    project("attention.q_proj")?,
                    project("attention.k_proj")?,
                    project("attention.v_proj")?,
                    project("attention.o_proj")?,
                ],
                ffn_norm: RmsNorm::new(width, 1e-5, vb.pp("ffn_norm"))?,
                mlp: [
                    linear("feed_forward.gate_proj", width, inner)?,
                    linear("feed_forward.up_proj", width, inner)?,
                    linear("feed_forward.down_proj", inner, width)?,
                ],
            })
        };
        Ok(Self {
            embedding: patch_embedding(width, config.patch_size, false, vb.pp("patch_conv"))?,
            norm: RmsNorm::new(width, 1e-5, vb.pp("ln_pre"))?,
            rotary: AxialRotaryEmbedding::new(rotary, vb.dtype(), vb.device())?,
            layers: (0..config.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            config,
        })
    }

    /// Returns the last hidden states of the patches of all images, one image after the other, `[1, T, D]`. The images are padded
    /// to one size, `[B, 3, H, W]`, and have the heights and widths `sizes`.
    pub fn forward(&self, pixels: &Tensor, sizes: &[[usize; 2]]) -> Result<Tensor> {
        let embedded = self.embedding.forward(pixels)?;
        let (mut patches, mut grids) = (Vec::new(), Vec::new());
        for (index, size) in sizes.iter().enumerate() {
            let [rows, columns] = size.map(|side| side / self.config.patch_size);
            let image = embedded
                .get(index)?
                .narrow(1, 0, rows)?
                .narrow(2, 0, columns)?;
            patches.push(image.flatten_from(1)?.t()?);
            grids.push(PatchGrid {
                frames: 1,
                rows: rows as u32,
                columns: columns as u32,
            });
        }
        let lengths: Vec<_> = patches.iter().map(|patches| patches.dims()[0]).collect();
        let positions = super::qwen::coordinates(&grids, 1, pixels.device())?;
        let mask = ScoreMask::none().with_packed(&lengths)?;
        let mut xs = self
            .norm
            .forward(&Tensor::cat(&patches, 0)?.unsqueeze(0)?)?;
        for layer in &self.layers {
            xs = self.layer(layer, &xs, &positions, &mask)?;
        }
        Ok(xs)
    }

    fn layer(
        &self,
        layer: &Layer,
        xs: &Tensor,
        positions: &Tensor,
        mask: &ScoreMask,
    ) -> Result<Tensor> {
        let ys = layer.attention_norm.forward(xs)?;
        let head = |part: usize| {
            split_heads(
                &layer.qkvo[part].forward(&ys)?,
                self.config.num_attention_heads,
            )
        };
        let (q, k) = self.rotary.apply_qkv(&head(0)?, &head(1)?, positions)?;
        let scale = (q.dim(D::Minus1)? as f64).sqrt().recip();
        let ys = attend((&q, &k, &head(2)?), scale, None, mask)?;
        let xs = (xs + ys.apply(&layer.qkvo[3])?)?;
        let ys = layer.ffn_norm.forward(&xs)?;
        let [gate, up, down] = &layer.mlp;
        let ys = (ys.apply(gate)?.apply(&self.config.hidden_act)? * ys.apply(up)?)?;
        xs + ys.apply(down)?
    }
}
