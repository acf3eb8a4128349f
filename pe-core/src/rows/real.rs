//! Single rows at real positions: the distance from the nearest quarter turn by fused operations.
//!
//! With a frequency in two f64 parts, three fused operations reduce an angle, for any position of an f64. Without such operations (a
//! processor with none) the angles of a row come from integers, one by one, for positions of at most 32 significant bits.
//! This is apart from rows at integer positions, so programs without real positions do not contain it.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use crate::rows::columns::{Columns, Out, PairSlices};
use crate::rows::lane::Lane;
use crate::rows::single::{self, Frequencies, Limbs};
use crate::sincos;
use crate::sincos::double_f64::RUN;
use crate::sincos::factor::Factor;
use crate::sincos::single_f64;
use crate::turns::position::Position;

/// Each frequency in quarter turns, as the sum of two f64 with an error of less than 2^-93, or 2^-104 of the frequency.
#[derive(Debug, Clone)]
pub(crate) struct Quarters {
    /// The first parts of all pairs, then the second.
    parts: Vec<f64>,
    /// The largest of them.
    largest: f64,
}

impl Quarters {
    pub(crate) fn new(limbs: &Limbs) -> Self {
        /// 53 bits are an exact f64.
        const BITS: u128 = (1 << 53) - 1;
        const UNIT: f64 = 1.0 / (1u64 << 51) as f64;
        let all = 0..limbs.pairs();
        let [complete, first, second, third] = [0, 1, 2, 3].map(|place| limbs.get(place, &all));
        let fractions = first.iter().zip(second.iter().zip(third));
        let parts = complete.iter().zip(fractions).map(|(complete, limbs)| {
            let (first, (second, third)) = limbs;
            let word = |limb: &u64| u128::from(*limb);
            let fraction = word(first) << 96 | word(second) << 64 | word(third) << 32;
            // Four quarters are a turn: 2 is added to the exponents.
            let complete = (complete << 2) as f64;
            let middle = (fraction >> 75) as u64 as f64 * UNIT;
            let low = (fraction >> 22 & BITS) as u64 as f64 * (UNIT / (1u64 << 53) as f64);
            let high = complete + middle;
            (high, middle - (high - complete) + low)
        });
        let (mut high, low): (Vec<f64>, Vec<f64>) = parts.unzip();
        let largest = high.iter().copied().fold(0.0, f64::max);
        high.extend(low);
        Self {
            parts: high,
            largest,
        }
    }

    /// Returns both parts of a run of pairs.
    #[inline(always)]
    fn run(&self, run: &Range<usize>) -> [&[f64]; 2] {
        let (high, low) = self.parts.split_at(self.parts.len() / 2);
        [&high[run.clone()], &low[run.clone()]]
    }

    /// Returns whether all products with a position are within the range of the fused operations.
    fn accept(&self, position: f64) -> bool {
        const MOST: f64 = (1u64 << 32) as f64;
        let size = position.abs();
        size <= MOST && size * self.largest <= single_f64::MOST_QUARTERS
    }
}

/// A position of at most 32 significant bits: `mantissa` / 2^`shift`.
#[derive(Clone, Copy)]
struct Short {
    negative: bool,
    mantissa: u32,
    shift: u32,
}

impl Short {
    /// Returns `None` for more significant bits, and for magnitudes of 2^32 or more or below 2^-96.
    fn new(position: f64) -> Option<Self> {
        let (negative, mantissa, exponent) = Position::Real(position).parts();
        let trailing = mantissa.trailing_zeros().min(63);
        let (mantissa, exponent) = (mantissa >> trailing, exponent + trailing as i32);
        let left = exponent.max(0).unsigned_abs();
        let mantissa = mantissa
            .checked_shl(left)
            .filter(|m| m >> left == mantissa)?;
        let shift = (-exponent).max(0).unsigned_abs();
        Some(Self {
            negative,
            mantissa: u32::try_from(mantissa).ok()?,
            shift: (shift < 96).then_some(shift)?,
        })
    }

