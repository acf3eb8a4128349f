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

use pulp::{Arch, Simd, WithSimd};

use crate::rows::columns::{Columns, Out, PairSlices};
use crate::rows::lane::{Failures, Lane, RecurrenceRun};
use crate::sincos::double_f64::{self, RUN};
use crate::sincos::factor::Factor;
use crate::sincos::hi_lo::Angles;
use crate::sincos::{self, Rungs};
use crate::turns::frequency::Frequency;
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
/// are below 2^-62, negligible compared with [`SINGLE_ERROR`](crate::round::SINGLE_ERROR).
const fn blocks_per_renewal<T: Lane>() -> usize {
    if T::SINGLE { 4096 } else { 16 }
}

/// The seeds of consecutive blocks, and the fine table.
struct Seeds<'a> {
    arch: Arch,
    frequencies: &'a [Frequency],
    /// First position of the next block.
    position: u64,
    /// Blocks since the seeds were recomputed, and the number after which they are.
    age: usize,
    renewal: usize,
    angles: Angles,
    step: Angles,
    /// Power of two that scales plain f64 values; `None` for double-double values.
    scale: Option<f64>,
    factor: &'a Factor,
    /// The seeds, and the pairs at 1/2, 3/2 ... positions, in the layout that the lane reads.
    row: Vec<f64>,
    fine: Vec<f64>,
}

impl<'a> Seeds<'a> {
    fn new(
        arch: Arch,
        frequencies: &'a [Frequency],
        position: u64,
        renewal: usize,
        scale: Option<f64>,
        factor: &'a Factor,
    ) -> Self {
        let pairs = frequencies.len();
        let at = |position, half_later| {
            let mut out = Angles::with_capacity(pairs);
            double_f64::angles(arch, frequencies, position, half_later, &mut out);
            out
        };
        // Sine and cosine, each as a plain f64 or in two parts.
        let parts = if scale.is_some() { 2 } else { 4 };
        let (mut angles, one) = (at(0, true), at(1, false));
        let mut fine = vec![0.0; HALF * parts * pairs];
        for row in fine.chunks_exact_mut((parts * pairs).max(1)) {
            run(
                arch,
                Collect {
                    angles: &angles,
                    scale: scale.map(|_| 1.0),
                    factor: ((1.0, 0.0), 1.0),
                    row,
                },
            );
            run(
                arch,
                Advance {
                    angles: &mut angles,
                    step: &one,
                },
            );
        }
        Self {
            arch,
            frequencies,
            position,
            age: 0,
            renewal,
            angles,
            step: at(BLOCK as u64, false),
            scale,
            factor,
            row: vec![0.0; parts * pairs],
            fine,
        }
    }

    /// Moves the seeds to the next block, which has `rows` rows.
    fn next(&mut self, rows: usize) {
        if self.age.is_multiple_of(self.renewal) {
            let middle = self.position + HALF as u64 - 1;
            double_f64::angles(self.arch, self.frequencies, middle, true, &mut self.angles);
        } else {
            run(
                self.arch,
                Advance {
                    angles: &mut self.angles,
                    step: &self.step,
                },
            );
        }
        run(
            self.arch,
            Collect {
                angles: &self.angles,
                scale: self.scale,
                factor: (self.factor.parts, self.factor.size),
                row: &mut self.row,
            },
        );
        // After a short block the next one does not begin a whole block later.
        self.age = if rows == BLOCK { self.age + 1 } else { 0 };
        self.position += rows as u64;
    }
}

/// Consecutive rows from a starting position, block after block.
pub(crate) struct Recurrence<'a, T> {
    seeds: Seeds<'a>,
    columns: &'a Columns,
    /// Factor that multiplies the entries.
    factor: &'a Factor,
    /// Bound on the error of the entries: [`Lane::error`].
    error: f64,
    /// Pairs left to the ladder: (row in the block, pair).
    hard_cases: Vec<(usize, usize)>,
    /// Output of mirrored rows beyond the end of a short block.
    discarded: Vec<T>,
}

