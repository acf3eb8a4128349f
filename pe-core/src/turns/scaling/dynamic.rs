//! Dynamic NTK: the base grows with the sequence.

use super::{Context, length, positive, powers};
use crate::error::{Error, Result};
use crate::num::float::BigFloat;
use crate::num::real::Real;
use crate::num::unit;
use crate::turns::phase::Phase;
use crate::turns::position::Position;

/// The part of the computation that does not depend on the length, for the phases of a length at once.
#[derive(Debug)]
pub(crate) struct Quick {
    /// M.
    trained: u64,
    /// The factor is `mantissa` / 2^`shift`.
    mantissa: u64,
    shift: u32,
    /// ln(base^(2 / d)) - 2 / (d - 2) x ln M, in units of 2^-120.
    constant: i128,
    /// 1 / (d - 2).
    inverse: u128,
    /// e, e (e + 1) / 2!, e (e + 1) (e + 2) / 3! ... with e = 2 / (d - 2), if that is below 1.
    binomials: Vec<u128>,
    pairs: usize,
}

/// Number of binomials: enough terms of growth by less than 2^-8 for 2^-120.
const TERMS: usize = 16;

/// Number of lengths after which a ratio is computed again instead of from the one before it.
const FROM_BEFORE: usize = 32;

impl Quick {
    /// Returns `None` for settings with frequencies that may rise, for factors that are not fractions of 64 bits, and for
    /// settings that [`exact`] rejects.
    pub(crate) fn new(factor: f64, context: &Context) -> Option<Self> {
        let (trained, _) = lengths(factor, context).ok()?;
        let (dim, of) = (context.rotary_dim, |count: usize| Real::from(count as u64));
        if factor < 1.0 || context.base < 1.0 || dim < 4 || context.pairs > 4096 {
            return None;
        }
        let (_, mantissa, exponent) = Position::Real(factor).parts();
        let odd = mantissa >> mantissa.trailing_zeros();
        let exponent = exponent + mantissa.trailing_zeros() as i32;
        let left = exponent.max(0).unsigned_abs();
        let mantissa = odd.checked_shl(left).filter(|m| m >> left == odd)?;
        let two = Real::from(2.0);
        let constant = context.ln_base() * two / of(dim) - of(trained).ln() * two / of(dim - 2);
        // Below 2^7 in magnitude, so that sums fit.
        if constant.size.exponent > 7 {
            return None;
        }
        let size = unit::fixed(constant, unit::LN_BITS) as i128;
        let inverse = unit::ratio(1, dim as u64 - 2);
        let mut binomials = Vec::new();
        if let Some(e) = inverse.checked_mul(2) {
            let next = |n: u64, term| {
                let share = unit::ratio(n, n + 1) + unit::mul(e, unit::ratio(1, n + 1));
                unit::mul(term, share)
            };
            let first = Some((1, e));
            let all = std::iter::successors(first, |(n, term)| Some((n + 1, next(*n, *term))));
            binomials.extend(all.take(TERMS).map(|(_, term)| term));
        }
        Some(Self {
            trained: trained as u64,
            mantissa,
            shift: (-exponent).max(0).unsigned_abs(),
            constant: if constant.negative { -size } else { size },
            inverse,
            binomials,
            pairs: context.pairs,
        })
    }

    /// Returns the phase of each pair after one position, with an error below 2^-100 turns, for a length of at least
    /// the trained one. Returns `None` for a length beyond its range.
    ///
    /// The errors: of the logarithms and the constant together below 2^9 units of 2^-120, which is 2^-111 of
    /// the ratio and 2^-99 x 1 / (2 pi) of its 4096th power. Each product adds less than 2^-126.
    pub(crate) fn phases(&self, length: usize) -> Option<Vec<Phase>> {
        let mut phases = vec![Phase(0); self.pairs];
        powers(self.ratio(length)?, &mut phases);
        Some(phases)
    }