    /// Writes the angles of a run of pairs, in units of 2^-64 turns: the limbs of the frequencies are shifted to the right instead of the
    /// position.
    fn angles(self, limbs: &Limbs, run: &Range<usize>, angles: &mut [u64]) {
        let (places, right) = ((self.shift / 32) as i32, self.shift % 32);
        let [above, high, middle, low] = [0, 1, 2, 3].map(|place| limbs.get(place - places, run));
        let times = |above: u64, limb: u64| {
            let shifted = (above << (32 - right) | limb >> right) & 0xffff_ffff;
            shifted * u64::from(self.mantissa)
        };
        let limbs = above.iter().zip(high).zip(middle.iter().zip(low));
        for (angle, ((above, high), (middle, low))) in angles.iter_mut().zip(limbs) {
            let sum = (times(*above, *high) << 32)
                .wrapping_add(times(*high, *middle))
                .wrapping_add(times(*middle, *low) >> 32);
            // The negative angle for a negative position.
            *angle = match self.negative {
                true => sum.wrapping_neg(),
                false => sum,
            };
        }
    }
}

/// Frequencies in the forms that rows at real positions need.
#[derive(Clone, Copy)]
pub(crate) struct Forms<'a> {
    pub(crate) frequencies: &'a Frequencies,
    pub(crate) limbs: &'a Limbs,
    pub(crate) quarters: &'a Quarters,
}

/// Writes the complete pairs of one row, multiplied by `factor`. Other columns are left unchanged.
/// Returns `false`, and writes nothing, for a factor or a position that lanes of this type do not accept.
pub(crate) fn fill_row<T: Lane>(
    arch: Arch,
    of: Forms<'_>,
    columns: &Columns,
    factor: &Factor,
    position: f64,
    row: Out<'_, T>,
) -> bool {
    let Some(error) = sincos::single_error(factor) else {
        return false;
    };
    let short = match arch {
        Arch::Scalar => Short::new(position),
        _ => None,
    };
    if short.is_none() && (matches!(arch, Arch::Scalar) || !of.quarters.accept(position)) {
        return false;
    }
    let (mut pairs, count) = (columns.split(row), columns.complete_pairs());
    for first in (0..count).step_by(RUN) {
        let run = first..count.min(first + RUN);
        let mut out = pairs.run(first, run.len());
        let failed = match short {
            Some(short) => {
                let mut angles = [0; RUN];
                let angles = &mut angles[..run.len()];
                short.angles(of.limbs, &run, angles);
                arch.dispatch(single::Run {
                    angles,
                    factor: factor.value,
                    error,
                    out: out.run(0, run.len()),
                })
            }
            None => arch.dispatch(Run {
                quarters: of.quarters.run(&run),
                position,
                factor: factor.value,
                error,
                out: out.run(0, run.len()),
            }),
        };
        if failed {
            let position = Position::Real(position);
            single::fill_by_ladder(&of.frequencies[run], factor, position, out);
        }
    }
    true
}

/// The sines and cosines of a run of pairs, multiplied by `factor`. Returns whether one failed the rounding test
/// (`rows::recurrence` explains why this is a structure).
struct Run<'a, T> {
    quarters: [&'a [f64]; 2],
    position: f64,
    factor: f64,
    error: f64,
    out: PairSlices<'a, T>,
}

