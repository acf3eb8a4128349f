//! Single rows: each pair's angle and a polynomial, in lanes.
//!
//! A row on its own, such as that of one token while decoding, is too little work
//! for a rotation. The top 64 bits of `position x frequency` come from three
//! 32-bit products per pair; then everything is f64 arithmetic without branches,
//! for as many pairs at once as the instruction set has room for. Nothing is
//! allocated.

use pulp::{Arch, Simd, WithSimd};

use crate::rows::columns::{Columns, PairSlices};
use crate::rows::lane::{Lane, RUN};
use crate::sincos::double_f64::{self, Reduced};
use crate::sincos::{self, Position, Rungs};
use crate::turns::frequency::Frequency;

/// The top 96 bits of each frequency as a turn, in 32-bit pieces, most
/// significant first.
#[derive(Debug, Clone)]
pub(crate) struct Pieces([Vec<u64>; 3]);

impl Pieces {
    pub(crate) fn new(frequencies: &[Frequency]) -> Self {
        let piece = |shift: u32| {
            let piece = |f: &Frequency| (f.turn.0 >> shift) as u64 & 0xffff_ffff;
            frequencies.iter().map(piece).collect()
        };
        Self([piece(96), piece(64), piece(32)])
    }
}

/// Writes the whole pairs of one row; the odd column, if any, is left alone.
pub(crate) fn fill_row<T: Lane>(
    arch: Arch,
    frequencies: &[Frequency],
    pieces: &Pieces,
    columns: &Columns,
    position: u32,
    row: &mut [T],
) {
    let frequencies = &frequencies[..columns.whole_pairs()];
    for (index, frequencies) in frequencies.chunks(RUN).enumerate() {
        let first = index * RUN;
        let (_, out) = columns.split(row).split_at(first);
        let (out, _) = out.split_at(frequencies.len());
        let unsettled = if T::SINGLE {
            let end = first + frequencies.len();
            let [high, middle, low] = &pieces.0;
            arch.dispatch(Run {
                pieces: [&high[first..end], &middle[first..end], &low[first..end]],
                position,
                out,
            })
        } else {
            let mut reduced = Reduced::NONE;
            for (at, frequency) in frequencies.iter().enumerate() {
                reduced.set(at, frequency.turn.times(position));
            }
            arch.dispatch(PreciseRun {
                reduced: &reduced,
                out,
            })
        };
        if unsettled {
            settle(frequencies, columns, first, position, row);
        }
    }
}

/// A run of pairs on the instruction set chosen (see `rotate` on why a structure).
struct Run<'a, T> {
    pieces: [&'a [u64]; 3],
    position: u32,
    out: PairSlices<'a, T>,
}

impl<T: Lane> WithSimd for Run<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let [high, middle, low] = self.pieces;
        let position = u64::from(self.position);
        let pairs = high.iter().zip(middle).zip(low).map(
            #[inline(always)]
            |((high, middle), low)| {
                // Modulo one turn: what overflows 64 bits are whole turns.
                let angle = (high.wrapping_mul(position) << 32)
                    .wrapping_add(middle.wrapping_mul(position))
                    .wrapping_add(low.wrapping_mul(position) >> 32);
                sin_cos(angle)
            },
        );
        T::write(pairs, self.out) != 0
    }
}

/// A run of a type that needs more than f64 arithmetic: see [`precise`].
struct PreciseRun<'a, T> {
    reduced: &'a Reduced,
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
        T::write_parts(angles, self.out) != 0
    }
}

/// Makes the entries of the pairs from `first` on by the ladder, which decides each for itself.
#[cold]
fn settle<T: Lane>(
    frequencies: &[Frequency],
    columns: &Columns,
    first: usize,
    position: u32,
    row: &mut [T],
) {
    for (pair, frequency) in frequencies.iter().enumerate() {
        let (sine, cosine) = sincos::sin_cos(frequency, Position::Whole(position), Rungs::Ladder);
        let (s, c) = columns.of_pair(first + pair);
        row[s] = sine;
        row[c] = cosine;
    }
}

/// Sine and cosine of `angle` / 2^64 turns, with an error below 2^-50 even if the
/// angle is 4 units off.
///
/// 4 units are 2^-59.3 radians. The remainder is rounded to 53 bits once, and
/// multiplied once by a rounded constant: relative 3 x 2^-53, at an eighth of a
/// turn 2.6e-16. The polynomials end with two roundings of numbers below one.
#[inline(always)]
pub(crate) fn sin_cos(angle: u64) -> (f64, f64) {
    // 2 pi / 2^64.
    const UNIT: f64 = std::f64::consts::TAU / 18_446_744_073_709_551_616.0;
    // A number below 2^52 in the low bits of this is itself plus 2^52 as an f64.
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    const OFFSET_52: f64 = (1u64 << 52) as f64;
    // The nearest quarter turn, and the remainder plus an eighth of a turn.
    let ahead = angle.wrapping_add(1 << 61);
    let quadrant = ahead >> 62;
    let shifted = ahead & ((1 << 62) - 1);
    let high = f64::from_bits(TWO_52 | (shifted >> 32)) - (OFFSET_52 + (1u64 << 29) as f64);
    let low = f64::from_bits(TWO_52 | (shifted & 0xffff_ffff)) - OFFSET_52;
    let x = (high * 4_294_967_296.0 + low) * UNIT;
    let y = x * x;
    let s = x + x * y * polynomial(y, &SIN);
    let c = 1.0 + y * polynomial(y, &COS);
    let (sine, cosine) = if quadrant & 1 == 0 { (s, c) } else { (c, s) };
    // Sines are negative in quadrants 2 and 3, cosines in 1 and 2.
    let sine_sign = (quadrant & 2) << 62;
    let cosine_sign = ((quadrant + 1) & 2) << 62;
    (
        f64::from_bits(sine.to_bits() ^ sine_sign),
        f64::from_bits(cosine.to_bits() ^ cosine_sign),
    )
}

#[inline(always)]
fn polynomial(y: f64, coefficients: &[f64; 8]) -> f64 {
    let [c0, c1, c2, c3, c4, c5, c6, c7] = *coefficients;
    ((((((c7 * y + c6) * y + c5) * y + c4) * y + c3) * y + c2) * y + c1) * y + c0
}

/// -1/3!, 1/5!, ...; the first term left out is below 2^-68.
const SIN: [f64; 8] = taylor(3);
/// -1/2!, 1/4!, ...
const COS: [f64; 8] = taylor(2);

const fn taylor(first: u64) -> [f64; 8] {
    let mut out = [0.0; 8];
    let mut factorial: u128 = 1;
    let mut n = 1;
    let mut k = 0;
    while k < 8 {
        while n < first + 2 * k as u64 {
            n += 1;
            factorial *= n as u128;
        }
        out[k] = 1.0 / factorial as f64;
        if k % 2 == 0 {
            out[k] = -out[k];
        }
        k += 1;
    }
    out
}
