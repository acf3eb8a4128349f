//! Scalings of the frequencies for longer sequences.
//!
//! Each file implements one scaling twice: as the real formula, and with the roundings of
//! transformers' `ROPE_INIT_FUNCTIONS` (version 5.23). Python computes in f64, torch in f32. A
//! Python number that meets an f32 tensor is rounded to f32 first.

mod dynamic;
mod llama3;
mod longrope;
mod powers;
mod proportional;
mod yarn;

use crate::error::{Error, Result};
use crate::num::float::BigFloat;
use crate::num::real::Real;
use crate::spec::recipe::RotaryRecipe;
use crate::turns::count::count;

pub(crate) use dynamic::Quick;
pub use llama3::Llama3Scaling;
pub use longrope::LongRopeScaling;
pub use yarn::YarnScaling;

/// Change of the frequencies for longer sequences. Fields have the names of a model's
/// `config.json`.
///
/// With `f_i = base^(-2i / rotary_dim)`:
///
/// ```text
/// Default        f_i
/// Linear         f_i / factor
/// Dynamic        f_i of base x (factor x L/M - (factor - 1))^(d/(d-2)),  L = max(seq_len, M),
///                M = max_position_embeddings, d = rotary_dim
/// Yarn           between f_i and f_i / factor, by the number of turns in the trained length
/// LongRope       f_i / short_factor_i, or f_i / long_factor_i beyond the trained length
/// Llama3         between f_i and f_i / factor, by the number of turns in the trained length
/// Proportional   f_i / factor for the first pairs, 0 for the rest
/// Divided        f_i / divisor_i
/// Custom         caller-supplied
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RopeScaling {
    /// No scaling.
    #[default]
    Default,
    /// Divides all frequencies by one number, so that positions move closer together.
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Dynamic NTK: the base grows with the sequence length once that exceeds
    /// `max_position_embeddings`, which must be set.
    Dynamic {
        /// Growth rate of the base.
        factor: f64,
    },
    /// YaRN.
    Yarn(YarnScaling),
    /// LongRoPE (Phi-3 and later).
    #[cfg_attr(feature = "serde", serde(rename = "longrope"))]
    LongRope(LongRopeScaling),
    /// The scaling of Llama 3.1.
    Llama3(Llama3Scaling),
    /// Spreads the frequencies over the whole head and uses only the first (Gemma 4). `rotary_dim`
    /// is the width of the head.
    Proportional {
        /// Rotated fraction of the head, 0 to 1.
        partial_rotary_factor: f64,
        /// Divisor of the frequencies; 1 for none.
        factor: f64,
    },
    /// Divides each frequency by a number of its own: `rope_freqs.weight` of GGUF files.
    Divided {
        /// The divisors, one for each pair.
        divisors: Vec<f64>,
        /// Factor of the cosines and sines. With YaRN it multiplies YaRN's own.
        attention_factor: f64,
        /// Scaling before the division.
        #[cfg_attr(
            feature = "serde",
            serde(default, skip_serializing_if = "Option::is_none")
        )]
        yarn: Option<YarnScaling>,
    },
    /// Caller-supplied frequencies, used unchanged: in exact mode the exact value of each `f64`,
    /// with the recipe [`RotaryRecipe::HfF32`] the nearest `f32`. The base is not used.
    Custom {
        /// Radians per position, one for each pair. 0 leaves a pair unrotated.
        inv_freq: Vec<f64>,
        /// Factor of the cosines and sines.
        attention_factor: f64,
    },
}

impl RopeScaling {
    /// Returns the name used in `config.json`, in messages, and on command lines.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Linear { .. } => "linear",
            Self::Dynamic { .. } => "dynamic",
            Self::Yarn(_) => "yarn",
            Self::LongRope(_) => "longrope",
            Self::Llama3(_) => "llama3",
            Self::Proportional { .. } => "proportional",
            Self::Divided { .. } => "divided",
            Self::Custom { .. } => "custom",
        }
    }

    pub(crate) const fn depends_on_seq_len(&self) -> bool {
        matches!(self, Self::Dynamic { .. } | Self::LongRope(_))
    }

    /// Returns what computes the phases of a length at once, for dynamic scaling without roundings of
    /// transformers.
    pub(crate) fn quick(&self, recipe: RotaryRecipe, context: &Context) -> Option<Quick> {
        match (self, recipe) {
            (Self::Dynamic { factor }, RotaryRecipe::Exact) => Quick::new(*factor, context),
            _ => None,
        }
    }

    /// Returns the longest sequence that has the frequencies of the shortest one, or `None` if all
    /// sequences have the same.
    pub(crate) fn first_set_until(&self, max_position_embeddings: Option<usize>) -> Option<usize> {
        match self {
            Self::Dynamic { .. } => max_position_embeddings,
            Self::LongRope(longrope) => Some(longrope.original_max_position_embeddings),
            _ => None,
        }
    }
}

