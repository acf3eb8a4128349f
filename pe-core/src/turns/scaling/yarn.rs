//! YaRN: fast pairs unchanged, slow pairs interpolated, a ramp in between (Peng et al., 2023).

use super::{Context, length, positive};
use crate::error::{Error, Result};
use crate::num::float::BigFloat;
use crate::num::real::Real;

/// Parameters of [`RopeScaling::Yarn`](crate::RopeScaling::Yarn).
///
/// Pair `i` completes `beta` turns within `M = original_max_position_embeddings` if
/// `i = c(beta) = d ln(M / (2 pi beta)) / (2 ln base)`. With `low = c(beta_fast)`,
/// `high = c(beta_slow)` (rounded down and up if `truncate`, then clamped to `0 .. d - 1`) and
/// `r_i = (i - low) / (high - low)` clamped to `0 .. 1`:
///
/// ```text
/// inv_freq_i = r_i f_i / factor + (1 - r_i) f_i
/// ```
///
/// The attention factor is `attention_factor` if given. Otherwise, with
/// `m(k) = 0.1 k ln(factor) + 1` (1 if factor <= 1), it is `m(mscale) / m(mscale_all_dim)` if both
/// are given and not 0, and `m(1)` if not.
///
/// ```
/// use pe_core::{RopeScaling, Rotary, RotaryConfig, YarnScaling};
///
/// // DeepSeek V3.
/// let scaling = RopeScaling::Yarn(YarnScaling {
///     mscale: Some(1.0),
///     mscale_all_dim: Some(1.0),
///     ..YarnScaling::new(40.0, 4096)
/// });
/// let rotary = Rotary::new(RotaryConfig { scaling, ..RotaryConfig::new(64) })?;
/// assert_eq!(rotary.frequencies(0)?.attention_factor(), 1.0);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct YarnScaling {
    /// Divisor of the frequencies of slow pairs.
    pub factor: f64,
    /// Original training length.
    pub original_max_position_embeddings: usize,
    /// Number of turns above which a pair is unchanged. Defaults to 32.
    #[cfg_attr(feature = "serde", serde(default = "default_beta_fast"))]
    pub beta_fast: f64,
    /// Number of turns below which a pair is divided by the whole factor. Defaults to 1.
    #[cfg_attr(feature = "serde", serde(default = "default_beta_slow"))]
    pub beta_slow: f64,
    /// Numerator of the derived attention factor.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mscale: Option<f64>,
    /// Denominator of the derived attention factor.
    #[cfg_attr(feature = "serde", serde(default))]
    pub mscale_all_dim: Option<f64>,
    /// Explicit attention factor.
    #[cfg_attr(feature = "serde", serde(default))]
    pub attention_factor: Option<f64>,
    /// Whether the ends of the ramp are rounded to integers. Defaults to true.
    #[cfg_attr(feature = "serde", serde(default = "default_truncate"))]
    pub truncate: bool,
}

#[cfg(feature = "serde")]
const fn default_beta_fast() -> f64 {
    32.0
}

#[cfg(feature = "serde")]
const fn default_beta_slow() -> f64 {
    1.0
}

#[cfg(feature = "serde")]
const fn default_truncate() -> bool {
    true
}

impl YarnScaling {
    /// Creates the paper's ramp from 32 turns to 1, with integer ends.
    pub const fn new(factor: f64, original_max_position_embeddings: usize) -> Self {
        Self {
            factor,
            original_max_position_embeddings,
            beta_fast: 32.0,
            beta_slow: 1.0,
            mscale: None,
            mscale_all_dim: None,
            attention_factor: None,
            truncate: true,
        }
    }

    fn check(&self, context: &Context) -> Result<()> {
        positive("factor", self.factor)?;
        positive("beta_fast", self.beta_fast)?;
        positive("beta_slow", self.beta_slow)?;
        length(
            "original_max_position_embeddings",
            self.original_max_position_embeddings,
        )?;
        if let Some(factor) = self.attention_factor {
            positive("attention_factor", factor)?;
        }
        for (name, value) in [
            ("mscale", self.mscale),
            ("mscale_all_dim", self.mscale_all_dim),
        ] {
            if let Some(value) = value.filter(|value| !(value.is_finite() && *value >= 0.0)) {
                return Err(Error::Negative { name, value });
            }
        }
        if self.beta_fast < self.beta_slow {
            return Err(Error::Below {
                name: "beta_fast",
                value: self.beta_fast,
                least_name: "beta_slow",
                least: self.beta_slow,
            });
        }
        // ln 1 = 0 would be a divisor, and a base below 1 would reverse the ramp.
        if context.base <= 1.0 {
            return Err(Error::NotAboveOne {
                name: "base",
                value: context.base,
                scaling: "yarn",
            });
        }
        Ok(())
    }

