//! Conventions of well-known libraries, by name.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::families::sinusoidal::SinusoidalConfig;
use crate::spec::impl_names;
use crate::spec::layout::{OddWidth, SinusoidLayout};
use crate::spec::spacing::Spacing;

/// Convention of a library: layout, spacing, and behavior at odd widths.
///
/// A preset fixes the definition that the library implements. The entries are still exact. For
/// the library's inexact f32 values, set a [`Recipe`](crate::Recipe) as well.
///
/// With n = d/2:
///
/// | preset | columns | frequency of pair i (n = d/2) | odd widths |
/// |---|---|---|---|
/// | `paper`, `pytorch-tutorial`, `labml` | sin, cos alternate | base^(-2i/d) | error |
/// | `tf-tutorial` | sin, cos alternate | base^(-2i/d) | last cosine left out |
/// | `positional-encodings` | sin, cos alternate | base^(-2i/(d+1)) at odd d | last cosine left out |
/// | `tf-notebook`, `whisper` | all sines, all cosines | base^(-i/(n-1)) | error |
/// | `tensor2tensor`, `fairseq`, `diffusers` | all sines, all cosines | base^(-i/(n-1)) | zero column |
/// | `marian` | all sines, all cosines | base^(-2i/d) | one more sine |
/// | `mimi` | all cosines, all sines | base^(-i/(n-1)) | error |
/// | `stable-diffusion` | all cosines, all sines | base^(-i/n) | zero column |
///
/// ```
/// use pe_core::{Preset, Sinusoidal};
///
/// let preset: Preset = "whisper".parse()?;
/// let table = Sinusoidal::new(preset.config(384))?.table::<f32>(0..1500)?;
/// assert_eq!(table.row(0).map(|row| (row[0], row[192])), Some((0.0, 1.0)));
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Preset {
    /// "Attention Is All You Need" (Vaswani et al., 2017, section 3.5). Also OpenNMT, ESPnet, and
    /// burn. Odd widths are rejected.
    Paper,
    /// PyTorch's tutorial module, same as the paper.
    PytorchTutorial,
    /// labml's fixed positional encoding, same as the paper.
    Labml,
    /// TensorFlow's transformer tutorial of 2019: columns as in the paper. At odd widths the last
    /// cosine is omitted.
    TfTutorial,
    /// TensorFlow's position-encoding notebook: all sines, then all cosines. The frequencies
    /// include the end point.
    TfNotebook,
    /// tensor2tensor and the TensorFlow Model Garden: halves, end point included, a zero column at
    /// odd widths.
    Tensor2tensor,
    /// fairseq and M2M100: tensor2tensor's convention with a row of zeros at `padding_idx` 1. These
    /// libraries number tokens from 2.
    Fairseq,
    /// Whisper's encoder: halves, end point included.
    Whisper,
    /// Marian: halves with the paper's frequencies. Odd widths have one sine column more than
    /// cosine columns.
    Marian,
    /// Mimi: all cosines, then all sines, end point included.
    Mimi,
    /// diffusers' timestep embedding with its defaults: halves, end point included
    /// (`downscale_freq_shift` 1), a zero column at odd widths.
    Diffusers,
    /// diffusers' timestep embedding as Stable Diffusion configures it:
    /// `flip_sin_to_cos` and `downscale_freq_shift` 0.
    StableDiffusion,
    /// The PyPI package positional-encodings: columns as in the paper. At odd widths, the table of
    /// the next even width without its last column.
    PositionalEncodings,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 13] = [
        Self::Paper,
        Self::PytorchTutorial,
        Self::Labml,
        Self::TfTutorial,
        Self::TfNotebook,
        Self::Tensor2tensor,
        Self::Fairseq,
        Self::Whisper,
        Self::Marian,
        Self::Mimi,
        Self::Diffusers,
        Self::StableDiffusion,
        Self::PositionalEncodings,
    ];

    /// Returns the name of the preset, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::PytorchTutorial => "pytorch-tutorial",
            Self::Labml => "labml",
            Self::TfTutorial => "tf-tutorial",
            Self::TfNotebook => "tf-notebook",
            Self::Tensor2tensor => "tensor2tensor",
            Self::Fairseq => "fairseq",
            Self::Whisper => "whisper",
            Self::Marian => "marian",
            Self::Mimi => "mimi",
            Self::Diffusers => "diffusers",
            Self::StableDiffusion => "stable-diffusion",
            Self::PositionalEncodings => "positional-encodings",
        }
    }

    /// Returns the specification of this convention for a width.
    pub const fn config(self, d_model: usize) -> SinusoidalConfig {
        use OddWidth::{RoundUp, Truncate, ZeroPad};
        use SinusoidLayout::{Concatenated, ConcatenatedCosFirst};
        use Spacing::{Inclusive, Shifted};
        let paper = SinusoidalConfig::new(d_model);
        match self {
            Self::Paper | Self::PytorchTutorial | Self::Labml => paper,
            Self::TfTutorial => SinusoidalConfig {
                odd_width: Truncate,
                ..paper
            },
            Self::TfNotebook | Self::Whisper => SinusoidalConfig {
                layout: Concatenated,
                spacing: Inclusive,
                ..paper
            },
            Self::Tensor2tensor => SinusoidalConfig {
                layout: Concatenated,
                spacing: Inclusive,
                odd_width: ZeroPad,
                ..paper
            },
            Self::Fairseq => SinusoidalConfig {
                layout: Concatenated,
                spacing: Inclusive,
                odd_width: ZeroPad,
                padding_idx: Some(1),
                ..paper
            },
            Self::Marian => SinusoidalConfig {
                layout: Concatenated,
                odd_width: Truncate,
                ..paper
            },
            Self::Mimi => SinusoidalConfig {
                layout: ConcatenatedCosFirst,
                spacing: Inclusive,
                ..paper
            },
            Self::Diffusers => SinusoidalConfig {
                layout: Concatenated,
                spacing: Shifted(1.0),
                odd_width: ZeroPad,
                ..paper
            },
            Self::StableDiffusion => SinusoidalConfig {
                layout: ConcatenatedCosFirst,
                spacing: Shifted(0.0),
                odd_width: ZeroPad,
                ..paper
            },
            Self::PositionalEncodings => SinusoidalConfig {
                odd_width: RoundUp,
                ..paper
            },
        }
    }
}

impl_names!(Preset, "preset");
