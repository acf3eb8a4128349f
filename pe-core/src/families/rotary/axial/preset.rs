//! Rotary embeddings of image and video models, by name.

use crate::error::{Error, Result};
use crate::families::rotary::axial::config::{
    AxialRotaryConfig, AxisFrequencies, AxisPairing, FrequencyUnit, GridCoordinates, GridIndexing,
    RotaryAxis,
};
use crate::families::rotary::patches::PatchOrder;
use crate::families::rotary::{Mrope, MropeArrangement};
use crate::limits::MAX_D_MODEL;
use crate::num::real::Real;
use crate::spec::impl_names;
use crate::spec::pair_layout::PairLayout;

/// Rotary embedding of a released image, video, or vision-language model.
///
/// A preset fixes which columns of a head follow which coordinate, the frequencies, and the positions of a
/// grid. The entries are exact. Widths are those of the released model in proportion to `head_dim`, which
/// is 128 unless the table states another one. Change fields of the configuration for other
/// checkpoints, such as the base or the reference size.
///
/// | preset | models | axes: columns at the released width | frequencies | pairs | positions of a grid |
/// |---|---|---|---|---|---|
/// | `flux` | FLUX.1, FLUX Kontext, Chroma, Bria, LongCat-Image | image, row, column: 16, 56, 56 | own, 10000 | interleaved | indexes |
/// | `qwen-image` | Qwen-Image (`scale_rope`) | frame, row, column: 16, 56, 56 | own, 10000 | interleaved | rows and columns around 0 |
/// | `wan` | Wan 2.1, Wan 2.2, SkyReels-V2, ChronoEdit | frame, row, column: 44, 42, 42 | own, 10000 | interleaved | indexes |
/// | `hunyuan-video` | HunyuanVideo, FramePack | frame, row, column: 16, 56, 56 | own, 256 | interleaved | indexes |
/// | `ltx-video` | LTX-Video (width 2048: all heads together) | frame, row, column: 682 each, alternating, after one pair that does not rotate | 1 to 10000 quarter turns | interleaved | `2 x scale x index / base size - 1`, at 25 frames per second |
/// | `cogvideox` | CogVideoX, ConsisID (64) | frame, row, column: 16, 24, 24 | own, 10000 | interleaved | `linspace` to 30 rows and 45 columns |
/// | `z-image` | Z-Image | text or frame, row, column: 32, 48, 48 | own, 256 | interleaved | indexes |
/// | `lumina2` | Lumina 2 (96) | text, row, column: 32, 32, 32 | own, 10000 | interleaved | indexes |
/// | `cosmos` | Cosmos 1.0 | frame, row, column: 44, 42, 42 | own, 10000, NTK factor 2 on frames | half-split | indexes |
/// | `dinov3` | DINOv3 (64), 5 prefix tokens | row, column: 32, 32 | own, 100, in turns | half-split | centers of patches of -1 .. 1 |
/// | `eva02` | EVA-02 in timm (64), 1 prefix token | row, column: 32, 32 | own, 10000 | interleaved | stretched to 16 x 16 |
/// | `timm-pixel` | timm's `RotaryEmbedding` with its defaults (64) | row, column: 32, 32 | 1 to 112 half turns | interleaved | -1 .. 1 |
/// | `pixtral` | Pixtral, Mistral 3 (64) | row, column: 32, 32 | every other of one series, 10000 | half-split | indexes |
/// | `llama4-vision` | Llama 4 (88), 1 suffix token | column, row: 44, 44 | own, 10000 | interleaved | indexes from 1 |
/// | `gemma4-vision` | Gemma 4 (64) | column, row: 32, 32 | own, 100 | half-split in each axis | indexes |
/// | `qwen2-vl-vision` | Qwen2-VL, Qwen2.5-VL (full attention), Qwen3-VL, GLM-4V, Ernie 4.5 VL (80) | row, column: 40, 40 | own, 10000 | half-split | indexes, in squares of 2 x 2 |
/// | `qwen2.5-vl-vision` | Qwen2.5-VL, all layers (80) | row, column: 40, 40 | own, 10000 | half-split | indexes, in windows of 4 x 4 such squares |
/// | `qwen2-vl` | Qwen2-VL, Qwen2.5-VL, text | time, height, width: 32, 48, 48 | one series, 1000000 | half-split | from [`mrope_position_ids`](crate::mrope_position_ids) |
/// | `qwen3-vl` | Qwen3-VL, text | time, height, width: 48, 40, 40, interleaved | one series, 5000000 | half-split | the same |
/// | `glm4v` | GLM-4.1V, text, half of each head | time, height, width: 16, 24, 24 | one series, 10000 | interleaved | the same |
/// | `ernie4.5-vl` | Ernie 4.5 VL, text | time, height, width: 40, 44, 44; height and width alternate, then time | one series, 500000 | interleaved | the same |
/// | `hunyuan-vl` | HunyuanOCR, text (`xdrope`) | four coordinates: 32 each, by column: **not a rotation** | one series, 10000, NTK factor 1000 | half-split | from the tokens |
/// | `v-jepa2` | V-JEPA 2 (64, of which 60 columns follow axes) | frame, row, column: 20, 20, 20, tiled: **not a rotation** | own, 10000 | interleaved | indexes |
///
/// # Distance of the models' own values
/// Largest difference between the cosines and sines that the models' code computes (transformers 5.23,
/// diffusers 0.42.1, timm 1.0.31, on a CPU) and the exact ones, in the first columns of the pairs, at a released
/// size. Nearly all of it comes from frequencies and angles in `f32`. FLUX and Wan compute these in `f64` and
/// round the entries to `f32`, Lumina 2 keeps `f64`.
///
/// | preset | size | largest difference |
/// |---|---|---|
/// | `flux` | 64 x 64 | 3.0e-8 |
/// | `qwen-image` | 64 x 64 | 1.6e-6 |
/// | `wan` | 21 x 45 x 80 | 3.0e-8 |
/// | `hunyuan-video` | 33 x 45 x 80 | 4.7e-6 |
/// | `ltx-video` | 16 x 15 x 22 | 3.6e-3 |
/// | `cogvideox` | 13 x 30 x 45 | 1.4e-6 |
/// | `z-image` | 64 x 64 | 1.7e-6 |
/// | `lumina2` | 64 x 64 | 2.3e-15 |
/// | `cosmos` | 16 x 44 x 80 | 2.6e-6 |
/// | `dinov3` | 14 x 14 | 4.3e-7 |
/// | `eva02` | 32 x 32 | 4.9e-7 |
/// | `timm-pixel` | 14 x 14 | 3.0e-5 |
/// | `pixtral` | 64 x 64 | 1.9e-6 |
/// | `llama4-vision` | 24 x 24 | 5.5e-7 |
/// | `gemma4-vision` | 48 x 48 | 1.7e-6 |
/// | `qwen2-vl-vision` | 64 x 64 | 3.5e-6 |
/// | `qwen2.5-vl-vision` | 64 x 64 | 3.5e-6 |
/// | `qwen2-vl` | 4,096 tokens | 2.8e-4 |
/// | `qwen3-vl` | 4,096 tokens | 2.8e-4 |
/// | `glm4v` | 4,096 tokens | 1.5e-4 |
/// | `ernie4.5-vl` | 4,096 tokens | 2.8e-4 |
/// | `hunyuan-vl` | 4,096 tokens | 2.1e-4 |
///
/// # Examples
/// ```
/// use pe_core::{AxialRotary, AxialRotaryPreset};
///
/// let preset: AxialRotaryPreset = "wan".parse()?;
/// let config = preset.config(128);
/// assert_eq!(config.axes.iter().map(|axis| axis.width).collect::<Vec<_>>(), [44, 42, 42]);
/// let tables = AxialRotary::new(config)?.grid_tables::<f32>(&[21, 45, 80])?;
/// assert_eq!(tables.first.cos.rows(), 21 * 45 * 80);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)] // The table above documents each.
pub enum AxialRotaryPreset {
    Flux,
    QwenImage,
    Wan,
    HunyuanVideo,
    LtxVideo,
    CogVideoX,
    ZImage,
    Lumina2,
    Cosmos,
    DinoV3,
    Eva02,
    TimmPixel,
    Pixtral,
    Llama4Vision,
    Gemma4Vision,
    Qwen2VlVision,
    Qwen25VlVision,
    Qwen2Vl,
    Qwen3Vl,
    Glm4v,
    Ernie45Vl,
    HunyuanVl,
    VJepa2,
}

