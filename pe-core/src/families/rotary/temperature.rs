//! Temperature of the attention scores: factors of queries that depend on the position.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::num::real::Real;
use crate::round::{magnitude, nearest};
use crate::rows::element::Element;
use crate::table::Table;
use crate::turns::position::check_range;

/// Factor of the attention scores, which keeps attention sharp over long contexts. Queries are multiplied by
/// it before their product with the keys.
///
/// ```text
/// Llama4      1 + attn_scale x ln(1 + floor((p + 1) / floor_scale))
/// Ministral3  1 + llama_4_scaling_beta x ln(1 + floor(p / original_max_position_embeddings))
/// Mscale      (1 + 0.1 x mscale_all_dim x ln(factor))^2,   1 if factor <= 1
/// ```
///
/// `p` is the position of the query. Llama 4 scales the layers without rotary embedding (M. Nakanishi:
/// "Scalable-Softmax Is Superior for Attention", 2025), Ministral 3 and Mistral 4 all layers. `Mscale` is
/// the factor of the softmax scale in DeepSeek V2 and V3, the same at all positions. Cosines and sines
/// have an attention factor of their own
/// ([`attention_factor`](crate::RotaryFrequencies::attention_factor)).
///
/// Every factor is the value of `T` nearest to the formula, of the exact values of the parameters.
/// transformers computes the formulas in f32, and beyond 2^24 rounds the position first.
///
/// ```
/// use pe_core::ScoreTemperature;
///
/// let llama4 = ScoreTemperature::Llama4 { attn_scale: 0.1, floor_scale: 8192 };
/// let factors = llama4.factors::<f32>(8190..8193)?;
/// assert_eq!(factors, [1.0, 1.0693147, 1.0693147]); // 1 + 0.1 ln 2
///
/// let deepseek = ScoreTemperature::Mscale { factor: 40.0, mscale_all_dim: 1.0 };
/// let softmax_scale = deepseek.factor::<f64>(0)? / 192f64.sqrt();
/// # assert!((softmax_scale - 0.135234).abs() < 1e-6);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ScoreTemperature {
    /// Llama 4. The fields have the names of its `config.json`.
    Llama4 {
        /// Factor of the logarithm, at least 0; 0.1 in Llama 4.
        attn_scale: f64,
        /// Number of positions of a step, at least 1; 8192 in Llama 4.
        floor_scale: usize,
    },
    /// Ministral 3 and Mistral 4. The fields have the names of their `rope_parameters`.
    Ministral3 {
        /// Factor of the logarithm, at least 0; 0.1 in the released models.
        llama_4_scaling_beta: f64,
        /// Number of positions of a step, at least 1: the original training length.
        original_max_position_embeddings: usize,
    },
    /// DeepSeek V2 and V3, with YaRN.
    Mscale {
        /// Factor of [`YarnScaling`](crate::YarnScaling).
        factor: f64,
        /// Field of the same name of [`YarnScaling`](crate::YarnScaling).
        mscale_all_dim: f64,
    },
}

/// A checked temperature: `constant`, or 1 + `scale` x ln(1 + floor((p + shift) / step)).
#[derive(Clone, Copy)]
enum Formula {
    Constant(Real),
    Steps { scale: f64, step: u64, shift: u64 },
}

impl Formula {
    /// Returns the number of complete steps before a position.
    fn steps(self, position: u32) -> u64 {
        match self {
            Self::Constant(_) => 0,
            Self::Steps { step, shift, .. } => (u64::from(position) + shift) / step,
        }
    }

    /// Returns the factor after a number of steps.
    fn after<T: Element>(self, steps: u64) -> T {
        let value = match self {
            Self::Constant(value) => value,
            Self::Steps { scale, .. } => {
                Real::one() + Real::from(scale) * Real::from(steps + 1).ln()
            }
        };
        nearest(value.negative, magnitude(value.size))
    }
}

impl ScoreTemperature {
    /// Returns the factor at a position.
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range.
    pub fn factor<T: Element>(&self, position: u32) -> Result<T> {
        let formula = self.formula()?;
        Ok(formula.after(formula.steps(position)))
    }

    /// Returns the factors of the positions `start .. end`.
    ///
    /// # Errors
    /// Returns an error if
    /// - a parameter is out of range,
    /// - the range descends or ends above 2^32,
    /// - the factors exceed [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or memory is exhausted.
    pub fn factors<T: Element>(&self, positions: Range<u64>) -> Result<Vec<T>> {
        let formula = self.formula()?;
        check_range(&positions)?;
        let mut out = Table::zeros(positions.end - positions.start, 1)?.into_vec();
        let mut known = (0, formula.after(0));
        for (out, position) in out.iter_mut().zip(positions) {
            let steps = formula.steps(position as u32);
            if steps != known.0 {
                known = (steps, formula.after(steps));
            }
            *out = known.1;
        }
        Ok(out)
    }

    /// Returns the factors of any positions in any order.
    ///
    /// ```
    /// use pe_core::ScoreTemperature;
    ///
    /// let ministral3 = ScoreTemperature::Ministral3 {
    ///     llama_4_scaling_beta: 0.1,
    ///     original_max_position_embeddings: 16384,
    /// };
    /// assert_eq!(ministral3.factors_at::<f32>(&[16384, 16383])?, [1.0693147, 1.0]);
    /// # Ok::<(), pe_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a parameter is out of range, if the factors exceed
    /// [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES), or if memory is exhausted.
    pub fn factors_at<T: Element>(&self, positions: &[u32]) -> Result<Vec<T>> {
        let formula = self.formula()?;
        let mut out = Table::zeros(positions.len() as u64, 1)?.into_vec();
        let mut known = HashMap::new();
        for (out, position) in out.iter_mut().zip(positions) {
            let steps = formula.steps(*position);
            *out = *known.entry(steps).or_insert_with(|| formula.after(steps));
        }
        Ok(out)
    }

    fn formula(&self) -> Result<Formula> {
        let at_least_zero = |name, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(value),
            false => Err(Error::Negative { name, value }),
        };
        let steps = |name, scale, of: &'static str, step: usize, shift| {
            if step == 0 {
                let value = 0.0;
                return Err(Error::NotPositive { name: of, value });
            }
            let scale = at_least_zero(name, scale)?;
            let step = step as u64;
            Ok(Formula::Steps { scale, step, shift })
        };
        match *self {
            Self::Llama4 {
                attn_scale,
                floor_scale,
            } => steps("attn_scale", attn_scale, "floor_scale", floor_scale, 1),
            Self::Ministral3 {
                llama_4_scaling_beta,
                original_max_position_embeddings,
            } => steps(
                "llama_4_scaling_beta",
                llama_4_scaling_beta,
                "original_max_position_embeddings",
                original_max_position_embeddings,
                0,
            ),
            Self::Mscale {
                factor,
                mscale_all_dim,
            } => {
                if !(factor.is_finite() && factor > 0.0) {
                    let name = "factor";
                    return Err(Error::NotPositive {
                        name,
                        value: factor,
                    });
                }
                let mscale = Real::from(at_least_zero("mscale_all_dim", mscale_all_dim)?);
                let one = Real::one();
                if factor <= 1.0 {
                    return Ok(Formula::Constant(one));
                }
                let root = mscale * Real::from(factor).ln() / Real::from(10.0) + one;
                Ok(Formula::Constant(root * root))
            }
        }
    }
}
