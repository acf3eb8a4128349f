//! Specification of a sinusoidal encoding.

use crate::spec::layout::{OddWidth, SinusoidLayout};
use crate::spec::recipe::Recipe;
use crate::spec::spacing::{Base, Spacing};

/// Specification of a sinusoidal encoding: plain data, checked by
/// [`Sinusoidal::new`](crate::Sinusoidal::new).
///
/// For pair `i` of `n` and position `p`
///
/// ```text
/// sin(p * base^(-e_i)),  cos(p * base^(-e_i))      e_i = 2i/d        Spacing::Paper
///                                                  e_i = i/(n-1)     Spacing::Inclusive
///                                                  e_i = i/(n-s)     Spacing::Shifted(s)
/// ```
///
/// The defaults are the paper's. [`Preset`](crate::Preset) lists the conventions of other
/// libraries.
///
/// ```
/// use pe_core::{SinusoidLayout, SinusoidalConfig, Spacing};
///
/// let paper = SinusoidalConfig::new(512);
/// let notebook = SinusoidalConfig {
///     layout: SinusoidLayout::Concatenated,
///     spacing: Spacing::Inclusive,
///     ..paper
/// };
/// assert_ne!(paper, notebook);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct SinusoidalConfig {
    /// Width of the encoding, 1 to [`MAX_D_MODEL`](crate::MAX_D_MODEL).
    pub d_model: usize,
    /// Base of the frequencies. Defaults to 10000.
    #[cfg_attr(feature = "serde", serde(default))]
    pub base: Base,
    /// Order of the columns.
    #[cfg_attr(feature = "serde", serde(default))]
    pub layout: SinusoidLayout,
    /// Spacing of the exponents of the base.
    #[cfg_attr(feature = "serde", serde(default))]
    pub spacing: Spacing,
    /// Treatment of odd widths.
    #[cfg_attr(feature = "serde", serde(default))]
    pub odd_width: OddWidth,
    /// Position with a row of zeros, the padding of fairseq and M2M100. They number real tokens
    /// from `padding_idx + 1`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub padding_idx: Option<u32>,
    /// Exact entries, or the entries of a named f32 recipe.
    #[cfg_attr(feature = "serde", serde(default))]
    pub recipe: Recipe,
}

impl SinusoidalConfig {
    /// Creates the paper's encoding of the given width.
    pub const fn new(d_model: usize) -> Self {
        Self {
            d_model,
            base: Base::Value(10000.0),
            layout: SinusoidLayout::Interleaved,
            spacing: Spacing::Paper,
            odd_width: OddWidth::Reject,
            padding_idx: None,
            recipe: Recipe::Exact,
        }
    }
}
