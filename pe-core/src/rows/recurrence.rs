//! Consecutive rows by recurrence, which computes most entries.
//!
//! The pair (sin, cos) at position `a + b` follows from the pairs at `a` and `b` by angle addition.
//! A block of 32 rows needs the pairs at its middle (the *seeds*) and those at 1/2, 3/2 ... 31/2
//! positions (the *fine table*, computed once per call). Mirrored rows, at equal distances before
//! and after the middle, share their products:
//!
//! ```text
//! sin(a ± b) = sin a cos b ± cos a sin b      cos(a ± b) = cos a cos b ∓ sin a sin b
//! ```
//!
//! so each entry costs one multiplication and one addition. The recurrence advances the seeds from
//! block to block in about 80 bits. [`double_f64`] recomputes them periodically, before their
//! errors add up.
//!
//! Every entry is tested: its value plus and minus the error bound must round to the same float.
//! The ladder of [`sincos`] recomputes the hard cases, so the bits depend neither on how rows are
//! cut into blocks nor on the instruction set.

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};

use crate::round::SINGLE_ERROR;
use crate::rows::columns::{Columns, MirroredSlices};
use crate::rows::lane::{Failures, Lane, RecurrenceRun};
use crate::sincos::double_f64;
use crate::sincos::double_f64::RUN;
use crate::sincos::hi_lo::Angles;
use crate::sincos::scaled;
use crate::sincos::{self, Rungs};
use crate::turns::frequency::Frequency;
use crate::turns::phase::Phase;
use crate::turns::position::Position;

/// Number of rows that share their seeds.
pub(crate) const BLOCK: usize = 32;
const HALF: usize = BLOCK / 2;

/// Returns the number of blocks after which the seeds are recomputed.
///
/// Errors are vectors (of the sine, of the cosine), and angle addition keeps their lengths. With e
/// = [`PRECISE_ERROR`](double_f64::PRECISE_ERROR), 2^-76, recomputed seeds have an error of 1.5 e,
/// and each addition contributes 1.5 e for its step and 1.5 e of its own. In f64 tables the seeds
/// have been advanced up to 15 times and the fine table 15 times: below 1.5 (2 + 2 x 30) e <
/// 2^-69.4, and the last addition stays within
/// [`DOUBLE_ERROR`](crate::rows::lane::double::DOUBLE_ERROR). For the other types 4,096 additions
/// are below 2^-62, negligible compared with [`SINGLE_ERROR`].
const fn blocks_per_renewal<T: Lane>() -> usize {
    if T::SINGLE { 4096 } else { 16 }
}

/// Returns the number of rows below which single rows are faster than setting up a recurrence, as
/// measured at widths 64 to 4096.
pub(crate) const fn few_rows<T: Lane>() -> usize {
    if T::SINGLE { 56 } else { 10 }
}

/// Returns the number of f64 values of a seed or fine entry in a table of `T`: sine and cosine,
/// each as a plain f64 or in two parts.
const fn parts<T: Lane>() -> usize {
    if T::SINGLE { 2 } else { 4 }
}

/// Returns whether rows of `T` can be multiplied by `factor` before their one rounding.
///
/// A value and its error grow with the factor. Below 2 the error stays within twice
/// [`SINGLE_ERROR`] (see [`single_error`]). Far below 1/2 too many entries would be hard cases.
/// Double-double entries accept no factor.
pub(crate) fn accepts_factor<T: Lane>(factor: f64) -> bool {
    factor == 1.0 || T::SINGLE && (0.5..2.0).contains(&factor)
}

/// Returns the bound on the error of plain f64 values that include a factor.
///
/// With u = 2^-53, the product with the factor has a relative error of u: 4u instead of 3u for an
/// entry, 8u with a factor below 2. The three steps of adding and subtracting the bound have an
/// error of 2u each for magnitudes up to 2: 14u < 2^-49.
fn single_error(factor: f64) -> f64 {
    if factor == 1.0 {
        SINGLE_ERROR
    } else {
        2.0 * SINGLE_ERROR
    }
}

/// Writes the angles part after part, multiplied by `scale` if they are plain f64 values.
#[inline(always)]
fn collect<T: Lane>(split: &Angles, scale: f64, out: &mut [f64]) {
    let pairs = split.len();
    let (first, rest) = out.split_at_mut(pairs);
    if T::SINGLE {
        for ((out, high), low) in first.iter_mut().zip(&split.sin_high).zip(&split.sin_low) {
            *out = (high + low) * scale;
        }
        for ((out, high), low) in rest.iter_mut().zip(&split.cos_high).zip(&split.cos_low) {
            *out = (high + low) * scale;
        }
    } else {
        first.copy_from_slice(&split.sin_high);
        rest[..pairs].copy_from_slice(&split.sin_low);
        rest[pairs..2 * pairs].copy_from_slice(&split.cos_high);
        rest[2 * pairs..].copy_from_slice(&split.cos_low);
    }
}

