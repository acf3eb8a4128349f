//! The embedding of diffusion timesteps and of other real numbers.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::families::sinusoidal::{Blocks, Sinusoidal, SinusoidalConfig};
use crate::limits::MAX_D_MODEL;
use crate::rows::element::Element;
use crate::spec::impl_names;
use crate::spec::layout::{OddWidth, SinusoidLayout};
use crate::spec::recipe::Recipe;
use crate::spec::spacing::{Base, Spacing};
use crate::table::Table;

/// Specification of a timestep embedding: plain data, checked by [`Timestep::new`].
///
/// For pair `i` of `n = width / 2` and a timestep `t`
///
/// ```text
/// amplitude * sin(scale * t * w_i),  amplitude * cos(scale * t * w_i)
/// w_i = max_period^(-i / (n - downscale_freq_shift))
/// ```
///
/// The sines come first, then the cosines, unless [`layout`](Self::layout) has another order. Odd widths
/// end with a column of zeros. The other fields have the names of diffusers' `get_timestep_embedding` (J. Ho,
/// A. Jain, P. Abbeel: "Denoising Diffusion Probabilistic Models", 2020), and `new` has its defaults.
///
/// ```
/// use pe_core::{SinusoidLayout, TimestepConfig, TimestepPreset};
///
/// let flux = TimestepConfig {
///     scale: 1000.0,
///     layout: SinusoidLayout::ConcatenatedCosFirst,
///     downscale_freq_shift: 0.0,
///     ..TimestepConfig::new(256)
/// };
/// assert_eq!(flux, TimestepPreset::Flux.config(256));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct TimestepConfig {
    /// Width of the embedding, 1 to [`MAX_D_MODEL`].
    pub width: usize,
    /// Base of the frequencies. Defaults to 10000.
    pub max_period: f64,
    /// Factor of the timesteps. The product is exact. Defaults to 1.
    pub scale: f64,
    /// Order of sines and cosines. Defaults to `Concatenated`; diffusers' `flip_sin_to_cos: true` is
    /// `ConcatenatedCosFirst`.
    pub layout: SinusoidLayout,
    /// Difference between the number of pairs and the divisor of the exponents. 1 includes the
    /// frequency `1 / max_period`, 0 does not. Defaults to 1.
    pub downscale_freq_shift: f64,
    /// Factor of the entries, as in MLX. An entry is the rounded product. Defaults to 1.
    pub amplitude: f64,
    /// Exact entries, or the f32 arithmetic of diffusers ([`Recipe::DiffusersF32`]).
    #[cfg_attr(feature = "serde", serde(default))]
    pub recipe: Recipe,
}

impl TimestepConfig {
    /// Returns the specification of a width with the defaults of diffusers.
    pub const fn new(width: usize) -> Self {
        Self {
            width,
            max_period: 10000.0,
            scale: 1.0,
            layout: SinusoidLayout::Concatenated,
            downscale_freq_shift: 1.0,
            amplitude: 1.0,
            recipe: Recipe::Exact,
        }
    }
}

