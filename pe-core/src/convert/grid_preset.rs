//! Encodings of grids as other libraries compute them.

use crate::families::grid::{AxisCoordinates, GridAxis, GridConfig, GridLayout};
use crate::families::sinusoidal::SinusoidalConfig;
use crate::spec::impl_names;
use crate::spec::layout::SinusoidLayout;

/// Sinusoidal encoding of grids as a library or a model has it, under its name.
///
/// | preset | columns | coordinates | used by |
/// |---|---|---|---|
/// | `vit-mae` | width, height; sines, then cosines of each | index | ViT-MAE, I-JEPA, with a class row of zeros |
/// | `dit` | as `vit-mae` | index | DiT, diffusers' `PatchEmbed` (with [`AxisCoordinates::Scaled`]) |
/// | `cogvideox` | D/4 for time, then 3D/8 for width and height | index over scale 1 and 1.875 | CogVideoX |
/// | `detr` | height, width; sine and cosine alternate | `(i + 1) / (n + 1e-6) * 2 pi` | DETR and its relatives, MaskFormer, SAM 2 |
/// | `detr-count` | as `detr` | `i + 1` | DETR without normalization |
/// | `rt-detr` | height, width; sines, then cosines of each | index | RT-DETR, D-FINE |
/// | `omdet` | as `rt-detr` | index | OmDet-Turbo: its sides are width and height |
/// | `timm` | sines of height and width, then cosines | index | timm's `build_sincos2d_pos_embed` |
/// | `positional-encodings-1d`, `-2d`, `-3d` | one side after the other; sine and cosine alternate | index | the package positional-encodings |
///
/// The width is a multiple of 4 (`cogvideox`: of 16), except for positional-encodings, which computes
/// more columns and leaves out the last ones. Its widths 7 and 8 never encode the third side.
///
/// # Distance from the libraries
/// For widths up to 96 and sides up to 30, entries differ from the exact ones by at most 3e-8 (`vit-mae`
/// and `rt-detr`, which compute angles in `f64` and round to `f32`), 1e-7 (`cogvideox`), 3.8e-7 (`dit`, with
/// coordinates in `f32`), 4.8e-7 (`detr`), 1.4e-6 (`detr-count`), and 6.6e-7 (the others). In `f64` DETR's differ by at most
/// 1e-15. In `bf16` only 245 of the 300 coordinates of a side are distinct.
///
/// ```
/// use pe_core::{Grid, GridPreset};
///
/// let video = Grid::new(GridPreset::CogVideoX.config(64))?;
/// assert_eq!(video.table::<f32>(&[13, 30, 45])?.rows(), 13 * 30 * 45);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GridPreset {
    /// ViT-MAE, with a class row.
    VitMae,
    /// DiT, without a class row.
    Dit,
    /// CogVideoX: sides are frames, height, and width.
    CogVideoX,
    /// DETR with normalization.
    Detr,
    /// DETR without normalization.
    DetrCount,
    /// RT-DETR.
    RtDetr,
    /// OmDet-Turbo.
    Omdet,
    /// timm's `build_sincos2d_pos_embed` with its defaults.
    Timm,
    /// One side, by the package positional-encodings.
    PositionalEncodings1d,
    /// Two sides.
    PositionalEncodings2d,
    /// Three sides.
    PositionalEncodings3d,
}

impl GridPreset {
    /// All presets.
    pub const ALL: [Self; 11] = [
        Self::VitMae,
        Self::Dit,
        Self::CogVideoX,
        Self::Detr,
        Self::DetrCount,
        Self::RtDetr,
        Self::Omdet,
        Self::Timm,
        Self::PositionalEncodings1d,
        Self::PositionalEncodings2d,
        Self::PositionalEncodings3d,
    ];

    /// Returns the name of the preset, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::VitMae => "vit-mae",
            Self::Dit => "dit",
            Self::CogVideoX => "cogvideox",
            Self::Detr => "detr",
            Self::DetrCount => "detr-count",
            Self::RtDetr => "rt-detr",
            Self::Omdet => "omdet",
            Self::Timm => "timm",
            Self::PositionalEncodings1d => "positional-encodings-1d",
            Self::PositionalEncodings2d => "positional-encodings-2d",
            Self::PositionalEncodings3d => "positional-encodings-3d",
        }
    }

    /// Returns the specification of this convention for a width.
    pub fn config(self, d_model: usize) -> GridConfig {
        use AxisCoordinates::{Count, Index, Normalized, Scaled};
        use SinusoidLayout::{Concatenated, Interleaved};
        // Widths that a library rejects give too few columns, or odd ones, which `Grid::new` names.
        let (half, quarter) = (d_model / 2, d_model / 4);
        let axis = |side, width, layout, coordinates| GridAxis {
            side,
            sinusoidal: SinusoidalConfig {
                layout,
                ..SinusoidalConfig::new(width)
            },
            coordinates,
        };
        let scaled = |interpolation_scale| Scaled {
            base_size: None,
            interpolation_scale,
        };
        let detr = |coordinates| [0, 1].map(|side| axis(side, half, Interleaved, coordinates));
        let halves = |sides: [usize; 2]| sides.map(|side| axis(side, half, Concatenated, Index));
        let rounded = |sides: usize| {
            let width = d_model.div_ceil(2 * sides).saturating_mul(2);
            (0..sides)
                .map(|side| axis(side, width, Interleaved, Index))
                .collect()
        };
        let (sides, axes) = match self {
            Self::VitMae | Self::Dit => (2, halves([1, 0]).to_vec()),
            Self::RtDetr | Self::Omdet | Self::Timm => (2, halves([0, 1]).to_vec()),
            Self::CogVideoX => {
                let space = (d_model - quarter) / 2;
                let time = axis(0, quarter, Concatenated, scaled(1.0));
                let [width, height] =
                    [2, 1].map(|side| axis(side, space, Concatenated, scaled(1.875)));
                (3, vec![time, width, height])
            }
            Self::Detr => {
                let scale = std::f64::consts::TAU;
                (2, detr(Normalized { scale }).to_vec())
            }
            Self::DetrCount => (2, detr(Count).to_vec()),
            Self::PositionalEncodings1d => (1, rounded(1)),
            Self::PositionalEncodings2d => (2, rounded(2)),
            Self::PositionalEncodings3d => (3, rounded(3)),
        };
        GridConfig {
            d_model,
            num_sides: sides,
            axes,
            layout: match self {
                Self::Timm => GridLayout::SinesFirst,
                _ => GridLayout::AxisByAxis,
            },
            prefix_rows: usize::from(self == Self::VitMae),
        }
    }
}

impl_names!(GridPreset, "preset");
