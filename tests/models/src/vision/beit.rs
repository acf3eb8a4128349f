//! BEiT: a table of biases by offset in each layer, resized to each image.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Activation, Conv2d, VarBuilder};
use pe_candle::{
    LearnedGrid, LearnedGridConfig, RelativeRows, RelativeTable, RelativeTableConfig, ResizePreset,
    ScoreMask,
};
use serde::Deserialize;
use serde_json::Value;

use super::{Layer, LayerNorm, Names, embed_patches, patch_embedding, prepend};
use crate::blocks::attend;
use crate::config;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    layer_norm_eps: f64,
    image_size: usize,
    patch_size: usize,
}

/// An encoder of images.
#[derive(Debug, Clone)]
pub struct Beit {
    embedding: Conv2d,
    class_token: Tensor,
    /// A layer and its table.
    layers: Vec<(Layer, LearnedGrid)>,
    norm: LayerNorm,
    scale: f64,
}

impl Beit {
    pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg: Config = config::read(config)?;
        let (width, num_heads) = (cfg.hidden_size, cfg.num_attention_heads);
        let offsets = 2 * (cfg.image_size / cfg.patch_size) - 1;
        let table =
            LearnedGridConfig::from_preset(ResizePreset::Beit, [offsets, offsets], num_heads);
        let qkv = [
            "attention.attention.query",
            "attention.attention.key",
            "attention.attention.value",
        ];
        let names = Names {
            scales: Some(["lambda_1", "lambda_2"]),
            ..Names::vit(qkv)
        };
        let layer = |index| {
            let vb = vb.pp(format!("encoder.layer.{index}"));
            let sizes = (width, cfg.intermediate_size, num_heads);
            let layer = Layer::new(names, sizes, (cfg.hidden_act, cfg.layer_norm_eps), &vb)?;
            let vb = vb.pp("attention.attention.relative_position_bias");
            Ok((layer, LearnedGrid::new(table.clone(), vb)?))
        };
        let embeddings = vb.pp("embeddings");
        let projection = embeddings.pp("patch_embeddings.projection");
        Ok(Self {
            embedding: patch_embedding(width, cfg.patch_size, true, projection)?,
            class_token: embeddings.get((1, 1, width), "cls_token")?,
            layers: (0..cfg.num_hidden_layers)
                .map(layer)
                .collect::<Result<_>>()?,
            norm: LayerNorm::new(width, cfg.layer_norm_eps, vb.pp("layernorm"))?,
            scale: ((width / num_heads) as f64).sqrt().recip(),
        })
    }

    /// Returns the last hidden states of images `[B, 3, H, W]` of any size.
    pub fn forward(&self, pixels: &Tensor) -> Result<Tensor> {
        let (xs, [height, width]) = embed_patches(&self.embedding, pixels)?;
        let mut xs = prepend(&self.class_token, &xs)?;
        let tokens = xs.dim(1)?;
        for (layer, table) in &self.layers {
            let table = table.resized(&[2 * height - 1, 2 * width - 1])?;
            let rows = RelativeRows::Beit { height, width };
            let config = RelativeTableConfig::new(rows, table.dim(1)?);
            let table = RelativeTable::from_table(config, table)?;
            let bias = table.bias(tokens, tokens, 0)?;
            xs = layer.forward(&xs, |q, k, v| {
                attend((q, k, v), self.scale, Some(&bias), &ScoreMask::none())
            })?;
        }
        self.norm.forward(&xs)
    }
}