/// Returns the phase at an integer position plus one half.
fn half_past(frequency: &Frequency, position: u64) -> Phase {
    let whole = frequency.phase.0.wrapping_mul(u128::from(position));
    Phase(whole.wrapping_add(frequency.halved().phase.0))
}

/// Consecutive rows from a starting position, block after block.
pub(crate) struct Recurrence<'a, T> {
    arch: Arch,
    frequencies: &'a [Frequency],
    columns: &'a Columns,
    /// First position of the next block.
    position: u64,
    /// Factor that multiplies the entries.
    factor: f64,
    /// Blocks since the seeds were recomputed.
    age: usize,
    seeds: Angles,
    block_step: Angles,
    /// The seeds, and the pairs at 1/2, 3/2 ... positions, in the layout that the lane reads.
    seed_row: Vec<f64>,
    fine: Vec<f64>,
    /// Pairs left to the ladder: (row in the block, pair).
    hard_cases: Vec<(usize, usize)>,
    /// Output of mirrored rows beyond the end of a short block.
    discarded: Vec<T>,
    lane: PhantomData<T>,
}

impl<'a, T: Lane> Recurrence<'a, T> {
    /// Computes the fine table for rows starting at position `start`.
    pub(crate) fn new(
        arch: Arch,
        frequencies: &'a [Frequency],
        columns: &'a Columns,
        start: u32,
    ) -> Self {
        Self::scaled(arch, frequencies, columns, start, 1.0)
    }

    /// Does the same with all entries multiplied by a factor that passes [`accepts_factor`].
    pub(crate) fn scaled(
        arch: Arch,
        frequencies: &'a [Frequency],
        columns: &'a Columns,
        start: u32,
        factor: f64,
    ) -> Self {
        let pairs = columns.complete_pairs();
        let frequencies = &frequencies[..pairs];
        let mut one = Angles::with_capacity(pairs);
        double_f64::angles(arch, frequencies, |f| f.phase, &mut one);
        let mut block_step = Angles::with_capacity(pairs);
        double_f64::angles(
            arch,
            frequencies,
            |f| f.phase.times(BLOCK as u32),
            &mut block_step,
        );
        let numbers = parts::<T>() * pairs;
        let mut fine = vec![0.0; HALF * numbers];
        let mut seeds = Angles::with_capacity(pairs);
        double_f64::angles(arch, frequencies, |f| half_past(f, 0), &mut seeds);
        arch.dispatch(FineTable::<T> {
            angle: &mut seeds,
            step: &one,
            out: &mut fine,
            lane: PhantomData,
        });
        Self {
            arch,
            frequencies,
            columns,
            position: u64::from(start),
            factor,
            age: 0,
            seeds,
            block_step,
            seed_row: vec![0.0; numbers],
            fine,
            hard_cases: Vec::new(),
            discarded: vec![T::default(); columns.width],
            lane: PhantomData,
        }
    }

    /// Writes the complete pairs of the next [`BLOCK`] rows, or of fewer. An odd column is left
    /// unchanged.
    pub(crate) fn write(&mut self, block: &mut [T]) {
        let first = self.position;
        if self.age.is_multiple_of(blocks_per_renewal::<T>()) {
            let middle = first + HALF as u64 - 1;
            double_f64::angles(
                self.arch,
                self.frequencies,
                |f| half_past(f, middle),
                &mut self.seeds,
            );
        } else {
            self.arch.dispatch(Advance {
                angle: &mut self.seeds,
                step: &self.block_step,
            });
        }
        self.age += 1;
        let rows = block.len() / self.columns.width;
        if rows < BLOCK {
            // The next block does not begin a whole block later.
            self.age = 0;
        }
        self.position += rows as u64;
        collect::<T>(&self.seeds, T::SCALE * self.factor, &mut self.seed_row);
        self.arch.dispatch(Block {
            seeds: &self.seed_row,
            fine: &self.fine,
            error: single_error(self.factor),
            columns: self.columns,
            out: &mut *block,
            discarded: &mut self.discarded,
            hard_cases: &mut self.hard_cases,
        });
        for (row, pair) in self.hard_cases.drain(..) {
            // Mirrored rows beyond the end of a short block do not exist, and may have no position.
            let position = first + row as u64;
            let Some(row) = block.chunks_exact_mut(self.columns.width).nth(row) else {
                continue;
            };
            let (frequency, position) = (&self.frequencies[pair], position as u32);
            let (sine, cosine) = if self.factor == 1.0 {
                sincos::sin_cos(frequency, Position::Integer(position), Rungs::From128)
            } else {
                scaled::sin_cos(frequency, position, self.factor, Rungs::From128)
            };
            let (s, c) = self.columns.of_pair(pair);
            row[s] = sine;
            row[c] = cosine;
        }
    }
}