    /// Returns the phases of lengths that follow each other.
    pub(crate) fn steps(&self) -> Steps<'_> {
        Steps {
            quick: self,
            phases: vec![Phase(0); self.pairs],
            before: None,
        }
    }

    /// Returns growth x M = factor x L - (factor - 1) x M = M + factor x (L - M), in units of 2^-shift.
    fn grown(&self, length: usize) -> Option<u128> {
        let longer = (length as u64).checked_sub(self.trained)?;
        let factor = u128::from(self.mantissa) * u128::from(longer);
        factor.checked_add(u128::from(self.trained) << self.shift)
    }

    /// Returns the ratio of neighboring frequencies.
    fn ratio(&self, length: usize) -> Option<u128> {
        let grown = self.grown(length)?;
        let bits = (u128::BITS - grown.leading_zeros()).checked_sub(self.shift)?;
        if !(1..=100).contains(&bits) {
            return None;
        }
        let ln = 2 * unit::ln(grown << grown.leading_zeros(), bits);
        let ln = unit::mul(ln, self.inverse);
        let exponent = self.constant.checked_add(i128::try_from(ln).ok()?)?;
        if !(1..8 << unit::LN_BITS).contains(&exponent) {
            return None;
        }
        Some(unit::exp_of_negative(exponent.unsigned_abs())).filter(|ratio| *ratio > 0)
    }

    /// Returns the ratio of a length from that of the length before it, with an error of at most 2^-119 of the ratio
    /// more. Returns `None` for growth by 2^-8 and more, and for lengths beyond its range.
    ///
    /// The base grows by 1 + x, and the ratio by (1 + x)^-e = 1 - e x + e (e + 1) / 2! x^2 - ...
    fn next_ratio(&self, before: u128, length: usize) -> Option<u128> {
        let grown = u64::try_from(self.grown(length.checked_sub(1)?)?).ok()?;
        if self.binomials.is_empty() || self.mantissa >= grown >> 8 {
            return None;
        }
        let x = unit::ratio(self.mantissa, grown);
        // The first omitted term is below 2^-120. x is below 2^-8, so that 16 terms are enough.
        let terms = 120 / x.leading_zeros() as usize + 1;
        let square = unit::mul(x, x);
        let (mut even, mut odd) = (0, 0);
        for pair in self.binomials[..terms.next_multiple_of(2)].chunks(2).rev() {
            even = unit::mul_nearly(even, square) + pair[0];
            odd = unit::mul_nearly(odd, square) + pair[1];
        }
        let loss = unit::mul(x, even) - unit::mul(square, odd);
        Some(before - unit::mul(before, loss)).filter(|ratio| *ratio > 0)
    }
}

/// The phases of lengths that follow each other.
pub(crate) struct Steps<'a> {
    quick: &'a Quick,
    phases: Vec<Phase>,
    /// The ratio of the length before, if there was one.
    before: Option<u128>,
}

impl Steps<'_> {
    /// Does the same as [`Quick::phases`]. The length must be the next one after that of the last call.
    pub(crate) fn phases(&mut self, length: usize) -> Option<&[Phase]> {
        let again = length.is_multiple_of(FROM_BEFORE);
        let before = self.before.filter(|_| !again);
        let next = before.and_then(|before| self.quick.next_ratio(before, length));
        self.before = next.or_else(|| self.quick.ratio(length));
        powers(self.before?, &mut self.phases);
        Some(&self.phases)
    }
}

/// Writes the phases of frequencies in the ratio given, starting at one radian.
fn powers(ratio: u128, phases: &mut [Phase]) {
    // Four pairs at a time, because each product waits for the one before it.
    let mut four = [Phase::from_wide(BigFloat::inv_two_pi()).0; 4];
    for place in 1..4 {
        four[place] = unit::mul(four[place - 1], ratio);
    }
    let square = unit::mul(ratio, ratio);
    let step = unit::mul(square, square);
    for out in phases.chunks_mut(4) {
        for (out, phase) in out.iter_mut().zip(&mut four) {
            out.0 = *phase;
            *phase = unit::mul_nearly(*phase, step);
        }
    }
}

/// Returns (M, L): the trained length, and the effective length.
fn lengths(factor: f64, context: &Context) -> Result<(usize, usize)> {
    positive("factor", factor)?;
    if context.rotary_dim == 2 {
        // d / (d - 2).
        return Err(Error::DynamicWidth);
    }
    let Some(trained) = context.max_position_embeddings else {
        let scaling = "dynamic";
        return Err(Error::MissingLength { scaling });
    };
    length("max_position_embeddings", trained)?;
    Ok((trained, context.seq_len.max(trained)))
}

pub(super) fn exact(factor: f64, context: &Context) -> Result<Vec<Real>> {
    let (trained, length) = lengths(factor, context)?;
    let of = |count: usize| Real::from(count as u64);
    let (factor, dim) = (Real::from(factor), context.rotary_dim);
    let growth = factor * of(length) / of(trained) - (factor - Real::one());
    let ln_base = context.ln_base() + growth.ln() * of(dim) / of(dim - 2);
    powers::exact(ln_base, dim, context.pairs()).ok_or(Error::Frequency {
        base: context.base,
        pair: 1,
    })
}

