//! The image parts of Qwen2-VL and Qwen3-VL: a rotary embedding by row and column, in squares of 2 x 2 patches, and in Qwen3-VL a
//! learned grid that is resized to each image.

use candle_core::{D, Device, Module, Result, Tensor};
use candle_nn::{Activation, Linear, VarBuilder, linear};
use pe_candle::{
    AxialRotaryEmbedding, AxialRotaryEmbeddingConfig, AxialRotaryPreset, LearnedGrid,
    LearnedGridConfig, PatchGrid, ResizePreset, ScoreMask, vision_position_ids,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Act, LayerNorm, Names, Qkv};
use crate::blocks::attend;
use crate::config;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    depth: usize,
    embed_dim: Option<usize>,
    hidden_size: usize,
    out_hidden_size: Option<usize>,
    intermediate_size: Option<usize>,
    mlp_ratio: Option<usize>,
    num_heads: usize,
    patch_size: usize,
    temporal_patch_size: usize,
    spatial_merge_size: usize,
    num_position_embeddings: Option<usize>,
    in_channels: usize,
}

/// An encoder of images and videos.
#[derive(Debug, Clone)]
pub struct QwenVision {
    embedding: Linear,
    positions: Option<LearnedGrid>,
    rotary: AxialRotaryEmbedding,
    layers: Vec<super::Layer>,
    merger_norm: LayerNorm,
    merger: [Linear; 2],
    merge: usize,
}

/// Loads the image part of a Qwen2-VL.
pub fn load_qwen2_vl(config: &Value, vb: VarBuilder<'_>) -> Result<QwenVision> {
    let merger = ["ln_q", "mlp.0", "mlp.2"];
    QwenVision::new(config, (Act::QuickGelu, ["mlp.fc1", "mlp.fc2"]), merger, vb)
}

/// Loads the image part of a Qwen3-VL.
pub fn load_qwen3_vl(config: &Value, vb: VarBuilder<'_>) -> Result<QwenVision> {
    let merger = ["norm", "linear_fc1", "linear_fc2"];
    let mlp = (
        Act::Nn(Activation::GeluPytorchTanh),
        ["mlp.linear_fc1", "mlp.linear_fc2"],
    );
    QwenVision::new(config, mlp, merger, vb)
}

impl QwenVision {
    fn new(
        config: &Value,
        (act, [fc1, fc2]): (Act, [&'static str; 2]),
        [norm, first, second]: [&'static str; 3],
        vb: VarBuilder<'_>,
    ) -> Result<Self> {
        let cfg: Config = config::read(config)?;
        let width = cfg.embed_dim.unwrap_or(cfg.hidden_size);
        let inner = cfg
            .intermediate_size
            .or(cfg.mlp_ratio.map(|ratio| ratio * width));
        let names = Names {
            norm1: "norm1",
            qkv: Qkv::Fused("attn.qkv"),
            out: "attn.proj",
            norm2: "norm2",
            fc1,
            fc2,
            scales: None,
        };
        let layer = |index| {
            let sizes = (width, inner.unwrap_or(4 * width), cfg.num_heads);
            super::Layer::new(names, sizes, (act, 1e-6), &vb.pp(format!("blocks.{index}")))
        };
        // A convolution whose patches do not overlap is a product.
        let (side, frames) = (cfg.patch_size, cfg.temporal_patch_size);
        let shape = (width, cfg.in_channels, frames, side, side);
        let patch = vb.pp("patch_embed.proj");
        let bias = patch
            .contains_tensor("bias")
            .then(|| patch.get(width, "bias"))
            .transpose()?;
        let embedding = Linear::new(patch.get(shape, "weight")?.flatten_from(1)?, bias);
        let grid = |cells: usize| {
            let side = cells.isqrt();
            let grid = LearnedGridConfig::from_preset(ResizePreset::Qwen3Vl, [side, side], width);
            LearnedGrid::new(grid, vb.clone())
        };
        let rotary = AxialRotaryEmbeddingConfig::from_preset(
            AxialRotaryPreset::Qwen2VlVision,
            width / cfg.num_heads,
        );
        let merged = width * cfg.spatial_merge_size * cfg.spatial_merge_size;
        let (out, vb_merger) = (
            cfg.out_hidden_size.unwrap_or(cfg.hidden_size),
            vb.pp("merger"),
        );
        Ok(Self {
            embedding,
            positions: cfg.num_position_embeddings.map(grid).transpose()?,
            rotary: AxialRotaryEmbedding::new(rotary, vb.dtype(), vb.device())?,
            layers: (0..cfg.depth).map(layer).collect::<Result<_>>()?,
            merger_norm: LayerNorm::new(width, 1e-6, vb_merger.pp(norm))?,
            merger: [
                linear(merged, merged, vb_merger.pp(first))?,
                linear(merged, out, vb_merger.pp(second))?,
            ],
            merge: cfg.spatial_merge_size,
        })
    }

    /// Returns the embeddings of squares of patches, `[T / 4, D]`, of the packed patches of all images, `[T, values]`.
    pub fn forward(&self, patches: &Tensor, grids: &[PatchGrid]) -> Result<Tensor> {
        let mut xs = self.embedding.forward(patches)?.unsqueeze(0)?;
        if let Some(grid) = &self.positions {
            xs = grid.forward_packed(&xs, grids)?;
        }
        let positions = coordinates(grids, self.merge as u32, patches.device())?;
        // Frames do not see each other.
        let frames = grids.iter().flat_map(|grid| {
            std::iter::repeat_n((grid.rows * grid.columns) as usize, grid.frames as usize)
        });
        let mask = ScoreMask::none().with_packed(&frames.collect::<Vec<_>>())?;
        for layer in &self.layers {
            xs = layer.forward(&xs, |q, k, v| {
                let (q, k) = self.rotary.apply_qkv(q, k, &positions)?;
                let scale = (q.dim(D::Minus1)? as f64).sqrt().recip();
                attend((&q, &k, v), scale, None, &mask)
            })?;
        }
        let xs = self.merger_norm.forward(&xs)?.squeeze(0)?;
        let xs = xs.reshape((xs.dim(0)? / (self.merge * self.merge), ()))?;
        xs.apply(&self.merger[0])?
            .gelu_erf()?
            .apply(&self.merger[1])
    }
}

/// Returns row and column of every patch, `[T, 2]`.
pub(super) fn coordinates(grids: &[PatchGrid], merge: u32, device: &Device) -> Result<Tensor> {
    let positions = vision_position_ids(grids, merge)?;
    let axis = |values| Tensor::new(values, device);
    Tensor::stack(&[axis(positions.rows)?, axis(positions.columns)?], 1)
}