// The code for the chosen instruction set is in structures rather than closures. Only their
// inlining is certain, and code that is not inlined is compiled for the baseline instruction set.

/// Fills the fine table.
struct FineTable<'a, T> {
    angle: &'a mut Angles,
    step: &'a Angles,
    out: &'a mut [f64],
    lane: PhantomData<T>,
}

impl<T: Lane> WithSimd for FineTable<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let numbers = parts::<T>() * self.angle.len();
        for row in self.out.chunks_exact_mut(numbers) {
            collect::<T>(self.angle, 1.0, row);
            self.angle.advance(self.step);
        }
    }
}

/// Advances the seeds to the next block.
struct Advance<'a> {
    angle: &'a mut Angles,
    step: &'a Angles,
}

impl WithSimd for Advance<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.angle.advance(self.step);
    }
}

/// Writes the rows of one block.
struct Block<'a, T> {
    seeds: &'a [f64],
    fine: &'a [f64],
    error: f64,
    columns: &'a Columns,
    out: &'a mut [T],
    discarded: &'a mut [T],
    hard_cases: &'a mut Vec<(usize, usize)>,
}

impl<T: Lane> WithSimd for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.columns.width;
        let pairs = self.columns.complete_pairs();
        let (before, after) = self.out.split_at_mut(self.out.len().min(HALF * width));
        // A short block lacks rows at its end. If it ends before its middle, the mirrored rows next
        // to the middle are missing.
        let missing = HALF - before.len() / width;
        let mut before = before.chunks_exact_mut(width).rev();
        let mut after = after.chunks_exact_mut(width);
        let fine = self.fine.chunks_exact(self.seeds.len());
        let mut failures = Failures::default();
        for (step, fine) in fine.enumerate().skip(missing) {
            let Some(before) = before.next() else { break };
            let after = after.next().unwrap_or(&mut *self.discarded);
            let mut rest = self.columns.split_mirrored(before, after);
            let mut first = 0;
            while first < pairs {
                let count = RUN.min(pairs - first);
                let (mut out, more) = rest.split_at(count);
                rest = more;
                let run = RecurrenceRun::of(self.seeds, fine, self.error, pairs, first, count);
                T::write_mirrored(simd, run, out.reborrow(), &mut failures);
                if !failures.0.is_empty() {
                    let rows = [HALF - 1 - step, HALF + step];
                    resolve::<T>(run, out, &mut failures, rows, first, self.hard_cases);
                }
                first += count;
            }
        }
    }
}