impl<'a, T: Lane> Recurrence<'a, T> {
    /// Computes the fine table for rows of at least one pair starting at position `start`. Returns
    /// `None` for a factor that lanes of this type do not accept.
    pub(crate) fn new(
        arch: Arch,
        frequencies: &'a [Frequency],
        columns: &'a Columns,
        factor: &'a Factor,
        start: u64,
    ) -> Option<Self> {
        let scale = T::SINGLE.then_some(T::SCALE);
        let error = T::error(factor)?;
        let frequencies = &frequencies[..columns.complete_pairs()];
        let renewal = blocks_per_renewal::<T>();
        Some(Self {
            seeds: Seeds::new(arch, frequencies, start, renewal, scale, factor),
            columns,
            factor,
            error,
            hard_cases: Vec::new(),
            discarded: vec![T::default(); 2 * columns.width],
        })
    }

    /// Writes the complete pairs of the next [`BLOCK`] rows, or of fewer. Other columns are left
    /// unchanged.
    pub(crate) fn write(&mut self, mut block: Out<'_, T>) {
        let (width, first) = (self.columns.width, self.seeds.position);
        self.seeds.next(block.len() / width);
        self.seeds.arch.dispatch(Block {
            seeds: &self.seeds.row,
            fine: &self.seeds.fine,
            error: self.error,
            columns: self.columns,
            out: block.reborrow(),
            discarded: &mut self.discarded,
            hard_cases: &mut self.hard_cases,
        });
        for (row, pair) in self.hard_cases.drain(..) {
            let (_, rows) = block.reborrow().split_at(row * width);
            let (row_of, _) = rows.split_at(width);
            // Mirrored rows beyond the end of a short block do not exist, and may have no position.
            if row_of.len() == 0 {
                continue;
            }
            let position = Position::Integer((first + row as u64) as u32);
            let frequency = &self.seeds.frequencies[pair];
            let entries = sincos::sin_cos(frequency, position, self.factor, Rungs::From128);
            self.columns.split(row_of).set(pair, entries);
        }
    }
}

// The code for the chosen instruction set is in structures rather than closures. Only their
// inlining is certain, and code that is not inlined is compiled for the baseline instruction set.

/// Runs the work on an instruction set. It is not inlined, so that a work has one copy without lanes.
#[inline(never)]
fn run<W: WithSimd>(arch: Arch, work: W) -> W::Output {
    arch.dispatch(work)
}

/// Advances angles by a step.
struct Advance<'a> {
    angles: &'a mut Angles,
    step: &'a Angles,
}

impl WithSimd for Advance<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.angles.advance(self.step);
    }
}

/// Writes the angles in the layout that lanes read: [`Angles::collect`].
struct Collect<'a> {
    angles: &'a Angles,
    scale: Option<f64>,
    factor: ((f64, f64), f64),
    row: &'a mut [f64],
}

impl WithSimd for Collect<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.angles.collect(self.scale, self.factor, self.row);
    }
}

/// Writes the rows of one block.
struct Block<'a, T> {
    seeds: &'a [f64],
    fine: &'a [f64],
    error: f64,
    columns: &'a Columns,
    out: Out<'a, T>,
    discarded: &'a mut [T],
    hard_cases: &'a mut Vec<(usize, usize)>,
}

