//! LongRoPE: one divisor per pair, with separate lists for short and long sequences.

use super::{Context, length, list_length, positive};
use crate::error::{Error, Result};
use crate::num::real::Real;

/// Parameters of [`RopeScaling::LongRope`](crate::RopeScaling::LongRope).
///
/// The attention factor is the first of these that is present:
///
/// ```text
/// short_mscale or long_mscale (by length)
/// attention_factor
/// sqrt(1 + ln(factor) / ln(original_max_position_embeddings)),   1 if factor <= 1
/// ```
///
/// If not given, `factor` is `max_position_embeddings / original_max_position_embeddings`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct LongRopeScaling {
    /// Divisors of the frequencies up to `original_max_position_embeddings`, one per pair.
    pub short_factor: Vec<f64>,
    /// Divisors for longer sequences, one per pair.
    pub long_factor: Vec<f64>,
    /// Original training length.
    pub original_max_position_embeddings: usize,
    /// Ratio of the longest to the trained sequence length.
    #[cfg_attr(feature = "serde", serde(default))]
    pub factor: Option<f64>,
    /// Explicit attention factor.
    #[cfg_attr(feature = "serde", serde(default))]
    pub attention_factor: Option<f64>,
    /// Attention factor of short sequences (Phi-3.5-MoE).
    #[cfg_attr(feature = "serde", serde(default))]
    pub short_mscale: Option<f64>,
    /// Attention factor of long sequences.
    #[cfg_attr(feature = "serde", serde(default))]
    pub long_mscale: Option<f64>,
}

impl LongRopeScaling {
    /// Creates the scaling from two lists of divisors alone.
    pub const fn new(
        short_factor: Vec<f64>,
        long_factor: Vec<f64>,
        original_max_position_embeddings: usize,
    ) -> Self {
        Self {
            short_factor,
            long_factor,
            original_max_position_embeddings,
            factor: None,
            attention_factor: None,
            short_mscale: None,
            long_mscale: None,
        }
    }

    fn check(&self, context: &Context) -> Result<()> {
        let trained = self.original_max_position_embeddings;
        length("original_max_position_embeddings", trained)?;
        for (name, list) in [
            ("short_factor", &self.short_factor),
            ("long_factor", &self.long_factor),
        ] {
            list_length(name, list.len(), context.pairs())?;
            list.iter().try_for_each(|value| positive(name, *value))?;
        }
        for (name, value) in [
            ("factor", self.factor),
            ("attention_factor", self.attention_factor),
            ("short_mscale", self.short_mscale),
            ("long_mscale", self.long_mscale),
        ] {
            value.map_or(Ok(()), |value| positive(name, value))?;
        }
        Ok(())
    }

    fn is_long(&self, context: &Context) -> bool {
        context.seq_len > self.original_max_position_embeddings
    }

    fn divisors(&self, context: &Context) -> &[f64] {
        if self.is_long(context) {
            &self.long_factor
        } else {
            &self.short_factor
        }
    }

    /// Returns the attention factor if the configuration states it.
    fn stated_attention_factor(&self, context: &Context) -> Option<f64> {
        let by_length = if self.is_long(context) {
            self.long_mscale
        } else {
            self.short_mscale
        };
        by_length.or(self.attention_factor)
    }

    /// Returns the longest and the trained length, for a configuration without a factor.
    fn lengths(&self, context: &Context) -> Result<(usize, usize)> {
        let Some(longest) = context.max_position_embeddings else {
            let scaling = "longrope";
            return Err(Error::MissingLength { scaling });
        };
        length("max_position_embeddings", longest)?;
        // ln 1 = 0 would be a divisor.
        if self.original_max_position_embeddings == 1 {
            return Err(Error::NotAboveOne {
                name: "original_max_position_embeddings",
                value: 1.0,
                scaling: "longrope",
            });
        }
        Ok((longest, self.original_max_position_embeddings))
    }

    pub(super) fn exact(&self, context: &Context) -> Result<(Vec<Real>, Real)> {
        self.check(context)?;
        let divided = context
            .exact_powers()?
            .into_iter()
            .zip(self.divisors(context))
            .map(|(f, divisor)| f / Real::from(*divisor))
            .collect();
        if let Some(stated) = self.stated_attention_factor(context) {
            return Ok((divided, Real::from(stated)));
        }
        let of = |count: usize| Real::from(count as u64);
        let factor = match self.factor {
            Some(factor) => Real::from(factor),
            None => {
                let (longest, trained) = self.lengths(context)?;
                of(longest) / of(trained)
            }
        };
        let one = Real::one();
        if factor <= one {
            return Ok((divided, one));
        }
        let trained = of(self.original_max_position_embeddings);
        let derived = (one + factor.ln() / trained.ln()).sqrt();
        Ok((divided, derived.unwrap_or(one)))
    }

    pub(super) fn f32(&self, context: &Context) -> Result<(Vec<f32>, f64)> {
        self.check(context)?;
        let divided = context
            .f32_powers()
            .into_iter()
            .zip(self.divisors(context))
            .map(|(power, divisor)| 1.0 / (*divisor as f32 * power))
            .collect();
        if let Some(stated) = self.stated_attention_factor(context) {
            return Ok((divided, stated));
        }
        let factor = match self.factor {
            Some(factor) => factor,
            None => {
                let (longest, trained) = self.lengths(context)?;
                longest as f64 / trained as f64
            }
        };
        if factor <= 1.0 {
            return Ok((divided, 1.0));
        }
        let ln = |value: f64| Real::from(value).ln().to_f64();
        let square = 1.0 + ln(factor) / ln(self.original_max_position_embeddings as f64);
        Ok((divided, square.sqrt()))
    }
}
