//! The scalings by which models are made to read longer sequences.

use super::frequencies::{RotaryFrequencies, Set};
use super::{RotaryConfig, RotaryRecipe};
use crate::error::{Error, Result};
use crate::frequency::{self, Base, Spacing};
use crate::wide::Wide;

/// How frequencies are changed for longer sequences. Fields have the names that
/// they have in a model's `config.json`.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RopeScaling {
    /// No scaling: `base^(-2i / rotary_dim)`.
    #[default]
    Default,
    /// All frequencies divided by one number, so that positions seem closer together.
    Linear {
        /// The divisor.
        factor: f64,
    },
    /// Frequencies given by the caller, taken bit for bit: in exact mode the exact value
    /// of each `f64`, with the recipe [`RotaryRecipe::HfF32`] the nearest `f32`.
    /// The base is not used.
    Custom {
        /// Radians per position, one for each pair; 0 leaves a pair unrotated.
        inv_freq: Vec<f64>,
        /// What cosines and sines are multiplied by.
        attention_factor: f64,
    },
}

impl RopeScaling {
    /// The name used in `config.json`, in messages and on command lines.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Linear { .. } => "linear",
            Self::Custom { .. } => "custom",
        }
    }

    pub(super) const fn depends_on_seq_len(&self) -> bool {
        false
    }

    /// Whether the frequencies at `seq_len` are those at length 0.
    pub(super) fn holds_for_all_up_to(&self, _: &RotaryConfig, _: usize) -> bool {
        !self.depends_on_seq_len()
    }
}

/// The frequencies at a sequence length.
pub(super) fn frequencies(config: &RotaryConfig, _seq_len: usize) -> Result<RotaryFrequencies> {
    let pairs = config.rotary_dim / 2;
    match &config.scaling {
        RopeScaling::Custom {
            inv_freq,
            attention_factor,
        } => custom(config.recipe, pairs, inv_freq, *attention_factor),
        RopeScaling::Default => powers(config, 1.0),
        RopeScaling::Linear { factor } => {
            positive("factor", *factor)?;
            powers(config, *factor)
        }
    }
}

pub(super) fn positive(name: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::Base { name, value })
    }
}

fn powers(config: &RotaryConfig, factor: f64) -> Result<RotaryFrequencies> {
    let (width, base) = (config.rotary_dim, Base::Value(config.base));
    let exact = frequency::geometric(base, Spacing::Paper, width, width / 2)?;
    match config.recipe {
        RotaryRecipe::Exact if factor == 1.0 => {
            let radians = exact.iter().map(|f| f.wide.mul(Wide::two_pi())).collect();
            RotaryFrequencies::new(Set::Exact(radians), 1.0)
        }
        _ => Err(Error::Undefined {
            what: "this scaling",
            why: "a version under construction",
        }),
    }
}

fn custom(
    recipe: RotaryRecipe,
    pairs: usize,
    inv_freq: &[f64],
    attention_factor: f64,
) -> Result<RotaryFrequencies> {
    if inv_freq.len() != pairs {
        return Err(Error::Length {
            what: "inv_freq",
            actual: inv_freq.len(),
            expected: pairs as u64,
        });
    }
    positive("attention_factor", attention_factor)?;
    for (pair, value) in inv_freq.iter().enumerate() {
        if !(value.is_finite() && *value >= 0.0) {
            return Err(Error::InvFreq {
                value: *value,
                pair,
            });
        }
    }
    let set = match recipe {
        RotaryRecipe::Exact => Set::Exact(inv_freq.iter().map(|f| Wide::from_f64(*f)).collect()),
        RotaryRecipe::HfF32 => Set::F32(inv_freq.iter().map(|f| *f as f32).collect()),
    };
    RotaryFrequencies::new(set, attention_factor)
}
