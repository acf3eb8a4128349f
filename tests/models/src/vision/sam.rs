//! The image encoder of SAM: a learned grid, and biases by rows and columns in windows.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Activation, Conv2d, Conv2dConfig, VarBuilder, conv2d_no_bias};
use pe_candle::{
    DecomposedBias, DecomposedBiasConfig, LearnedGrid, LearnedGridConfig, LearnedGridShape,
    ScoreMask,
};
use serde::Deserialize;
use serde_json::Value;

use super::swin::{join_windows, pad_to_windows, split_windows};
use super::{Layer, LayerNorm, Names, Qkv, embed_patches, patch_embedding};
use crate::blocks::attend;
use crate::config;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    mlp_dim: usize,
    output_channels: usize,
    image_size: usize,
    patch_size: usize,
    window_size: usize,
    global_attn_indexes: Vec<usize>,
    hidden_act: Activation,
    layer_norm_eps: f64,
}

/// An encoder of images.
#[derive(Debug, Clone)]
pub struct Sam {
    embedding: Conv2d,
    positions: LearnedGrid,
    /// A layer, its tables, and the side of its windows, if it has any.
    layers: Vec<(Layer, DecomposedBias, Option<usize>)>,
    neck: [(Conv2d, LayerNorm); 2],
    scale: f64,
}

impl Sam {
    pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg: Config = config::read(config)?;
        let vb = vb.pp("vision_encoder");
        let (width, side) = (cfg.hidden_size, cfg.image_size / cfg.patch_size);
        let names = Names {
            norm1: "layer_norm1",
            qkv: Qkv::Fused("attn.qkv"),
            out: "attn.proj",
            norm2: "layer_norm2",
            fc1: "mlp.lin1",
            fc2: "mlp.lin2",
            scales: None,
        };
        let layer = |index| {
            let vb = vb.pp(format!("layers.{index}"));
            let sizes = (width, cfg.mlp_dim, cfg.num_attention_heads);
            let layer = Layer::new(names, sizes, (cfg.hidden_act, cfg.layer_norm_eps), &vb)?;
            let window = (!cfg.global_attn_indexes.contains(&index)).then_some(cfg.window_size);
            let side = window.unwrap_or(side);
            let bias = DecomposedBias::new(
                DecomposedBiasConfig::new([side, side], width / cfg.num_attention_heads),
                vb.pp("attn"),
            )?;
            Ok((layer, bias, window))
        };
        let neck = |part: usize, from, kernel: usize| {
            let conv = Conv2dConfig {
                padding: kernel / 2,
                ..Conv2dConfig::default()
            };
            let vb = vb.pp("neck");
            let conv = conv2d_no_bias(
                from,
                cfg.output_channels,
                kernel,
                conv,
                vb.pp(format!("conv{part}")),
            )?;
            let norm = LayerNorm::new(
                cfg.output_channels,
                1e-6,
                vb.pp(format!("layer_norm{part}")),
            )?;
            Ok::<_, candle_core::Error>((conv, norm))
        };
        let grid = LearnedGridConfig {
            shape: LearnedGridShape::ChannelsLast,
            tensor: "pos_embed".to_owned(),
            ..LearnedGridConfig::new([side, side], width)
        };
        Ok(Self {
            embedding: patch_embedding(
                width,
                cfg.patch_size,
                true,
                vb.pp("patch_embed.projection"),
            )?,
            positions: LearnedGrid::new(grid, vb.clone())?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            neck: [neck(1, width, 1)?, neck(2, cfg.output_channels, 3)?],
            scale: ((width / cfg.num_attention_heads) as f64).sqrt().recip(),
        })
    }

    /// Returns the embedding `[B, channels, rows, columns]` of images `[B, 3, H, W]`.
    pub fn forward(&self, pixels: &Tensor) -> Result<Tensor> {
        let (xs, [rows, columns]) = embed_patches(&self.embedding, pixels)?;
        let (batch, _, width) = xs.dims3()?;
        let grid = (batch, rows, columns, width);
        let mut xs = self
            .positions
            .forward(&xs.reshape(grid)?, &[rows, columns])?;
        for (layer, bias, window) in &self.layers {
            let attention = |xs: &Tensor, size| {
                layer.attention(xs, |q, k, v| {
                    let bias = bias.bias(q, size, size)?;
                    attend((q, k, v), self.scale, Some(&bias), &ScoreMask::none())
                })
            };
            xs = layer.forward_in(&xs, |xs| match *window {
                None => attention(&xs.flatten(1, 2)?, (rows, columns))?.reshape(grid),
                Some(side) => {
                    let (xs, [high, wide]) = pad_to_windows(xs, side)?;
                    let ys = attention(&split_windows(&xs, side)?, (side, side))?;
                    let ys = join_windows(&ys, [batch, high, wide], side)?;
                    ys.narrow(1, 0, rows)?.narrow(2, 0, columns)
                }
            })?;
        }
        let mut xs = xs.permute((0, 3, 1, 2))?.contiguous()?;
        for (conv, norm) in &self.neck {
            let ys = conv.forward(&xs)?.permute((0, 2, 3, 1))?;
            xs = norm.forward(&ys)?.permute((0, 3, 1, 2))?.contiguous()?;
        }
        Ok(xs)
    }
}
