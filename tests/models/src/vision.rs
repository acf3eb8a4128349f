//! Models of images. [`Layer`] is the transformer layer that they share, under the names of each.

mod beit;
mod layer;
mod pixtral;
mod qwen;
mod sam;
mod swin;
mod vit;

pub use beit::Beit;
pub use layer::{Act, Layer, LayerNorm, Names, Qkv};
pub use pixtral::Pixtral;
pub use qwen::{QwenVision, load_qwen2_vl, load_qwen3_vl};
pub use sam::Sam;
pub use swin::Swin;
pub use vit::{Vit, load_dinov2, load_siglip, load_vit};

use candle_core::{Module, Result, Tensor};
use candle_nn::{Conv2d, Conv2dConfig, VarBuilder};

/// Loads the convolution that embeds patches.
fn patch_embedding(width: usize, side: usize, bias: bool, vb: VarBuilder<'_>) -> Result<Conv2d> {
    let config = Conv2dConfig {
        stride: side,
        ..Conv2dConfig::default()
    };
    match bias {
        true => candle_nn::conv2d(3, width, side, config, vb),
        false => candle_nn::conv2d_no_bias(3, width, side, config, vb),
    }
}

/// Embeds the patches of images `[B, 3, H, W]`, row by row: `[B, rows * columns, D]`, with `[rows, columns]`.
fn embed_patches(embedding: &Conv2d, pixels: &Tensor) -> Result<(Tensor, [usize; 2])> {
    let xs = embedding.forward(pixels)?;
    let (_, _, rows, columns) = xs.dims4()?;
    Ok((xs.flatten_from(2)?.transpose(1, 2)?, [rows, columns]))
}

/// Puts a token, `[1, 1, D]`, in front of each sequence.
fn prepend(token: &Tensor, xs: &Tensor) -> Result<Tensor> {
    let (batch, _, width) = xs.dims3()?;
    Tensor::cat(&[&token.broadcast_as((batch, 1, width))?, xs], 1)
}