/// Returns the powers of the base, which Python computes in f64 with four roundings.
pub(super) fn f32(factor: f64, context: &Context) -> Result<Vec<f32>> {
    let (trained, length) = lengths(factor, context)?;
    let dim = context.rotary_dim;
    let growth = factor * length as f64 / trained as f64 - (factor - 1.0);
    positive("the growth of the base", growth)?;
    let exponent = dim as f64 / (dim - 2) as f64;
    let power = (Real::from(growth).ln() * Real::from(exponent)).exp();
    let base = context.base * power.map_or(f64::INFINITY, Real::to_f64);
    positive("base in f32", f64::from(base as f32))?;
    Ok(powers::f32(base as f32, dim, context.pairs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turns::frequency::Frequency;

    #[test]
    fn phases_at_once_are_those_of_wide_frequencies() {
        let mut compared = 0;
        for (dim, pairs) in [(4, 2), (6, 3), (21, 11), (64, 32), (128, 64), (1024, 512)] {
            for base in [1.0, 1.5, 100.0, 10_000.0, 5e6, 1e30] {
                for factor in [1.0, 1.5, 4.0, 1000.0] {
                    for length in [1024, 1025, 2000, 131_072, 1 << 32] {
                        let context = Context {
                            rotary_dim: dim,
                            pairs,
                            base,
                            max_position_embeddings: Some(1024),
                            seq_len: length,
                            ln_base: None,
                        };
                        let quick = Quick::new(factor, &context).unwrap();
                        let Some(phases) = quick.phases(length) else {
                            // Exponents of 8 and more, and of 0.
                            assert!(dim < 64 || base == 1.0, "{dim} {base} {length}");
                            continue;
                        };
                        let exact = exact(factor, &context).unwrap();
                        for (pair, (phase, radians)) in phases.iter().zip(exact).enumerate() {
                            let wanted = Frequency::from_radians(radians.size).phase.0;
                            let off = phase.0.abs_diff(wanted);
                            let about = format!("{dim} {base} {factor} {length} {pair}");
                            assert!(off < 1 << 28, "{about}: off by {off} x 2^-128");
                            compared += 1;
                        }
                    }
                }
            }
        }
        assert!(compared > 50_000, "{compared}");
    }

    #[test]
    fn ratios_from_the_one_before_are_those_of_their_length() {
        let (mut compared, mut from_before) = (0, 0);
        for (dim, factor, base) in [
            (5, 4.0, 1e4),
            (64, 1.5, 5e6),
            (128, 4.0, 1e4),
            (1024, 0.1 + 1.0, 1e4),
        ] {
            for start in [1024, 1100, 5000, 131_071, 1 << 31] {
                let context = Context {
                    rotary_dim: dim,
                    pairs: dim / 2,
                    base,
                    max_position_embeddings: Some(1024),
                    seq_len: start,
                    ln_base: None,
                };
                let quick = Quick::new(factor, &context).unwrap();
                let mut steps = quick.steps();
                for length in start..start + 70 {
                    let (found, wanted) = (
                        steps.phases(length).map(<[_]>::to_vec),
                        quick.phases(length),
                    );
                    assert_eq!(found.is_some(), wanted.is_some());
                    for (found, wanted) in found.iter().flatten().zip(wanted.iter().flatten()) {
                        let off = found.0.abs_diff(wanted.0);
                        assert!(
                            off < 1 << 27,
                            "{dim} {factor} {length}: off by {off} x 2^-128"
                        );
                        compared += 1;
                    }
                    // The ratios themselves, which later powers hide.
                    let before = (length > start).then(|| quick.ratio(length - 1)).flatten();
                    let next = before.and_then(|before| quick.next_ratio(before, length));
                    if let (Some(next), Some(ratio)) = (next, quick.ratio(length)) {
                        let off = next.abs_diff(ratio);
                        assert!(off < 1 << 18, "{dim} {factor} {length}: ratio off by {off}");
                        from_before += 1;
                    }
                }
            }
        }
        assert!(
            compared > 100_000 && from_before > 500,
            "{compared} {from_before}"
        );
    }

    #[test]
    fn settings_of_rising_frequencies_are_left_to_wide_numbers() {
        let context = |base, rotary_dim| Context {
            rotary_dim,
            pairs: 4,
            base,
            max_position_embeddings: Some(64),
            seq_len: 65,
            ln_base: None,
        };
        assert!(Quick::new(2.0, &context(10.0, 8)).is_some());
        assert!(Quick::new(0.99, &context(10.0, 8)).is_none());
        assert!(Quick::new(2.0, &context(0.99, 8)).is_none());
        assert!(Quick::new(2.0, &context(10.0, 2)).is_none());
        assert!(Quick::new(1e200, &context(10.0, 8)).is_none());
        assert!(Quick::new((1u64 << 63) as f64, &context(10.0, 8)).is_some());
        assert!(Quick::new((1u128 << 64) as f64, &context(10.0, 8)).is_none());
        assert!(
            Quick::new(1e18, &context(1.0, 8))
                .unwrap()
                .phases(65)
                .is_none()
        );
    }
}
