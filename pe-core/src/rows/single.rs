//! Single rows: the phase of each pair and a polynomial, in lanes.
//!
//! One row, such as the row of one token in incremental decoding, is too little work for a
//! recurrence. The top 64 bits of `position x frequency` come from three 32-bit products per pair.
//! The rest is f64 arithmetic without branches, for as many pairs at once as the instruction set
//! can hold. Nothing is allocated.

use pulp::{Arch, Simd, WithSimd};

use crate::rows::columns::{Columns, Out, PairSlices};
use crate::rows::lane::Lane;
use crate::sincos::double_f64::{self, RUN, Reduced};
use crate::sincos::factor::Factor;
use crate::sincos::single_f64;
use crate::sincos::{self, Rungs};
use crate::turns::frequency::Frequency;
use crate::turns::position::Position;

/// Top 96 bits of each frequency modulo one turn, in 32-bit limbs, most significant first.
#[derive(Debug, Clone)]
pub(crate) struct Limbs([Vec<u64>; 3]);

impl Limbs {
    pub(crate) fn new(frequencies: &[Frequency]) -> Self {
        let limb = |shift: u32| {
            let limb = |f: &Frequency| (f.phase.0 >> shift) as u64 & 0xffff_ffff;
            frequencies.iter().map(limb).collect()
        };
        Self([limb(96), limb(64), limb(32)])
    }
}

/// Writes the complete pairs of one row, multiplied by `factor`. Other columns are left unchanged.
/// Returns `false`, and writes nothing, for a factor that lanes of this type do not accept.
pub(crate) fn fill_row<T: Lane>(
    arch: Arch,
    frequencies: &[Frequency],
    limbs: &Limbs,
    columns: &Columns,
    factor: &Factor,
    position: u32,
    row: Out<'_, T>,
) -> bool {
    let Some(error) = sincos::single_error(factor) else {
        return false;
    };
    let frequencies = &frequencies[..columns.complete_pairs()];
    let mut columns = columns.split(row);
    for (index, frequencies) in frequencies.chunks(RUN).enumerate() {
        let first = index * RUN;
        let mut out = columns.run(first, frequencies.len());
        let failed = if T::SINGLE {
            let end = first + frequencies.len();
            let [high, middle, low] = &limbs.0;
            arch.dispatch(Run {
                limbs: [&high[first..end], &middle[first..end], &low[first..end]],
                position,
                factor: factor.value,
                error,
                out: out.run(0, frequencies.len()),
            })
        } else {
            let mut reduced = Reduced::NONE;
            for (at, frequency) in frequencies.iter().enumerate() {
                reduced.set(at, frequency.phase.times(position));
            }
            arch.dispatch(PreciseRun {
                reduced: &reduced,
                factor,
                out: out.run(0, frequencies.len()),
            })
        };
        if failed {
            fill_by_ladder(frequencies, factor, position, out);
        }
    }
    true
}

/// A run of pairs on the chosen instruction set (`rows::recurrence` explains why this is a
/// structure).
struct Run<'a, T> {
    limbs: [&'a [u64]; 3],
    position: u32,
    factor: f64,
    error: f64,
    out: PairSlices<'a, T>,
}

impl<T: Lane> WithSimd for Run<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let [high, middle, low] = self.limbs;
        // A product needs half the instructions if both factors visibly have 32 bits.
        let times = |limb: u64| (limb & 0xffff_ffff) * u64::from(self.position);
        let pairs = high.iter().zip(middle).zip(low).map(
            #[inline(always)]
            |((high, middle), low)| {
                // Modulo one turn: the bits beyond 64 are complete turns.
                let angle = (times(*high) << 32)
                    .wrapping_add(times(*middle))
                    .wrapping_add(times(*low) >> 32);
                let [sine, cosine] = single_f64::sin_cos::<S>(angle);
                [sine * self.factor, cosine * self.factor]
            },
        );
        T::write(pairs, self.error, self.out)
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
fn fill_by_ladder<T: Lane>(
    frequencies: &[Frequency],
    factor: &Factor,
    position: u32,
    mut out: PairSlices<'_, T>,
) {
    for (pair, frequency) in frequencies.iter().enumerate() {
        let position = Position::Integer(position);
        out.set(
            pair,
            sincos::sin_cos(frequency, position, factor, Rungs::Ladder),
        );
    }
}