/// Tests the failures of a run one by one, and lists the hard cases that only the ladder can
/// decide.
#[cold]
#[inline(never)]
fn resolve<T: Lane>(
    run: RecurrenceRun<'_>,
    mut out: MirroredSlices<'_, T>,
    failures: &mut Failures,
    rows: [usize; 2],
    first: usize,
    hard_cases: &mut Vec<(usize, usize)>,
) {
    for (pair, side) in failures.0.drain(..) {
        match (T::decide(run, pair, side), out.pair(side, pair)) {
            (Some((sine, cosine)), Some(to)) => (*to.0, *to.1) = (sine, cosine),
            _ => hard_cases.push((rows[side & 1], first + pair)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::lane::double::DOUBLE_ERROR;
    use crate::sincos::hi_lo::{Angle, resplit, sum_and_difference};
    use crate::spec::spacing::{Base, Spacing};
    use crate::turns::frequency;

    const PAIRS: usize = 24;

    /// The bounds cover the counted roundings and are not so wide that many entries become hard
    /// cases.
    #[test]
    fn bounds_of_single_values() {
        let unit = f64::EPSILON / 2.0;
        assert!((6.0..10.0).contains(&(single_error(1.0) / unit)));
        for factor in [0.5, 0.999, 1.001, 1.9999] {
            assert!((14.0..20.0).contains(&(single_error(factor) / unit)));
        }
    }

    fn frequencies() -> Vec<Frequency> {
        frequency::geometric(Base::Value(10000.0), Spacing::Paper, 2 * PAIRS, PAIRS).unwrap()
    }

    /// Returns the angles half past a position, from the 128-bit path.
    fn exact(frequencies: &[Frequency], position: u64) -> Vec<Angle> {
        let of = |f: &Frequency| double_f64::angle_128(half_past(f, position));
        frequencies.iter().map(of).collect()
    }

    fn gap(found: Angle, exact: Angle) -> f64 {
        let sine = (found[0] - exact[0]) + (found[1] - exact[1]);
        let cosine = (found[2] - exact[2]) + (found[3] - exact[3]);
        sine.abs().max(cosine.abs())
    }

    /// Advances seeds as `Recurrence` does up to the last block before a renewal, adds the last row
    /// of the fine table to each, and returns the largest error.
    fn worst_of_renewal(blocks: usize, start: u64) -> f64 {
        let arch = Arch::new();
        let frequencies = frequencies();
        let made = |phase: &dyn Fn(&Frequency) -> Phase| {
            let mut split = Angles::with_capacity(PAIRS);
            double_f64::angles(arch, &frequencies, phase, &mut split);
            split
        };
        let (one, step) = (made(&|f| f.phase), made(&|f| f.phase.times(BLOCK as u32)));
        let mut fine = made(&|f| half_past(f, 0));
        for _ in 1..HALF {
            fine.advance(&one);
        }
        let mut seeds = made(&|f| half_past(f, start));
        let mut worst = 0f64;
        for block in 0..blocks as u64 {
            let forth = exact_whole(&frequencies, start + BLOCK as u64 * block + HALF as u64);
            for (pair, forth) in forth.into_iter().enumerate() {
                let [sine, _, cosine, _] = sum_and_difference(seeds.get(pair), fine.get(pair));
                let ((sh, sl), (ch, cl)) = (resplit(sine), resplit(cosine));
                worst = worst.max(gap([sh, sl, ch, cl], forth));
            }
            seeds.advance(&step);
        }
        worst
    }

    fn exact_whole(frequencies: &[Frequency], position: u64) -> Vec<Angle> {
        let of = |f: &Frequency| double_f64::angle_128(f.phase.times(position as u32));
        frequencies.iter().map(of).collect()
    }

    #[test]
    fn double_double_recurrences_stay_within_the_double_bound() {
        let worst = [1, 1_000_003, 4_000_000_000]
            .map(|start| worst_of_renewal(blocks_per_renewal::<f64>(), start));
        let worst = worst.into_iter().fold(0.0, f64::max);
        assert!(worst < DOUBLE_ERROR / 4.0, "{worst:e}");
        assert!(
            worst > DOUBLE_ERROR / 4096.0,
            "the bound is idle: {worst:e}"
        );
    }

    /// The errors of 4,096 blocks are negligible compared with the error of plain f64 values.
    #[test]
    fn seeds_of_single_values_stay_good_between_renewals() {
        let worst = worst_of_renewal(blocks_per_renewal::<f32>(), 1_000_003);
        assert!(worst < SINGLE_ERROR / 1024.0, "{worst:e}");
    }

    #[test]
    fn one_addition_stays_within_the_single_bound() {
        let frequencies = frequencies();
        /// Just below 2, with all digits in use.
        const FACTOR: f64 = 1.999_999_7;
        let (mut worst, mut scaled) = (0f64, 0f64);
        for start in (0..2_000_000_000).step_by(99_999_989) {
            let seeds = exact(&frequencies, start);
            for ahead in 0..HALF as u64 {
                let fine = exact(&frequencies, ahead);
                let forth = exact_whole(&frequencies, start + ahead + 1);
                for ((a, b), exact) in seeds.iter().zip(&fine).zip(forth) {
                    let single = |x: &Angle| (x[0] + x[1], x[2] + x[3]);
                    for extra in [SINGLE_ERROR, 0.0] {
                        let [_, (sine, cosine)] = crate::rows::lane::sum_and_difference::<
                            pulp::Scalar,
                        >(
                            single(a), single(b), extra
                        );
                        let down = if extra == 0.0 { 0.0 } else { 2.0 * extra };
                        let back = extra - down;
                        worst = worst
                            .max((((sine - down) - exact[0]) - exact[1] - back).abs())
                            .max((((cosine - down) - exact[2]) - exact[3] - back).abs());
                    }
                    // The same with a factor. `mul_add` recovers the rounding error of its
                    // products.
                    let error = 2.0 * SINGLE_ERROR;
                    let by = |x: (f64, f64)| (x.0 * FACTOR, x.1 * FACTOR);
                    let [_, (sine, cosine)] = crate::rows::lane::sum_and_difference::<pulp::Scalar>(
                        by(single(a)),
                        single(b),
                        error,
                    );
                    let of = |found: f64, high: f64, low: f64| {
                        let product = FACTOR * high;
                        let rest = FACTOR.mul_add(high, -product) + FACTOR * low;
                        ((((found - 2.0 * error) - product) - rest) + error).abs()
                    };
                    scaled = scaled
                        .max(of(sine, exact[0], exact[1]))
                        .max(of(cosine, exact[2], exact[3]));
                }
            }
        }
        assert!(worst < SINGLE_ERROR * 0.75, "{worst:e}");
        assert!(scaled < 2.0 * SINGLE_ERROR * 0.875, "{scaled:e}");
        assert!(scaled > worst, "the factor costs nothing: {scaled:e}");
        assert!(worst > SINGLE_ERROR / 32.0, "the bound is idle: {worst:e}");
    }
}
