//! The inexact numbers of well-known f32 recipes, made reproducible.
//!
//! Models trained with a reference's f32 table are sometimes wanted with its
//! numbers. A recipe rounds where the reference rounds: the frequency to f32, the
//! angle (position x frequency) to f32, the sine and cosine of that angle to
//! f32. The elementary functions in between are correctly rounded here, so the
//! result is the same on every machine.
//!
//! The references are not: their exp, pow, sin and cos change with library and
//! processor. Step by step they are close. torch's and NumPy's frequencies are within
//! 1 and 2 units in the last place of the recipe's (equal in 97 and 53 % of the pairs
//! or more), and their sine and cosine of an angle within 1. But where a frequency
//! does differ by a unit, the position multiplies the difference: up to 5e-4 (torch) and
//! 1e-3 (NumPy) at positions below 5,000. Where a frequency agrees, so does its
//! column, to one unit. For the very bits of one checkpoint, load the table from the
//! checkpoint (`pe_candle::checkpoint`).

use crate::error::{Error, Result};
use crate::round::Float;
use crate::sincos::{self, Rungs};
use crate::turns::frequency::{self, Base, Frequency, Spacing};
use crate::turns::position::Position;

/// Whether a table is exact or follows the f32 arithmetic of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Recipe {
    /// Every entry is the representable number nearest to the true value.
    #[default]
    Exact,
    /// `inv_freq = exp(k * c)` in f32, where with the paper's spacing `k = 2i`,
    /// `c = f32(-ln(base) / d)` (PyTorch's tutorial, labml), and with the inclusive
    /// one `k = i`, `c = f32(-ln(base) / (n - 1))` (fairseq, M2M100). Not defined
    /// for shifted spacing.
    ExpF32,
    /// `inv_freq = 1 / base^(2i / d)` in f32, as Hugging Face's transformers
    /// compute it. Defined for the paper's spacing.
    PowF32,
}

impl Recipe {
    /// The name used in messages and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::ExpF32 => "exp-f32",
            Self::PowF32 => "pow-f32",
        }
    }

    /// The f32 frequencies, or `None` for [`Recipe::Exact`].
    pub(crate) fn inv_freq(
        self,
        base: Base,
        spacing: Spacing,
        width: usize,
        pairs: usize,
    ) -> Result<Option<Vec<f32>>> {
        let undefined = Error::Recipe {
            recipe: self.name(),
            spacing: spacing.name(),
        };
        let frequencies = match (self, spacing) {
            (Self::Exact, _) => return Ok(None),
            (Self::ExpF32, Spacing::Paper) => exp_f32(base, 2.0, width, pairs)?,
            (Self::ExpF32, Spacing::Inclusive) => {
                exp_f32(base, 1.0, pairs.saturating_sub(1).max(1), pairs)?
            }
            (Self::PowF32, Spacing::Paper) => {
                let base = base.value() as f32;
                (0..pairs)
                    .map(|i| 1.0 / frequency::pow_f32(base, (2 * i) as f32 / width as f32))
                    .collect()
            }
            _ => return Err(undefined),
        };
        Ok(Some(frequencies))
    }
}

/// exp(k x c) with k = stride x i and c = -ln(base) / divisor, rounded to f64 twice
/// (logarithm and quotient, as Python does) and then to f32.
fn exp_f32(base: Base, stride: f32, divisor: usize, pairs: usize) -> Result<Vec<f32>> {
    let ln = frequency::ln_f64(base)?;
    let factor = (-ln / divisor as f64) as f32;
    Ok((0..pairs)
        .map(|i| frequency::exp_f32(i as f32 * stride * factor))
        .collect())
}

/// Sine and cosine of the f32 angle `position` x `inv_freq`, each correctly
/// rounded to f32 and from there to `T`. `radian` is the frequency of one radian
/// per position, under which an angle is its own position.
pub(crate) fn sin_cos<T: Float>(radian: &Frequency, inv_freq: f32, position: f64) -> (T, T) {
    let angle = position as f32 * inv_freq;
    let (sine, cosine) =
        sincos::sin_cos::<f32>(radian, Position::Real(f64::from(angle)), Rungs::Ladder);
    (T::rounded(f64::from(sine)), T::rounded(f64::from(cosine)))
}