impl AxialRotaryPreset {
    /// All presets.
    pub const ALL: [Self; 23] = [
        Self::Flux,
        Self::QwenImage,
        Self::Wan,
        Self::HunyuanVideo,
        Self::LtxVideo,
        Self::CogVideoX,
        Self::ZImage,
        Self::Lumina2,
        Self::Cosmos,
        Self::DinoV3,
        Self::Eva02,
        Self::TimmPixel,
        Self::Pixtral,
        Self::Llama4Vision,
        Self::Gemma4Vision,
        Self::Qwen2VlVision,
        Self::Qwen25VlVision,
        Self::Qwen2Vl,
        Self::Qwen3Vl,
        Self::Glm4v,
        Self::Ernie45Vl,
        Self::HunyuanVl,
        Self::VJepa2,
    ];

    /// Returns the name of the preset, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flux => "flux",
            Self::QwenImage => "qwen-image",
            Self::Wan => "wan",
            Self::HunyuanVideo => "hunyuan-video",
            Self::LtxVideo => "ltx-video",
            Self::CogVideoX => "cogvideox",
            Self::ZImage => "z-image",
            Self::Lumina2 => "lumina2",
            Self::Cosmos => "cosmos",
            Self::DinoV3 => "dinov3",
            Self::Eva02 => "eva02",
            Self::TimmPixel => "timm-pixel",
            Self::Pixtral => "pixtral",
            Self::Llama4Vision => "llama4-vision",
            Self::Gemma4Vision => "gemma4-vision",
            Self::Qwen2VlVision => "qwen2-vl-vision",
            Self::Qwen25VlVision => "qwen2.5-vl-vision",
            Self::Qwen2Vl => "qwen2-vl",
            Self::Qwen3Vl => "qwen3-vl",
            Self::Glm4v => "glm4v",
            Self::Ernie45Vl => "ernie4.5-vl",
            Self::HunyuanVl => "hunyuan-vl",
            Self::VJepa2 => "v-jepa2",
        }
    }

    /// Returns the specification for heads of a width. Its [`multiple_of`](AxialRotaryConfig::multiple_of) has the
    /// proportions of the released model, and [`AxialRotary::new`](crate::AxialRotary::new) rejects other widths.
    pub fn config(self, head_dim: usize) -> AxialRotaryConfig {
        let multiple_of = self.multiple();
        let fits = head_dim <= MAX_D_MODEL && head_dim.is_multiple_of(multiple_of);
        AxialRotaryConfig {
            head_dim,
            multiple_of,
            ..self.divided(if fits { head_dim } else { multiple_of })
        }
    }

    /// Returns the specification for a width that can be divided.
    fn divided(self, head_dim: usize) -> AxialRotaryConfig {
        let rest = |parts: usize, width: usize| head_dim.saturating_sub(parts * width);
        let (half, sixth) = (head_dim / 2, head_dim / 6 * 2);
        let eighths = |n: usize| head_dim / 8 * n;
        let sixteenths = |n: usize| head_dim / 16 * n;
        let own = |base: f64, width: usize| RotaryAxis::new(width, base);
        let flux = |base| [2, 7, 7].map(|n| own(base, sixteenths(n)));
        let two = |axis: RotaryAxis| AxialRotaryConfig::new([axis.clone(), axis]);
        let interleaved = |config: AxialRotaryConfig| AxialRotaryConfig {
            layout: PairLayout::Interleaved,
            ..config
        };
        match self {
            Self::Flux => interleaved(AxialRotaryConfig::new(flux(10_000.0))),
            Self::QwenImage => {
                let [frame, row, column] = flux(10_000.0);
                let centered = |axis: RotaryAxis| axis.at(GridCoordinates::Centered);
                interleaved(AxialRotaryConfig::new([
                    frame,
                    centered(row),
                    centered(column),
                ]))
            }
            Self::Wan => interleaved(AxialRotaryConfig::new(
                [rest(2, sixth), sixth, sixth].map(|width| own(10_000.0, width)),
            )),
            Self::HunyuanVideo => interleaved(AxialRotaryConfig::new(flux(256.0))),
            Self::LtxVideo => {
                let scales = [8.0 / 25.0 / 20.0, 32.0 / 2048.0, 32.0 / 2048.0];
                let frequencies = AxisFrequencies::Geometric {
                    first: 1.0,
                    last: 10_000.0,
                };
                let axis = |scale: f64| {
                    let (start, step) = (-1.0, 2.0 * scale);
                    let axis = RotaryAxis::with(sixth, frequencies.clone());
                    axis.at(GridCoordinates::Affine { start, step })
                };
                AxialRotaryConfig {
                    leading_pairs: head_dim % 6 / 2,
                    pairing: AxisPairing::Alternating,
                    unit: FrequencyUnit::QuarterTurn,
                    ..interleaved(AxialRotaryConfig::new(scales.map(axis)))
                }
            }
            Self::CogVideoX => {
                let frame = own(10_000.0, eighths(2));
                let side = |stop| {
                    let start = 0.0;
                    own(10_000.0, eighths(3)).at(GridCoordinates::Linspace { start, stop })
                };
                interleaved(AxialRotaryConfig::new([frame, side(30.0), side(45.0)]))
            }
            Self::ZImage => interleaved(AxialRotaryConfig::new(
                [2, 3, 3].map(|n| own(256.0, eighths(n))),
            )),
            Self::Lumina2 => interleaved(AxialRotaryConfig::new(
                [sixth; 3].map(|width| own(10_000.0, width)),
            )),
            Self::Cosmos => {
                let time = rest(2, sixth);
                let frame = own(stretched(2.0, time), time);
                AxialRotaryConfig::new([frame, own(10_000.0, sixth), own(10_000.0, sixth)])
            }
            Self::DinoV3 => AxialRotaryConfig {
                unit: FrequencyUnit::Turn,
                prefix_tokens: 5,
                ..two(own(100.0, half).at(GridCoordinates::PatchCenters))
            },
            Self::Eva02 => {
                let (offset, reference) = (0.0, 16.0);
                let scaled = GridCoordinates::Scaled { offset, reference };
                AxialRotaryConfig {
                    prefix_tokens: 1,
                    ..interleaved(two(own(10_000.0, half).at(scaled)))
                }
            }
            Self::TimmPixel => {
                let (first, last) = (1.0, 112.0);
                let axis = RotaryAxis::with(half, AxisFrequencies::Geometric { first, last });
                AxialRotaryConfig {
                    unit: FrequencyUnit::HalfTurn,
                    ..interleaved(two(axis.at(GridCoordinates::Endpoints)))
                }
            }
            Self::Pixtral => two(RotaryAxis::with(
                half,
                AxisFrequencies::Alternating { base: 10_000.0 },
            )),
            Self::Llama4Vision => {
                let (start, step) = (1.0, 1.0);
                AxialRotaryConfig {
                    indexing: GridIndexing::Xy,
                    suffix_tokens: 1,
                    ..interleaved(two(
                        own(10_000.0, half).at(GridCoordinates::Affine { start, step })
                    ))
                }
            }
            Self::Gemma4Vision => AxialRotaryConfig {
                indexing: GridIndexing::Xy,
                pairing: AxisPairing::PerAxis,
                ..two(own(100.0, half))
            },
            Self::Qwen2VlVision => AxialRotaryConfig {
                order: PatchOrder::MergeBlocks(2),
                ..two(own(10_000.0, half))
            },
            Self::Qwen25VlVision => AxialRotaryConfig {
                order: PatchOrder::Windows {
                    merge: 2,
                    window: 4,
                },
                ..two(own(10_000.0, half))
            },
            Self::Qwen2Vl => shared(1e6, [4, 6, 6].map(sixteenths)),
            Self::Qwen3Vl => {
                let [height, width] = [eighths(5) / 4; 2];
                let sections = [(half - height - width), height, width];
                let mrope = Mrope {
                    sections,
                    arrangement: MropeArrangement::Interleaved,
                };
                AxialRotaryConfig {
                    pairing: AxisPairing::Listed(mrope.axes(half).unwrap_or_default()),
                    ..shared(5e6, sections.map(|pairs| 2 * pairs))
                }
            }
            Self::Glm4v => interleaved(shared(10_000.0, [2, 3, 3].map(sixteenths))),
            Self::Ernie45Vl => {
                let side = head_dim / 32 * 11;
                let list = (0..half).map(|pair| match pair < side {
                    true => 1 + (pair % 2) as u8,
                    false => 0,
                });
                AxialRotaryConfig {
                    pairing: AxisPairing::Listed(list.collect()),
                    ..interleaved(shared(500_000.0, [rest(2, side), side, side]))
                }
            }
            Self::HunyuanVl => AxialRotaryConfig {
                pairing: AxisPairing::ByColumn,
                ..shared(stretched(1000.0, head_dim), [head_dim / 4; 4])
            },
            Self::VJepa2 => AxialRotaryConfig {
                pairing: AxisPairing::Tiled,
                ..interleaved(AxialRotaryConfig::new(
                    [sixth; 3].map(|width| own(10_000.0, width)),
                ))
            },
        }
    }

    /// Returns the number of columns that heads must be a multiple of.
    const fn multiple(self) -> usize {
        match self {
            Self::Flux | Self::QwenImage | Self::HunyuanVideo => 32,
            Self::CogVideoX | Self::ZImage => 16,
            Self::Wan | Self::LtxVideo | Self::Cosmos | Self::VJepa2 => 2,
            Self::Lumina2 => 6,
            Self::DinoV3 | Self::Eva02 | Self::TimmPixel => 4,
            Self::Pixtral | Self::Llama4Vision | Self::Gemma4Vision => 4,
            Self::Qwen2VlVision | Self::Qwen25VlVision => 4,
            Self::Qwen2Vl | Self::Qwen3Vl | Self::Glm4v => 32,
            Self::Ernie45Vl => 64,
            Self::HunyuanVl => 8,
        }
    }
}

