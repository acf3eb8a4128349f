//! ViT, DINOv2, and the image part of SigLIP: a learned grid, resized to each image.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Activation, Conv2d, VarBuilder};
use pe_candle::{LearnedGrid, LearnedGridConfig, ResizePreset, ScoreMask};
use serde::Deserialize;
use serde_json::Value;

use super::{Layer, LayerNorm, Names, Qkv, embed_patches, patch_embedding, prepend};
use crate::blocks::attend;
use crate::config;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: Option<usize>,
    mlp_ratio: Option<usize>,
    hidden_act: Activation,
    layer_norm_eps: f64,
    image_size: usize,
    patch_size: usize,
}

/// An encoder of images.
#[derive(Debug, Clone)]
pub struct Vit {
    embedding: Conv2d,
    class_token: Option<Tensor>,
    positions: LearnedGrid,
    layers: Vec<Layer>,
    norm: LayerNorm,
    scale: f64,
}

/// What differs between the models.
struct Model {
    preset: ResizePreset,
    class_token: bool,
    embedding: &'static str,
    layers: &'static str,
    names: Names,
    norm: &'static str,
}

/// Projections of ViT and DINOv2.
const QKV: [&str; 3] = [
    "attention.attention.query",
    "attention.attention.key",
    "attention.attention.value",
];

/// Loads a ViT.
pub fn load_vit(config: &Value, vb: VarBuilder<'_>) -> Result<Vit> {
    let model = Model {
        preset: ResizePreset::Vit,
        class_token: true,
        embedding: "patch_embeddings.projection",
        layers: "layer",
        names: Names::vit(QKV),
        norm: "layernorm",
    };
    Vit::new(model, &config::read(config)?, vb)
}

/// Loads a DINOv2.
pub fn load_dinov2(config: &Value, vb: VarBuilder<'_>) -> Result<Vit> {
    let model = Model {
        preset: ResizePreset::Vit,
        class_token: true,
        embedding: "patch_embeddings.projection",
        layers: "layer",
        names: Names {
            norm1: "norm1",
            qkv: Qkv::Apart(QKV),
            out: "attention.output.dense",
            norm2: "norm2",
            fc1: "mlp.fc1",
            fc2: "mlp.fc2",
            scales: Some(["layer_scale1.lambda1", "layer_scale2.lambda1"]),
        },
        norm: "layernorm",
    };
    Vit::new(model, &config::read(config)?, vb)
}

/// Loads the image part of a SigLIP.
pub fn load_siglip(config: &Value, vb: VarBuilder<'_>) -> Result<Vit> {
    let model = Model {
        preset: ResizePreset::Siglip,
        class_token: false,
        embedding: "patch_embedding",
        layers: "layers",
        names: Names {
            norm1: "layer_norm1",
            qkv: Qkv::Apart(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
            out: "self_attn.out_proj",
            norm2: "layer_norm2",
            fc1: "mlp.fc1",
            fc2: "mlp.fc2",
            scales: None,
        },
        norm: "post_layernorm",
    };
    Vit::new(model, &config::read(config)?, vb)
}

impl Vit {
    fn new(model: Model, cfg: &Config, vb: VarBuilder<'_>) -> Result<Self> {
        let (width, side) = (cfg.hidden_size, cfg.image_size / cfg.patch_size);
        let inner = cfg
            .intermediate_size
            .or(cfg.mlp_ratio.map(|ratio| ratio * width));
        let embeddings = vb.pp("embeddings");
        let class_token = model
            .class_token
            .then(|| embeddings.get((1, 1, width), "cls_token"));
        let grid = LearnedGridConfig::from_preset(model.preset, [side, side], width);
        let layer = |index| {
            Layer::new(
                model.names,
                (width, inner.unwrap_or(4 * width), cfg.num_attention_heads),
                (cfg.hidden_act, cfg.layer_norm_eps),
                &vb.pp(format!("encoder.{}.{index}", model.layers)),
            )
        };
        Ok(Self {
            embedding: patch_embedding(
                width,
                cfg.patch_size,
                true,
                embeddings.pp(model.embedding),
            )?,
            class_token: class_token.transpose()?,
            positions: LearnedGrid::new(grid, embeddings)?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: LayerNorm::new(width, cfg.layer_norm_eps, vb.pp(model.norm))?,
            scale: ((width / cfg.num_attention_heads) as f64).sqrt().recip(),
        })
    }

    /// Returns the last hidden states of images `[B, 3, H, W]` of any size.
    pub fn forward(&self, pixels: &Tensor) -> Result<Tensor> {
        let (mut xs, grid) = embed_patches(&self.embedding, pixels)?;
        if let Some(token) = &self.class_token {
            xs = prepend(token, &xs)?;
        }
        xs = self.positions.forward(&xs, &grid)?;
        for layer in &self.layers {
            xs = layer.forward(&xs, |q, k, v| {
                attend((q, k, v), self.scale, None, &ScoreMask::none())
            })?;
        }
        self.norm.forward(&xs)
    }
}
