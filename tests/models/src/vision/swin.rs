//! Swin: a table of biases by offset for windows, every other time shifted.

use candle_core::{Module, Result, Tensor};
use candle_nn::{Activation, Conv2d, Linear, VarBuilder, linear_no_bias};
use pe_candle::{AttentionBias, RelativeRows, RelativeTable, RelativeTableConfig, ScoreMask};
use serde::Deserialize;
use serde_json::Value;

use super::{Layer, LayerNorm, Names, embed_patches, patch_embedding};
use crate::blocks::attend;
use crate::config;

#[derive(Debug, Clone, Deserialize)]
struct Config {
    embed_dim: usize,
    depths: Vec<usize>,
    num_heads: Vec<usize>,
    window_size: usize,
    mlp_ratio: f64,
    hidden_act: Activation,
    layer_norm_eps: f64,
    patch_size: usize,
}

/// An encoder of images.
#[derive(Debug, Clone)]
pub struct Swin {
    embedding: Conv2d,
    embedding_norm: LayerNorm,
    stages: Vec<Stage>,
    norm: LayerNorm,
    window: usize,
}

/// Layers with their tables, and the merging of 2 x 2 patches.
#[derive(Debug, Clone)]
struct Stage {
    layers: Vec<(Layer, RelativeTable)>,
    merge: Option<(LayerNorm, Linear)>,
    scale: f64,
}

impl Swin {
    pub fn load(config: &Value, vb: VarBuilder<'_>) -> Result<Self> {
        let cfg: Config = config::read(config)?;
        let (eps, window) = (cfg.layer_norm_eps, cfg.window_size);
        let qkv = [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
        ];
        let last = cfg.depths.len() - 1;
        let stage = |index: usize| {
            let (vb, num_heads) = (
                vb.pp(format!("encoder.layers.{index}")),
                cfg.num_heads[index],
            );
            let width = cfg.embed_dim << index;
            let sizes = (width, (width as f64 * cfg.mlp_ratio) as usize, num_heads);
            let layer = |index| {
                let vb = vb.pp(format!("blocks.{index}"));
                let layer = Layer::new(Names::vit(qkv), sizes, (cfg.hidden_act, eps), &vb)?;
                let rows = RelativeRows::Swin {
                    height: window,
                    width: window,
                };
                let table = RelativeTableConfig::new(rows, num_heads);
                Ok((layer, RelativeTable::new(table, vb.pp("attention.self"))?))
            };
            let merge = || {
                let norm = LayerNorm::new(4 * width, eps, vb.pp("downsample.norm"))?;
                let reduction =
                    linear_no_bias(4 * width, 2 * width, vb.pp("downsample.reduction"))?;
                Ok::<_, candle_core::Error>((norm, reduction))
            };
            Ok(Stage {
                layers: (0..cfg.depths[index]).map(layer).collect::<Result<_>>()?,
                merge: (index < last).then(merge).transpose()?,
                scale: ((width / num_heads) as f64).sqrt().recip(),
            })
        };
        let embeddings = vb.pp("embeddings");
        let projection = embeddings.pp("patch_embeddings.projection");
        Ok(Self {
            embedding: patch_embedding(cfg.embed_dim, cfg.patch_size, true, projection)?,
            embedding_norm: LayerNorm::new(cfg.embed_dim, eps, embeddings.pp("norm"))?,
            stages: (0..=last).map(stage).collect::<Result<_>>()?,
            norm: LayerNorm::new(cfg.embed_dim << last, eps, vb.pp("layernorm"))?,
            window,
        })
    }

    /// Returns the last hidden states of images `[B, 3, H, W]` of any size, with windows smaller than the grid of each stage.
    pub fn forward(&self, pixels: &Tensor) -> Result<Tensor> {
        let (xs, mut grid) = embed_patches(&self.embedding, pixels)?;
        let mut xs = self.embedding_norm.forward(&xs)?;
        for stage in &self.stages {
            for (index, (layer, table)) in stage.layers.iter().enumerate() {
                let shift = if index % 2 == 1 { self.window / 2 } else { 0 };
                xs = layer.forward_in(&xs, |xs| {
                    self.windows(layer, table, stage.scale, xs, grid, shift)
                })?;
            }
            if let Some((norm, reduction)) = &stage.merge {
                xs = merge(&xs, grid)?.apply(norm)?.apply(reduction)?;
                grid = grid.map(|side| side.div_ceil(2));
            }
        }
        self.norm.forward(&xs)
    }

