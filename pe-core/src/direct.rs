//! Single rows: each pair's angle and a polynomial, in lanes.
//!
//! A row on its own, such as that of one token while decoding, is too little work
//! for a rotation. The top 64 bits of `position x frequency` come from three
//! 32-bit products per pair; then everything is f64 arithmetic without branches,
//! for as many pairs at once as the instruction set has room for. Nothing is
//! allocated.

use pulp::{Arch, Simd, WithSimd};

use crate::columns::{Columns, PairSlices};
use crate::frequency::Frequency;
use crate::lane::{RUN, fused};
use crate::precise::{self, Reduced};
use crate::round::Element;
use crate::sincos::{self, Position, Rungs};

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
pub(crate) fn fill_row<T: Element>(
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

impl<T: Element> WithSimd for Run<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let [high, middle, low] = self.pieces;
        // Half the instructions of a product are saved where both factors are seen to have 32 bits.
        let times = |piece: u64| (piece & 0xffff_ffff) * u64::from(self.position);
        let pairs = high.iter().zip(middle).zip(low).map(
            #[inline(always)]
            |((high, middle), low)| {
                // Modulo one turn: what overflows 64 bits are whole turns.
                let angle = (times(*high) << 32)
                    .wrapping_add(times(*middle))
                    .wrapping_add(times(*low) >> 32);
                sin_cos::<S>(angle)
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

impl<T: Element> WithSimd for PreciseRun<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let mut parts = [[0.0; RUN]; 4];
        let [sin_high, sin_low, cos_high, cos_low] = &mut parts;
        precise::Run {
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
fn settle<T: Element>(
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
/// turn 2.6e-16. The polynomials end with two roundings of numbers below one (one, if fused).
#[inline(always)]
pub(crate) fn sin_cos<S: Simd>(angle: u64) -> (f64, f64) {
    // 2 pi / 2^66.
    const UNIT: f64 = std::f64::consts::TAU / 73_786_976_294_838_206_464.0;
    // In the low bits of the first, 32 bits h are 2^84 + 2^32 h; of the second, 2^52 + h.
    const TWO_84: u64 = 0x4530_0000_0000_0000;
    const TWO_52: u64 = 0x4330_0000_0000_0000;
    // 2^84 + 2^63 + 2^52.
    const OFFSET: f64 = f64::from_bits(TWO_84 | 1 << 31 | 1 << 20);
    const SIGN: u64 = 1 << 63;
    // The distance from the nearest quarter turn, in units of 2^-66 turns: an i64. Its upper half
    // gets 2^31 added, as nothing below 0 fits there.
    let rest = angle << 2;
    let high = f64::from_bits((rest >> 32) ^ (TWO_84 | 1 << 31));
    let low = f64::from_bits(rest & 0xffff_ffff | TWO_52);
    let x = (high - OFFSET + low) * UNIT;
    let y = x * x;
    let s = fused::<S>(x * y, polynomial::<S>(y, &SIN), x).to_bits();
    let c = fused::<S>(y, polynomial::<S>(y, &COS), 1.0).to_bits();
    // Its upper two bits are the quadrant; in odd ones sine and cosine change places.
    let ahead = angle.wrapping_add(1 << 61);
    let odd = ((ahead << 1) as i64 >> 63) as u64;
    let change = (s ^ c) & odd;
    // Sines are negative in quadrants 2 and 3, cosines in 1 and 2.
    let sine_sign = ahead & SIGN;
    let cosine_sign = ahead.wrapping_add(1 << 62) & SIGN;
    (
        f64::from_bits(s ^ change ^ sine_sign),
        f64::from_bits(c ^ change ^ cosine_sign),
    )
}

#[inline(always)]
fn polynomial<S: Simd>(y: f64, coefficients: &[f64; 8]) -> f64 {
    let [rest @ .., last] = coefficients;
    let mut sum = *last;
    for coefficient in rest.iter().rev() {
        sum = fused::<S>(sum, y, *coefficient);
    }
    sum
}

/// -1/3!, 1/5!, ...; the first term left out is below 2^-63.
const SIN: [f64; 8] = taylor(3);
/// -1/2!, 1/4!, ...; below 2^-58.
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
