//! Resizing of grids as released models do it.

use crate::families::resize::{ResizeBy, ResizeConfig, ResizeKernel};
use crate::families::rotary::PatchOrder;
use crate::spec::impl_names;

/// Resizing of a learned grid as a library or a model does it, under its name.
///
/// | preset | kernel | rows around the grid | used by |
/// |---|---|---|---|
/// | `vit` | bicubic | 1 before | ViT, DeiT, ViT-MAE, DINOv2, CLIP and others in transformers |
/// | `timm` | bicubic, antialias | 1 before | timm's `resample_abs_pos_embed` |
/// | `dinov2-offset` | bicubic by factor, offset 0.1 | 1 before | DINO, and DINOv2 in its own repository |
/// | `dinov2-registers` | bicubic, antialias | 1 before | DINOv2 with registers in transformers |
/// | `siglip` | bicubic | none | SigLIP, AltCLIP |
/// | `siglip2` | bilinear, antialias | none | SigLIP 2 (NaFlex) |
/// | `qwen3-vl` | bilinear, align_corners | none, squares of 2 x 2 | Qwen3-VL, Qwen3.5 |
/// | `paddleocr-vl` | bilinear | none | PaddleOCR-VL |
/// | `glm4v` | bicubic | none, squares of 2 x 2 | GLM-4V: `grid_sample` at the centers with border padding |
/// | `sam2` | bicubic | none | SAM 2, Hiera: `[1, D, H, W]` |
/// | `beit` | bilinear | 3 after | BEiT's and Data2Vec's tables by offset, sides swapped |
/// | `swin` | bicubic | none | Swin's tables by offset, as its repository loads them |
/// | `levit` | bicubic, antialias | none | timm's `resize_rel_pos_bias_table_levit`: LeViT, TinyViT |
/// | `jax` | bicubic (a = -0.5), antialias | none | `jax.image.resize(.., "cubic")`, `Image.resize` of PIL |
///
/// The registers of DINOv2 have no rows in the table.
///
/// # Distance from the libraries
/// The libraries compute coordinates, weights, and sums in `f32`. For entries within -1..=1 and sides of
/// up to 16, their results differ from the exact ones by at most
///
/// | preset | distance | | preset | distance |
/// |---|---|---|---|---|
/// | `vit` | 2.9e-6 | | `paddleocr-vl` | 6.9e-7 |
/// | `timm` | 1.8e-6 | | `glm4v` | 1.1e-6 |
/// | `dinov2-offset` | 1.7e-6 | | `sam2` | 2.8e-6 |
/// | `dinov2-registers` | 1.8e-6 | | `beit` | 5.8e-7 |
/// | `siglip` | 2.8e-6 | | `swin` | 1.6e-6 |
/// | `siglip2` | 1.1e-6 | | `levit` | 1.2e-6 |
/// | `qwen3-vl` | 8.0e-7 | | `jax` | 1.1e-7 |
///
/// In `f64`, the weights of torch and JAX differ from the exact ones by at most 5e-15 (sides of up to
/// 50), and their nearest positions are the same.
///
/// ```
/// use pe_core::{ResizeKernel, ResizePreset};
///
/// let timm = ResizePreset::Timm.config();
/// assert!(timm.antialias && timm.kernel == ResizeKernel::Bicubic);
/// assert_eq!("siglip2".parse(), Ok(ResizePreset::Siglip2));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResizePreset {
    /// ViT and most of its relatives in transformers, DINOv2 among them.
    Vit,
    /// timm's `resample_abs_pos_embed` with its defaults.
    Timm,
    /// DINO, and DINOv2 in its own repository: a scale factor for sizes larger by 0.1.
    Dinov2Offset,
    /// DINOv2 with registers in transformers.
    Dinov2Registers,
    /// SigLIP.
    Siglip,
    /// SigLIP 2.
    Siglip2,
    /// Qwen3-VL.
    Qwen3Vl,
    /// PaddleOCR-VL.
    PaddleocrVl,
    /// GLM-4V.
    Glm4v,
    /// SAM 2.
    Sam2,
    /// The tables by offset of BEiT: `window_size` in rows and columns, read in columns and rows.
    Beit,
    /// The tables by offset of Swin.
    Swin,
    /// The tables by offset of LeViT and TinyViT.
    Levit,
    /// The defaults of JAX and of PIL for `bicubic`.
    Jax,
}

impl ResizePreset {
    /// All presets.
    pub const ALL: [Self; 14] = [
        Self::Vit,
        Self::Timm,
        Self::Dinov2Offset,
        Self::Dinov2Registers,
        Self::Siglip,
        Self::Siglip2,
        Self::Qwen3Vl,
        Self::PaddleocrVl,
        Self::Glm4v,
        Self::Sam2,
        Self::Beit,
        Self::Swin,
        Self::Levit,
        Self::Jax,
    ];

    /// Returns the name of the preset, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vit => "vit",
            Self::Timm => "timm",
            Self::Dinov2Offset => "dinov2-offset",
            Self::Dinov2Registers => "dinov2-registers",
            Self::Siglip => "siglip",
            Self::Siglip2 => "siglip2",
            Self::Qwen3Vl => "qwen3-vl",
            Self::PaddleocrVl => "paddleocr-vl",
            Self::Glm4v => "glm4v",
            Self::Sam2 => "sam2",
            Self::Beit => "beit",
            Self::Swin => "swin",
            Self::Levit => "levit",
            Self::Jax => "jax",
        }
    }

    /// Returns the way of resizing.
    pub const fn config(self) -> ResizeConfig {
        let bicubic = ResizeConfig::new(ResizeKernel::Bicubic);
        let bilinear = ResizeConfig::new(ResizeKernel::Bilinear);
        match self {
            Self::Vit | Self::Siglip | Self::Glm4v | Self::Sam2 | Self::Swin => bicubic,
            Self::Timm | Self::Dinov2Registers | Self::Levit => ResizeConfig {
                antialias: true,
                ..bicubic
            },
            Self::Dinov2Offset => ResizeConfig {
                by: ResizeBy::Offset {
                    numerator: 1,
                    denominator: 10,
                },
                ..bicubic
            },
            Self::Siglip2 => ResizeConfig {
                antialias: true,
                ..bilinear
            },
            Self::Qwen3Vl => ResizeConfig {
                align_corners: true,
                ..bilinear
            },
            Self::PaddleocrVl | Self::Beit => bilinear,
            Self::Jax => ResizeConfig {
                antialias: true,
                ..ResizeConfig::new(ResizeKernel::BicubicKeys)
            },
        }
    }

    /// Returns the numbers of rows before and after the grid, which are kept.
    pub const fn kept_rows(self) -> [usize; 2] {
        match self {
            Self::Vit | Self::Timm | Self::Dinov2Offset | Self::Dinov2Registers => [1, 0],
            Self::Beit => [0, 3],
            _ => [0, 0],
        }
    }

    /// Returns the order of the resized rows.
    pub const fn order(self) -> PatchOrder {
        match self {
            Self::Qwen3Vl | Self::Glm4v => PatchOrder::MergeBlocks(2),
            _ => PatchOrder::RowMajor,
        }
    }

    /// Returns whether the sides of the given grid are read in the reverse order.
    pub const fn swaps_sides(self) -> bool {
        matches!(self, Self::Beit)
    }
}

impl_names!(ResizePreset, "preset");