/// Frequencies computed by a scaling.
pub(crate) enum Set {
    /// Radians per position as real numbers.
    Exact(Vec<BigFloat>),
    /// Turns per position as real numbers.
    Turns(Vec<BigFloat>),
    /// Radians per position in f32, by a recipe.
    F32(Vec<f32>),
}

/// The part of the specification that every scaling needs.
#[derive(Clone)]
pub(crate) struct Context {
    /// Width in the exponents.
    pub(crate) rotary_dim: usize,
    pub(crate) pairs: usize,
    pub(crate) base: f64,
    pub(crate) max_position_embeddings: Option<usize>,
    pub(crate) seq_len: usize,
    /// ln(base), if it is known.
    pub(crate) ln_base: Option<Real>,
}

impl Context {
    fn pairs(&self) -> usize {
        self.pairs
    }

    /// Returns ln(base), which must be positive.
    fn ln_base(&self) -> Real {
        self.ln_base.unwrap_or_else(|| Real::from(self.base).ln())
    }

    /// Returns the unscaled frequencies `f_i`.
    fn exact_powers(&self) -> Result<Vec<Real>> {
        powers::exact(self.ln_base(), self.rotary_dim, self.pairs()).ok_or(Error::Frequency {
            base: self.base,
            pair: 1,
        })
    }

    /// Returns `base^(2i / rotary_dim)` in f32.
    fn f32_powers(&self) -> Vec<f32> {
        powers::f32(self.base as f32, self.rotary_dim, self.pairs())
    }
}

/// Returns the frequencies of dynamic scaling that [`Quick`] accepts, which are in range.
pub(crate) fn radians(scaling: &RopeScaling, context: &Context) -> Vec<BigFloat> {
    count();
    let set = exact(scaling, context).map(|(inv_freq, _)| inv_freq);
    set.unwrap_or_default()
        .into_iter()
        .map(Real::at_least_zero)
        .collect()
}

/// Returns the frequencies and the attention factor.
pub(crate) fn frequencies(
    scaling: &RopeScaling,
    recipe: RotaryRecipe,
    context: &Context,
) -> Result<(Set, Real)> {
    count();
    if let RopeScaling::Custom {
        inv_freq,
        attention_factor,
    } = scaling
    {
        return Ok((
            custom(recipe, inv_freq, *attention_factor, context)?,
            Real::from(*attention_factor),
        ));
    }
    positive("base", context.base)?;
    Ok(match recipe {
        RotaryRecipe::Exact => {
            let (inv_freq, factor) = exact(scaling, context)?;
            let inv_freq = inv_freq.into_iter().map(Real::at_least_zero).collect();
            (Set::Exact(inv_freq), factor)
        }
        RotaryRecipe::HfF32 => {
            positive("base in f32", f64::from(context.base as f32))?;
            let (inv_freq, factor) = f32(scaling, context)?;
            (Set::F32(inv_freq), Real::from(factor))
        }
    })
}

