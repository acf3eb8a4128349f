//! Single rows: the phase of each pair and a polynomial, in lanes.
//!
//! One row, such as the row of one token in incremental decoding, is too little work for a
//! recurrence. The top 64 bits of `position x frequency` come from three 32-bit products per pair.
//! The rest is f64 arithmetic without branches, for as many pairs at once as the instruction set
//! can hold. Nothing is allocated.

use std::ops::Range;
use std::sync::LazyLock;

use pulp::{Arch, Simd, WithSimd};

use crate::round::SINGLE_ERROR;
use crate::rows::columns::{Columns, Out, PairSlices};
use crate::rows::lane::Lane;
use crate::sincos::double_f64::{self, RUN, Reduced};
use crate::sincos::factor::Factor;
use crate::sincos::single_f64;
use crate::sincos::{self, Rungs};
use crate::turns::frequency::Frequency;
use crate::turns::phase::{self, Phase};
use crate::turns::position::Position;

/// Frequencies in full width, computed when an entry first needs them.
pub(crate) type Frequencies =
    LazyLock<Vec<Frequency>, Box<dyn FnOnce() -> Vec<Frequency> + Send + Sync>>;

/// Each frequency in turns, in 32-bit limbs, most significant first: the integer turns, then the top
/// 96 bits of the fraction.
#[derive(Debug, Clone)]
pub(crate) struct Limbs {
    pairs: usize,
    /// The limbs of all pairs, place after place, behind zeros: the limbs above them. One allocation, because
    /// dynamic scaling has new ones for each length.
    places: Vec<u64>,
}

impl Limbs {
    pub(crate) fn new(frequencies: &[Frequency]) -> Self {
        let of = |f: &Frequency| (f.complete_turns(), f.phase);
        Self::with(frequencies.iter().map(of))
    }

    /// Creates the limbs of frequencies below one turn. Each phase may have an error of less than 2^-97.
    pub(crate) fn of_phases(phases: &[Phase]) -> Self {
        Self::with(phases.iter().map(|phase| (0, *phase)))
    }

    fn with(frequencies: impl ExactSizeIterator<Item = (u64, Phase)>) -> Self {
        let pairs = frequencies.len();
        let mut places = vec![0; 5 * pairs];
        for (pair, (complete, phase)) in frequencies.enumerate() {
            let limb = |shift: u32| (phase.0 >> shift) as u64 & 0xffff_ffff;
            places[pairs + pair] = complete;
            places[2 * pairs + pair] = limb(96);
            places[3 * pairs + pair] = limb(64);
            places[4 * pairs + pair] = limb(32);
        }
        Self { pairs, places }
    }

    pub(crate) fn pairs(&self) -> usize {
        self.pairs
    }

    /// Returns the limb `places` below the integer turns, for a run of pairs.
    pub(crate) fn get(&self, places: i32, run: &Range<usize>) -> &[u64] {
        let row = usize::try_from(places + 1).unwrap_or(0);
        &self.places[row * self.pairs..][run.clone()]
    }
}

/// Writes the complete pairs of one row, multiplied by `factor`. Other columns are left unchanged.
/// Returns `false`, and writes nothing, for a factor that lanes of this type do not accept.
pub(crate) fn fill_row<T: Lane>(
    arch: Arch,
    frequencies: &Frequencies,
    limbs: &Limbs,
    columns: &Columns,
    factor: &Factor,
    position: Position,
    row: Out<'_, T>,
) -> bool {
    let Some(error) = sincos::single_error(factor) else {
        return false;
    };
    let integer = match position {
        Position::Integer(position) => Some(position),
        // Types that f64 arithmetic decides have rows of their own at real positions (`rows::real`).
        Position::Real(_) => None,
    };
    if T::SINGLE && integer.is_none() {
        return false;
    }
    let mut pairs = columns.split(row);
    let mut angles = [0; RUN];
    for first in (0..columns.complete_pairs()).step_by(RUN) {
        let run = first..columns.complete_pairs().min(first + RUN);
        let mut all = pairs.run(first, run.len());
        let out = all.run(0, run.len());
        let failed = match integer.filter(|_| T::SINGLE) {
            Some(position) => {
                let angles = &mut angles[..run.len()];
                arch.dispatch(IntegerAngles {
                    limbs: [1, 2, 3].map(|place| limbs.get(place, &run)),
                    position,
                    angles,
                });
                arch.dispatch(Run {
                    angles,
                    factor: factor.value,
                    error,
                    out,
                })
            }
            None => {
                let mut reduced = Reduced::NONE;
                for (at, frequency) in frequencies[run.clone()].iter().enumerate() {
                    reduced.set(at, phase_at(frequency, position));
                }
                arch.dispatch(PreciseRun {
                    reduced: &reduced,
                    factor,
                    out,
                })
            }
        };
        if failed {
            fill_by_ladder(&frequencies[run], factor, position, all);
        }
    }
    true
}