impl<T: Lane> WithSimd for Block<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let width = self.columns.width;
        let pairs = self.columns.complete_pairs();
        let (mut before, mut after) = self.out.split_at(HALF * width);
        // A short block lacks rows at its end. If it ends before its middle, the mirrored rows next
        // to the middle are missing.
        let missing = HALF - before.len() / width;
        let (cos, sin) = self.discarded.split_at_mut(width);
        let mut discarded = Out([cos, sin]);
        let fine = self.fine.chunks_exact(self.seeds.len());
        let mut failures = Failures::default();
        for (step, fine) in fine.enumerate().skip(missing) {
            let (rest, row_before) = before.split_at((HALF - 1 - step) * width);
            let (mut row_after, more) = after.split_at(width);
            (before, after) = (rest, more);
            if row_after.len() == 0 {
                row_after = discarded.reborrow();
            }
            let mut row_before = self.columns.split(row_before);
            let mut row_after = self.columns.split(row_after);
            let mut first = 0;
            while first < pairs {
                let count = RUN.min(pairs - first);
                let run = RecurrenceRun::of(self.seeds, fine, self.error, pairs, first, count);
                let out = [row_before.run(first, count), row_after.run(first, count)];
                T::write_mirrored::<S>(run, out, &mut failures);
                if !failures.0.is_empty() {
                    let numbers = [HALF - 1 - step, HALF + step];
                    let out = [row_before.run(first, count), row_after.run(first, count)];
                    resolve(run, out, &mut failures, numbers, first, self.hard_cases);
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
    mut out: [PairSlices<'_, T>; 2],
    failures: &mut Failures,
    rows: [usize; 2],
    first: usize,
    hard_cases: &mut Vec<(usize, usize)>,
) {
    for (pair, side) in failures.0.drain(..) {
        let entries = T::decide(run, pair, side);
        if !entries.is_some_and(|entries| out[side & 1].set(pair, entries)) {
            hard_cases.push((rows[side & 1], first + pair));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round::SINGLE_ERROR;
    use crate::rows::lane::double::DOUBLE_ERROR;
    use crate::sincos::hi_lo::{Angle, resplit, sum_and_difference};
    use crate::spec::spacing::{Base, Spacing};
    use crate::turns::frequency;
    use crate::turns::phase::Phase;

    const PAIRS: usize = 24;

    fn frequencies() -> Vec<Frequency> {
        frequency::geometric(Base::Value(10000.0), Spacing::Paper, 2 * PAIRS, PAIRS).unwrap()
    }

    /// Returns the angles at a position, or half past it, from the 128-bit path.
    fn exact(frequencies: &[Frequency], position: u64, half_later: bool) -> Vec<Angle> {
        let of = |f: &Frequency| {
            let half = if half_later { f.halved().phase.0 } else { 0 };
            let whole = f.phase.0.wrapping_mul(u128::from(position));
            double_f64::angle_128(Phase(whole.wrapping_add(half)))
        };
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
        let at = |position, half_later| {
            let mut out = Angles::with_capacity(PAIRS);
            double_f64::angles(arch, &frequencies, position, half_later, &mut out);
            out
        };
        let (one, step) = (at(1, false), at(BLOCK as u64, false));
        let mut fine = at(0, true);
        for _ in 1..HALF {
            fine.advance(&one);
        }
        let mut seeds = at(start, true);
        let mut worst = 0f64;
        for block in 0..blocks as u64 {
            let position = start + BLOCK as u64 * block + HALF as u64;
            let forth = exact(&frequencies, position, false);
            for (pair, forth) in forth.into_iter().enumerate() {
                let [sine, _, cosine, _] = sum_and_difference(seeds.get(pair), fine.get(pair));
                let ((sh, sl), (ch, cl)) = (resplit(sine), resplit(cosine));
                worst = worst.max(gap([sh, sl, ch, cl], forth));
            }
            seeds.advance(&step);
        }
        worst
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
        use crate::rows::lane::sum_and_difference as of;
        let plain = of::<pulp::Scalar>;
        let frequencies = frequencies();
        /// Just below 2, with all digits in use.
        const FACTOR: f64 = 1.999_999_7;
        let (mut worst, mut scaled) = (0f64, 0f64);
        for start in (0..2_000_000_000).step_by(99_999_989) {
            let seeds = exact(&frequencies, start, true);
            for ahead in 0..HALF as u64 {
                let fine = exact(&frequencies, ahead, true);
                let forth = exact(&frequencies, start + ahead + 1, false);
                for ((a, b), exact) in seeds.iter().zip(&fine).zip(forth) {
                    let single = |x: &Angle| [x[0] + x[1], x[2] + x[3]];
                    for extra in [SINGLE_ERROR, 0.0] {
                        let [_, [sine, cosine]] = plain(single(a), single(b), extra);
                        let down = if extra == 0.0 { 0.0 } else { 2.0 * extra };
                        let back = extra - down;
                        worst = worst
                            .max((((sine - down) - exact[0]) - exact[1] - back).abs())
                            .max((((cosine - down) - exact[2]) - exact[3] - back).abs());
                    }
                    // The same with a factor. `mul_add` recovers the rounding error of its
                    // products.
                    let error = sincos::single_error(&Factor::from(FACTOR)).unwrap();
                    let by = single(a).map(|value| value * FACTOR);
                    let [_, [sine, cosine]] = plain(by, single(b), error);
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