/// Returns the specification of one series of frequencies over axes of these widths.
fn shared<const N: usize>(base: f64, widths: [usize; N]) -> AxialRotaryConfig {
    AxialRotaryConfig::new(
        widths.map(|width| RotaryAxis::with(width, AxisFrequencies::Shared { base })),
    )
}

/// Returns the base 10,000 with NTK-aware scaling. Widths that have none are rejected with the specification.
fn stretched(factor: f64, width: usize) -> f64 {
    ntk_base(10_000.0, factor, width).unwrap_or(f64::NAN)
}

/// Returns the base of NTK-aware scaling, `base x factor^(width / (width - 2))`, as the nearest `f64`: the
/// longest wavelength of `width` columns becomes `factor` times as long (Cosmos' `rope_scale`, HunYuan's
/// `alpha`).
///
/// ```
/// assert_eq!(pe_core::ntk_base(10_000.0, 16.0, 6)?, 640_000.0);
/// # Ok::<(), pe_core::Error>(())
/// ```
///
/// # Errors
/// Returns an error if a number is not positive and finite, or if the width is odd or below 4.
pub fn ntk_base(base: f64, factor: f64, width: usize) -> Result<f64> {
    for (name, value) in [("base", base), ("factor", factor)] {
        if !(value.is_finite() && value > 0.0) {
            return Err(Error::NotPositive { name, value });
        }
    }
    if width < 4 || !width.is_multiple_of(2) {
        return Err(Error::RotaryDim { rotary_dim: width });
    }
    let exponent = Real::from(width as u64) / Real::from(width as u64 - 2);
    let power = (Real::from(factor).ln() * exponent).exp();
    let of = power.map(|power| (Real::from(base) * power).to_f64());
    of.filter(|value| value.is_finite() && *value > 0.0)
        .ok_or(Error::NotPositive {
            name: "factor",
            value: factor,
        })
}

impl_names!(AxialRotaryPreset, "preset of a rotary embedding over axes");