impl<T: Lane> WithSimd for Run<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        if S::IS_SCALAR {
            // It has no fused operations.
            return true;
        }
        let [high, low] = self.quarters;
        let pairs = high.iter().zip(low).map(
            #[inline(always)]
            |(high, low)| {
                let pair = single_f64::sin_cos_of_quarters::<S>(self.position, [*high, *low]);
                pair.map(|value| value * self.factor)
            },
        );
        T::write(pairs, self.error, self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::float::BigFloat;
    use crate::round::SINGLE_ERROR;
    use crate::rows::writer::Rows;
    use crate::sincos::Rungs;
    use crate::spec::layout::{OddWidth, SinusoidLayout};
    use crate::turns::frequency::Frequency;

    /// Frequencies from 1e-9 to 3e9 radians per position.
    fn frequencies() -> Vec<Frequency> {
        let rates = [1e-9, 1e-4, 0.1, 0.77, 1.0, 6.3, 300.1, 1e6, 3e9];
        let of = |rate: &f64| Frequency::from_radians(BigFloat::from_f64(*rate));
        rates.iter().map(of).collect()
    }

    /// Positions with few and many significant bits, within the range of the fused operations and beyond.
    fn positions() -> Vec<f64> {
        let third = 1.0 / 3.0;
        let sizes = [1e-12, third, 0.75, 7.0, 500.37, 999.0 + third, 65_536.5];
        let large = [4e9 + third, 4_294_967_296.0, 4_294_967_296.5, 9e15];
        let all = sizes.into_iter().chain(large).flat_map(|t| [t, -t]);
        all.chain([0.0, -0.0]).collect()
    }

    #[test]
    fn fused_angles_stay_within_half_the_bound() {
        let (frequencies, mut seen) = (frequencies(), 0);
        for frequency in &frequencies {
            let quarters = Quarters::new(&Limbs::new(std::slice::from_ref(frequency)));
            for position in positions() {
                if !quarters.accept(position) {
                    continue;
                }
                let [high, low] = quarters.run(&(0..1)).map(|parts| parts[0]);
                let parts = [high, low];
                let found = single_f64::sin_cos_of_quarters::<pulp::Scalar128b>(position, parts);
                // Sines of zero are positive on every instruction set.
                assert!(found[0] != 0.0 || found[0].is_sign_positive(), "{position}");
                let real = Position::Real(position);
                let exact: [f64; 2] =
                    sincos::sin_cos(frequency, real, &Factor::ONE, Rungs::From128);
                for (found, exact) in found.iter().zip(exact) {
                    let error = (found - exact).abs();
                    assert!(
                        error < SINGLE_ERROR / 2.0,
                        "{high} {position}: {found} {exact}"
                    );
                }
                seen += 1;
            }
        }
        assert!((120..9 * 24).contains(&seen), "{seen}");
    }

    /// Beyond the range of either way of reduction the ladder decides.
    #[test]
    fn rows_at_any_position_are_exact() {
        let frequencies = frequencies();
        let width = 2 * frequencies.len();
        let columns = Columns::new(width, SinusoidLayout::Interleaved, OddWidth::Reject).unwrap();
        let (rows, positions) = (Rows::exact(frequencies.clone(), columns), positions());
        let mut found = vec![0f32; positions.len() * width];
        rows.fill_at_reals(&positions, Out::one(&mut found))
            .unwrap();
        let limbs = Limbs::new(&frequencies);
        for (position, row) in positions.iter().zip(found.chunks(width)) {
            for (pair, (frequency, found)) in frequencies.iter().zip(row.chunks(2)).enumerate() {
                let real = Position::Real(*position);
                let exact: [f32; 2] =
                    sincos::sin_cos(frequency, real, &Factor::ONE, Rungs::Only320);
                assert_eq!(found, exact, "{position:?} {pair}");
                // Without fused operations.
                if let Some(short) = Short::new(*position) {
                    let mut angle = [0];
                    short.angles(&limbs, &(pair..pair + 1), &mut angle);
                    let apart = single_f64::sin_cos::<pulp::Scalar>(angle[0]);
                    let near = |(a, b): (&f64, f32)| (a - f64::from(b)).abs() < 1e-7;
                    assert!(apart.iter().zip(exact).all(near), "{position:?} {pair}");
                }
            }
        }
    }
}