/// Conventions of released models.
///
/// | preset | models | columns | frequency of pair i (n = width/2) | scale |
/// |---|---|---|---|---|
/// | `diffusers` | DDPM, `get_timestep_embedding` by default | sines, cosines | 10000^(-i/(n-1)) | 1 |
/// | `stable-diffusion` | Stable Diffusion 1 to XL, DiT, PixArt, Wan, guided-diffusion, GLIDE | cosines, sines | 10000^(-i/n) | 1 |
/// | `sd3` | Stable Diffusion 3 (MMDiT), whose timesteps are 0 .. 1000 | as `stable-diffusion` | | 1 |
/// | `flux` | FLUX.1, Qwen-Image, whose timesteps are 0 .. 1 | cosines, sines | 10000^(-i/n) | 1000 |
/// | `wuerstchen` | Wuerstchen, Stable Cascade | sines, cosines | 10000^(-i/(n-1)) | 10000 |
/// | `mlx` | MLX's `SinusoidalPositionalEncoding`, entries times sqrt(2/width) | sines, cosines | 10000^(-i/(n-1)) | 1 |
///
/// The references compute in f32. The documentation of each preset states the largest distance of their
/// entries from the exact values that was measured (`tests/golden/make_timestep_presets.py`). The same
/// arithmetic in bf16 is off by 2.0, in f16 by 0.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimestepPreset {
    /// diffusers' `get_timestep_embedding` with its defaults. Its f32 entries are within 7.1e-5 of the
    /// exact values at timesteps below 1000.
    Diffusers,
    /// Stable Diffusion 1 to XL, DiT, PixArt, Wan, guided-diffusion. diffusers' f32 entries are within
    /// 5.8e-5 of the exact values at timesteps below 1000.
    StableDiffusion,
    /// Stable Diffusion 3: the values of `StableDiffusion`, with the same distance.
    Sd3,
    /// FLUX.1 and Qwen-Image: timesteps of 0 to 1, times 1000. diffusers' f32 entries are within 1.6e-4
    /// of the exact values.
    Flux,
    /// Wuerstchen and Stable Cascade: ratios of 0 to 1, times 10000. diffusers' f32 entries are within
    /// 1.5e-3 of the exact values.
    Wuerstchen,
    /// MLX's `SinusoidalPositionalEncoding`: entries times sqrt(2/width), a factor in `f64` as in MLX. Its
    /// formula in f32 is within 8.3e-5 of the exact values at positions below 2048.
    Mlx,
}

impl TimestepPreset {
    /// All presets.
    pub const ALL: [Self; 6] = [
        Self::Diffusers,
        Self::StableDiffusion,
        Self::Sd3,
        Self::Flux,
        Self::Wuerstchen,
        Self::Mlx,
    ];

    /// Returns the name of the preset, which [`str::parse`] accepts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Diffusers => "diffusers",
            Self::StableDiffusion => "stable-diffusion",
            Self::Sd3 => "sd3",
            Self::Flux => "flux",
            Self::Wuerstchen => "wuerstchen",
            Self::Mlx => "mlx",
        }
    }

    /// Returns the specification of this convention for a width.
    pub fn config(self, width: usize) -> TimestepConfig {
        let diffusers = TimestepConfig::new(width);
        let flipped = TimestepConfig {
            layout: SinusoidLayout::ConcatenatedCosFirst,
            downscale_freq_shift: 0.0,
            ..diffusers
        };
        match self {
            Self::Diffusers => diffusers,
            Self::StableDiffusion | Self::Sd3 => flipped,
            Self::Flux => TimestepConfig {
                scale: 1000.0,
                ..flipped
            },
            Self::Wuerstchen => TimestepConfig {
                scale: 10000.0,
                ..diffusers
            },
            Self::Mlx => TimestepConfig {
                amplitude: (2.0 / width as f64).sqrt(),
                ..diffusers
            },
        }
    }
}

impl_names!(TimestepPreset, "timestep preset");

/// A checked timestep embedding with its frequencies, the builder of its rows.
///
/// Cloning is cheap, and clones share the frequencies. A row belongs to a timestep `t`, the exact value
/// of its `f64`. Every entry is the value of its type nearest to the real number of
/// [`TimestepConfig`]: `scale * t` is not rounded before it is multiplied, nor is the angle. (With
/// [`Recipe::DiffusersF32`] the entries are those of diffusers instead.)
///
/// ```
/// use pe_core::{Timestep, TimestepPreset};
///
/// let timestep = Timestep::new(TimestepPreset::Flux.config(256))?;
/// let rows = timestep.table_at_reals::<f32>(&[1.0, 0.75, 0.5])?;
/// assert_eq!((rows.rows(), rows.width()), (3, 256));
/// assert_eq!(rows.get(0, 0), Some(0.56237906)); // cos 1000
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Timestep {
    config: TimestepConfig,
    sinusoidal: Sinusoidal,
}

