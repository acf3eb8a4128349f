//! The scaling of Llama 3.1: slow pairs are interpolated, fast pairs are unchanged.

use super::{Context, length, positive};
use crate::error::{Error, Result};
use crate::num::real::Real;

/// Parameters of [`RopeScaling::Llama3`](crate::RopeScaling::Llama3).
///
/// With `t_i` the number of turns of pair `i` within `original_max_position_embeddings`, and
/// `s = (t_i - low) / (high - low)`:
///
/// ```text
/// f_i                            where t_i >= high_freq_factor
/// f_i / factor                   where t_i < low_freq_factor
/// (1 - s) f_i / factor + s f_i   in between
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Llama3Scaling {
    /// Divisor of the frequencies of slow pairs; 8 in Llama 3.1.
    pub factor: f64,
    /// Number of turns below which a pair is slow; 1 in Llama 3.1.
    pub low_freq_factor: f64,
    /// Number of turns above which a pair is fast; 4 in Llama 3.1.
    pub high_freq_factor: f64,
    /// Original training length; 8192 in Llama 3.1.
    pub original_max_position_embeddings: usize,
}

impl Llama3Scaling {
    fn check(&self) -> Result<()> {
        positive("factor", self.factor)?;
        positive("low_freq_factor", self.low_freq_factor)?;
        positive("high_freq_factor", self.high_freq_factor)?;
        length(
            "original_max_position_embeddings",
            self.original_max_position_embeddings,
        )?;
        // Equal factors leave no range in between. Llama 4 has them.
        if self.high_freq_factor >= self.low_freq_factor {
            return Ok(());
        }
        Err(Error::Below {
            name: "high_freq_factor",
            value: self.high_freq_factor,
            least_name: "low_freq_factor",
            least: self.low_freq_factor,
        })
    }

    pub(super) fn exact(&self, context: &Context) -> Result<Vec<Real>> {
        self.check()?;
        let trained = Real::from(self.original_max_position_embeddings as u64);
        let factor = Real::from(self.factor);
        let (low, high) = (
            Real::from(self.low_freq_factor),
            Real::from(self.high_freq_factor),
        );
        let per_radian = trained / Real::two_pi();
        let scale = |f: Real| {
            let turns = f * per_radian;
            if turns >= high {
                f
            } else if turns < low {
                f / factor
            } else {
                let smooth = (turns - low) / (high - low);
                (Real::one() - smooth) * f / factor + smooth * f
            }
        };
        Ok(context.exact_powers()?.into_iter().map(scale).collect())
    }

    pub(super) fn f32(&self, context: &Context) -> Result<Vec<f32>> {
        self.check()?;
        let trained = self.original_max_position_embeddings as f64;
        let (low, high) = (self.low_freq_factor, self.high_freq_factor);
        let longest = (trained / low) as f32;
        let shortest = (trained / high) as f32;
        let factor = self.factor as f32;
        let scale = |power: f32| {
            let f = 1.0 / power;
            // torch divides a number by a tensor as the tensor's reciprocal times the number.
            let wavelength = (1.0 / f) * std::f32::consts::TAU;
            if wavelength > longest {
                f / factor
            } else if wavelength < shortest || low == high {
                f
            } else {
                let turns = (1.0 / wavelength) * trained as f32;
                let smooth = (turns - low as f32) / (high - low) as f32;
                (1.0 - smooth) * f / factor + smooth * f
            }
        };
        Ok(context.f32_powers().into_iter().map(scale).collect())
    }
}