/// Writes one row of cosines and sines from the angles of its pairs at a position, in units of 2^-64 turns, with errors
/// below 4 units. `frequencies` computes the frequencies in full width, for entries that fail the rounding test.
pub(crate) fn fill_angles<T: Lane>(
    arch: Arch,
    angles: &[u64],
    frequencies: &dyn Fn() -> Vec<Frequency>,
    position: u32,
    row: Out<'_, T>,
) {
    let [cosines, sines] = row.0;
    let mut pairs = PairSlices::Halves { sines, cosines };
    for (index, angles) in angles.chunks(RUN).enumerate() {
        let (first, count) = (index * RUN, angles.len());
        let failed = arch.dispatch(Run {
            angles,
            factor: 1.0,
            error: SINGLE_ERROR,
            out: pairs.run(first, count),
        });
        if failed {
            let (run, position) = (first..first + count, Position::Integer(position));
            let out = pairs.run(first, count);
            fill_by_ladder(&frequencies()[run], &Factor::ONE, position, out);
        }
    }
}

/// The angles of a run of pairs, in units of 2^-64 turns, at a position that is an integer (`rows::recurrence` explains why
/// this is a structure).
struct IntegerAngles<'a> {
    limbs: [&'a [u64]; 3],
    position: u32,
    angles: &'a mut [u64],
}

impl WithSimd for IntegerAngles<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [high, middle, low] = self.limbs;
        // A product needs half the instructions if both factors visibly have 32 bits.
        let times = |limb: u64| (limb & 0xffff_ffff) * u64::from(self.position);
        for (angle, (high, (middle, low))) in self
            .angles
            .iter_mut()
            .zip(high.iter().zip(middle.iter().zip(low)))
        {
            // Modulo one turn: the bits beyond 64 are complete turns.
            *angle = (times(*high) << 32)
                .wrapping_add(times(*middle))
                .wrapping_add(times(*low) >> 32);
        }
    }
}

/// The sines and cosines of a run of angles, multiplied by `factor`. Returns whether one failed the rounding test.
pub(crate) struct Run<'a, T> {
    /// In units of 2^-64 turns.
    pub(crate) angles: &'a [u64],
    pub(crate) factor: f64,
    pub(crate) error: f64,
    pub(crate) out: PairSlices<'a, T>,
}

impl<T: Lane> WithSimd for Run<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let pairs = self.angles.iter().map(
            #[inline(always)]
            |angle| single_f64::sin_cos::<S>(*angle).map(|value| value * self.factor),
        );
        T::write(pairs, self.error, self.out)
    }
}

/// Returns the phase of a pair at a position, with an error of less than 2^32 units.
fn phase_at(frequency: &Frequency, position: Position) -> Phase {
    match position {
        Position::Integer(position) => frequency.phase.times(position),
        Position::Real(_) => {
            let (negative, mantissa, exponent) = position.parts();
            let Phase(bits) = phase::phase_at(frequency.wide, mantissa, exponent);
            Phase(if negative { bits.wrapping_neg() } else { bits })
        }
    }
}

/// A run of a type that needs more than f64 arithmetic (see [`double_f64`]).
struct PreciseRun<'a, T> {
    reduced: &'a Reduced,
    factor: &'a Factor,
    out: PairSlices<'a, T>,
}

impl<T: Lane> WithSimd for PreciseRun<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let mut parts = [[0.0; RUN]; 4];
        let [sin_high, sin_low, cos_high, cos_low] = &mut parts;
        double_f64::Run {
            reduced: self.reduced,
            out: [sin_high, sin_low, cos_high, cos_low],
        }
        .with_simd(simd);
        let [sin_high, sin_low, cos_high, cos_low] = &parts;
        let angles = sin_high
            .iter()
            .zip(sin_low)
            .zip(cos_high.iter().zip(cos_low));
        let angles = angles.map(
            #[inline(always)]
            |((sh, sl), (ch, cl))| [*sh, *sl, *ch, *cl],
        );
        T::write_parts(angles, self.factor, self.out)
    }
}

/// Writes the entries of a run by the ladder, which decides each on its own.
#[cold]
pub(crate) fn fill_by_ladder<T: Lane>(
    frequencies: &[Frequency],
    factor: &Factor,
    position: Position,
    mut out: PairSlices<'_, T>,
) {
    for (pair, frequency) in frequencies.iter().enumerate() {
        out.set(
            pair,
            sincos::sin_cos(frequency, position, factor, Rungs::Ladder),
        );
    }
}