impl PartialEq for Timestep {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

impl Timestep {
    /// Checks the specification and computes its frequencies.
    ///
    /// # Errors
    /// Returns an error if
    /// - `width` is zero or above [`MAX_D_MODEL`],
    /// - `max_period`, `scale`, or `amplitude` is not positive and finite,
    /// - `width / 2 - downscale_freq_shift` is not positive,
    /// - a frequency times `scale` exceeds 2^32 radians per unit,
    /// - the recipe is neither [`Recipe::Exact`] nor [`Recipe::DiffusersF32`].
    pub fn new(config: TimestepConfig) -> Result<Self> {
        let width = config.width;
        if width == 0 || width > MAX_D_MODEL {
            return Err(Error::Width {
                name: "width",
                width,
            });
        }
        for (name, value) in [
            ("max_period", config.max_period),
            ("scale", config.scale),
            ("amplitude", config.amplitude),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::NotPositive { name, value });
            }
        }
        let sinusoidal = SinusoidalConfig {
            base: Base::Value(config.max_period),
            layout: config.layout,
            spacing: Spacing::Shifted(config.downscale_freq_shift),
            odd_width: OddWidth::ZeroPad,
            recipe: config.recipe,
            ..SinusoidalConfig::new(width)
        };
        Ok(Self {
            sinusoidal: Sinusoidal::scaled(sinusoidal, config.scale, config.amplitude)?,
            config,
        })
    }

    /// Returns the specification.
    pub fn config(&self) -> &TimestepConfig {
        &self.config
    }

    /// Returns the width of a row.
    pub fn width(&self) -> usize {
        self.config.width
    }

    /// Returns the frequency of each pair times `scale`, in radians per timestep, correctly rounded (for
    /// the recipe: its f32 values times the scale).
    pub fn inv_freq(&self) -> Vec<f64> {
        self.sinusoidal.inv_freq()
    }

    /// Computes the rows of any timesteps, including negative and fractional ones.
    ///
    /// ```
    /// use pe_core::{Timestep, TimestepPreset};
    ///
    /// let timestep = Timestep::new(TimestepPreset::StableDiffusion.config(320))?;
    /// let rows = timestep.table_at_reals::<f32>(&[999.0, 499.5])?;
    /// assert_eq!(rows.get(0, 160), Some(-0.026460752)); // sin 999
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if
    /// - a timestep is not finite or exceeds 2^53 in magnitude,
    /// - the table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES),
    /// - memory is exhausted.
    pub fn table_at_reals<T: Element>(&self, timesteps: &[f64]) -> Result<Table<T>> {
        self.sinusoidal.table_at_reals(timesteps)
    }

    /// Writes the rows of any timesteps into `out`.
    ///
    /// # Errors
    /// Returns an error if a timestep is not finite or exceeds 2^53 in magnitude, or if `out` does not
    /// hold exactly one row per timestep.
    pub fn fill_at_reals<T: Element>(&self, timesteps: &[f64], out: &mut [T]) -> Result<()> {
        self.sinusoidal.fill_at_reals(timesteps, out)
    }

    /// Computes the rows of the integer timesteps `start .. end`.
    ///
    /// # Errors
    /// Returns an error if
    /// - the range descends or ends above 2^32,
    /// - the table exceeds [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES),
    /// - memory is exhausted.
    pub fn table<T: Element>(&self, timesteps: Range<u64>) -> Result<Table<T>> {
        self.sinusoidal.table(timesteps)
    }

    /// Returns a writer of the rows of a range of integer timesteps, block after block.
    ///
    /// # Errors
    /// Returns an error if the range descends or ends above 2^32.
    pub fn blocks<T: Element>(&self, timesteps: Range<u64>) -> Result<Blocks<'_, T>> {
        self.sinusoidal.blocks(timesteps)
    }
}