fn exact(scaling: &RopeScaling, context: &Context) -> Result<(Vec<Real>, Real)> {
    let one = Real::one();
    Ok(match scaling {
        RopeScaling::Default | RopeScaling::Custom { .. } => (context.exact_powers()?, one),
        RopeScaling::Linear { factor } => {
            positive("factor", *factor)?;
            let factor = Real::from(*factor);
            let powers = context.exact_powers()?;
            (powers.into_iter().map(|f| f / factor).collect(), one)
        }
        RopeScaling::Dynamic { factor } => (dynamic::exact(*factor, context)?, one),
        RopeScaling::Yarn(yarn) => yarn.exact(context)?,
        RopeScaling::LongRope(longrope) => longrope.exact(context)?,
        RopeScaling::Llama3(llama3) => (llama3.exact(context)?, one),
        RopeScaling::Proportional {
            partial_rotary_factor,
            factor,
        } => (
            proportional::exact(*partial_rotary_factor, *factor, context)?,
            one,
        ),
        RopeScaling::Divided {
            divisors,
            attention_factor,
            yarn,
        } => {
            check_divided(divisors, *attention_factor, context)?;
            let (inv_freq, derived) = match yarn {
                Some(yarn) => yarn.exact(context)?,
                None => (context.exact_powers()?, one),
            };
            let pairs = inv_freq.into_iter().zip(divisors);
            let divided = pairs.map(|(f, divisor)| f / Real::from(*divisor));
            (divided.collect(), derived * Real::from(*attention_factor))
        }
    })
}

fn f32(scaling: &RopeScaling, context: &Context) -> Result<(Vec<f32>, f64)> {
    let inverse = |powers: Vec<f32>| -> Vec<f32> { powers.iter().map(|p| 1.0 / p).collect() };
    Ok(match scaling {
        RopeScaling::Default | RopeScaling::Custom { .. } => (inverse(context.f32_powers()), 1.0),
        RopeScaling::Linear { factor } => {
            positive("factor", *factor)?;
            let inv_freq = inverse(context.f32_powers());
            let divided = inv_freq.iter().map(|f| f / *factor as f32).collect();
            (divided, 1.0)
        }
        RopeScaling::Dynamic { factor } => (inverse(dynamic::f32(*factor, context)?), 1.0),
        RopeScaling::Yarn(yarn) => yarn.f32(context)?,
        RopeScaling::LongRope(longrope) => longrope.f32(context)?,
        RopeScaling::Llama3(llama3) => (llama3.f32(context)?, 1.0),
        RopeScaling::Proportional {
            partial_rotary_factor,
            factor,
        } => (
            proportional::f32(*partial_rotary_factor, *factor, context)?,
            1.0,
        ),
        RopeScaling::Divided {
            divisors,
            attention_factor,
            yarn,
        } => {
            check_divided(divisors, *attention_factor, context)?;
            let (inv_freq, derived) = match yarn {
                Some(yarn) => yarn.f32(context)?,
                None => (inverse(context.f32_powers()), 1.0),
            };
            let pairs = inv_freq.into_iter().zip(divisors);
            let divided = pairs.map(|(f, divisor)| f / *divisor as f32);
            (divided.collect(), derived * attention_factor)
        }
    })
}

fn check_divided(divisors: &[f64], attention_factor: f64, context: &Context) -> Result<()> {
    list_length("divisors", divisors.len(), context.pairs())?;
    positive("attention_factor", attention_factor)?;
    let mut divisors = divisors.iter();
    divisors.try_for_each(|divisor| positive("a divisor", *divisor))
}

fn positive(name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::NotPositive { name, value })
}

/// Checks that a length in positions is at least 1.
fn length(name: &'static str, value: usize) -> Result<()> {
    positive(name, value as f64)
}

fn custom(
    recipe: RotaryRecipe,
    inv_freq: &[f64],
    attention_factor: f64,
    context: &Context,
) -> Result<Set> {
    list_length("inv_freq", inv_freq.len(), context.pairs())?;
    positive("attention_factor", attention_factor)?;
    for (pair, value) in inv_freq.iter().enumerate() {
        if !(value.is_finite() && *value >= 0.0) {
            let value = *value;
            return Err(Error::InvFreq { value, pair });
        }
    }
    Ok(match recipe {
        RotaryRecipe::Exact => {
            Set::Exact(inv_freq.iter().map(|f| BigFloat::from_f64(*f)).collect())
        }
        RotaryRecipe::HfF32 => Set::F32(inv_freq.iter().map(|f| *f as f32).collect()),
    })
}

fn list_length(name: &'static str, len: usize, pairs: usize) -> Result<()> {
    if len == pairs {
        return Ok(());
    }
    Err(Error::Length {
        name,
        len,
        expected: pairs as u64,
    })
}