    /// Returns `mscale` and `mscale_all_dim` if both are given and nonzero.
    fn mscales(&self) -> Option<(f64, f64)> {
        let (mscale, all_dim) = self.mscale.zip(self.mscale_all_dim)?;
        (mscale != 0.0 && all_dim != 0.0).then_some((mscale, all_dim))
    }

    pub(super) fn exact(&self, context: &Context) -> Result<(Vec<Real>, Real)> {
        self.check(context)?;
        let of = |count: usize| Real::from(count as u64);
        let (zero, one) = (Real::from(BigFloat::ZERO), Real::one());
        let factor = Real::from(self.factor);
        let dim = of(context.rotary_dim);
        let ln_base = context.ln_base();
        let pair_with = |turns: f64| {
            let length = of(self.original_max_position_embeddings);
            let ratio = length / (Real::from(turns) * Real::two_pi());
            dim * ratio.ln() / (Real::from(2.0) * ln_base)
        };
        let (mut low, mut high) = (pair_with(self.beta_fast), pair_with(self.beta_slow));
        if self.truncate {
            (low, high) = (low.floor(), high.ceil());
        }
        (low, high) = (low.max(zero), high.min(dim - one));
        if low == high {
            high = high + one / Real::from(1000.0);
        }
        let ramp = |pair: usize| ((of(pair) - low) / (high - low)).max(zero).min(one);
        let inv_freq = context
            .exact_powers()?
            .into_iter()
            .enumerate()
            .map(|(pair, f)| {
                let slow = ramp(pair);
                f / factor * slow + f * (one - slow)
            })
            .collect();
        let m = |k: Real| {
            if factor <= one {
                return one;
            }
            k * factor.ln() / Real::from(10.0) + one
        };
        let attention_factor = match (self.attention_factor, self.mscales()) {
            (Some(stated), _) => Real::from(stated),
            (None, Some((mscale, all_dim))) if mscale != all_dim => {
                m(Real::from(mscale)) / m(Real::from(all_dim))
            }
            (None, Some(_)) => one,
            (None, None) => m(one),
        };
        Ok((inv_freq, attention_factor))
    }

    pub(super) fn f32(&self, context: &Context) -> Result<(Vec<f32>, f64)> {
        self.check(context)?;
        let ln = |value: f64| Real::from(value).ln().to_f64();
        let dim = context.rotary_dim as f64;
        let pair_with = |turns: f64| {
            let length = self.original_max_position_embeddings as f64;
            // In Python's order: (turns x 2) x pi.
            let ratio = length / (turns * 2.0 * std::f64::consts::PI);
            (dim * ln(ratio)) / (2.0 * ln(context.base))
        };
        let (mut low, mut high) = (pair_with(self.beta_fast), pair_with(self.beta_slow));
        if self.truncate {
            (low, high) = (low.floor(), high.ceil());
        }
        (low, high) = (low.max(0.0), high.min(dim - 1.0));
        if low == high {
            high += 0.001;
        }
        let inv_freq = context
            .f32_powers()
            .into_iter()
            .enumerate()
            .map(|(pair, power)| {
                let ramp = ((pair as f32 - low as f32) / (high - low) as f32).clamp(0.0, 1.0);
                let fast = 1.0 - ramp;
                1.0 / (self.factor as f32 * power) * (1.0 - fast) + 1.0 / power * fast
            })
            .collect();
        let m = |k: f64| {
            if self.factor <= 1.0 {
                return 1.0;
            }
            0.1 * k * ln(self.factor) + 1.0
        };
        let attention_factor = match (self.attention_factor, self.mscales()) {
            (Some(stated), _) => stated,
            (None, Some((mscale, all_dim))) => m(mscale) / m(all_dim),
            (None, None) => m(1.0),
        };
        Ok((inv_freq, attention_factor))
    }
}