    /// Attends in windows of the grid, which is padded with zeros and shifted.
    fn windows(
        &self,
        layer: &Layer,
        table: &RelativeTable,
        scale: f64,
        xs: &Tensor,
        [rows, columns]: [usize; 2],
        shift: usize,
    ) -> Result<Tensor> {
        let (batch, _, width) = xs.dims3()?;
        let xs = xs.reshape((batch, rows, columns, width))?;
        let (xs, [high, wide]) = pad_to_windows(&xs, self.window)?;
        let roll = |xs: Tensor, by: i32| xs.roll(by, 1)?.roll(by, 2);
        let xs = split_windows(&roll(xs, -(shift as i32))?, self.window)?;
        let area = self.window * self.window;
        let mut bias = table.bias(area, area, 0)?;
        if shift > 0 {
            bias = bias.and(&self.shifted(&xs, [high, wide], shift)?)?;
        }
        let ys = layer.attention(&xs, |q, k, v| {
            attend((q, k, v), scale, Some(&bias), &ScoreMask::none())
        })?;
        let ys = roll(
            join_windows(&ys, [batch, high, wide], self.window)?,
            shift as i32,
        )?;
        let ys = ys.narrow(1, 0, rows)?.narrow(2, 0, columns)?;
        ys.contiguous()?.reshape((batch, rows * columns, width))
    }

    /// Returns the bias of -100 between patches that only the shift brought into one window, for each window of the batch.
    fn shifted(
        &self,
        windows: &Tensor,
        [high, wide]: [usize; 2],
        shift: usize,
    ) -> Result<AttentionBias> {
        let (count, area, _) = windows.dims3()?;
        let region = |at: usize, side: usize| {
            f64::from(u8::from(at >= side - self.window) + u8::from(at >= side - shift))
        };
        let regions = (0..high).flat_map(|row| (0..wide).map(move |column| (row, column)));
        let regions: Vec<f64> = regions
            .map(|(row, column)| 3.0 * region(row, high) + region(column, wide))
            .collect();
        let regions = Tensor::from_vec(regions, (1, high, wide, 1), windows.device())?;
        let regions = split_windows(&regions, self.window)?.squeeze(2)?;
        let apart = regions.unsqueeze(1)?.broadcast_ne(&regions.unsqueeze(2)?)?;
        let bias = (apart.to_dtype(windows.dtype())? * -100.0)?;
        let bias = bias.repeat((count / bias.dim(0)?, 1, 1))?;
        AttentionBias::from_tensor(&bias.reshape((count, 1, area, area))?)
    }
}

/// Pads a grid `[B, H, W, D]` with zeros to a multiple of the window's sides.
pub(super) fn pad_to_windows(xs: &Tensor, window: usize) -> Result<(Tensor, [usize; 2])> {
    let (_, rows, columns, _) = xs.dims4()?;
    let [high, wide] = [rows, columns].map(|side| side.next_multiple_of(window));
    let xs = xs
        .pad_with_zeros(1, 0, high - rows)?
        .pad_with_zeros(2, 0, wide - columns)?;
    Ok((xs, [high, wide]))
}

/// Divides a grid `[B, H, W, D]` into windows, `[B * windows, area, D]`.
pub(super) fn split_windows(xs: &Tensor, window: usize) -> Result<Tensor> {
    let (batch, high, wide, width) = xs.dims4()?;
    let tiles = (batch, high / window, window, wide / window, window, width);
    xs.reshape(tiles)?
        .transpose(2, 3)?
        .contiguous()?
        .reshape(((), window * window, width))
}

/// Joins windows to a grid `[B, H, W, D]`.
pub(super) fn join_windows(
    xs: &Tensor,
    [batch, high, wide]: [usize; 3],
    window: usize,
) -> Result<Tensor> {
    let tiles = (
        batch,
        high / window,
        wide / window,
        window,
        window,
        xs.dim(2)?,
    );
    xs.reshape(tiles)?
        .transpose(2, 3)?
        .contiguous()?
        .reshape((batch, high, wide, ()))
}

/// Joins the columns of 2 x 2 patches.
fn merge(xs: &Tensor, [rows, columns]: [usize; 2]) -> Result<Tensor> {
    let (batch, _, width) = xs.dims3()?;
    let xs = xs.reshape((batch, rows, columns, width))?;
    let (xs, [high, wide]) = pad_to_windows(&xs, 2)?;
    // The column of a patch in its square varies more slowly than the row.
    let xs = xs
        .reshape((batch, high / 2, 2, wide / 2, 2, width))?
        .permute((0, 1, 3, 4, 2, 5))?;
    xs.contiguous()?
        .reshape((batch, high * wide / 4, 4 * width))
}
