//! Double-double sines and cosines of many pairs: the seeds of the recurrence, and single rows of
//! f64.
//!
//! The 128-bit path gives at least 93 correct bits at 150 ns per pair, this one 76 in a tenth of
//! the time. The phase is reduced modulo a quarter turn in integers. Taylor polynomials then
//! evaluate the remainder, with their leading terms kept in two parts (see [`split`]).

use pulp::{Arch, Simd, WithSimd};

use crate::num::fixed::Fixed;
use crate::sincos::fixed::{COS_2, SIN_2};
use crate::sincos::hi_lo::{Angle, Angles, resplit, split, times};
use crate::turns::frequency::Frequency;
use crate::turns::phase::Phase;

/// Number of pairs computed in one run.
pub(crate) const RUN: usize = 64;

/// Bound on the error of each sine and cosine computed here: 2^-76.
///
/// In units of 2^-80: the argument has an error of less than 6 (the phase 2^-95 of a turn and its
/// low word 2^-85, the products with the parts of 2 pi 1 each, and 2 for the constant). Each
/// double-double Horner step loses less than 3 (four products of at most 2^-27 and their sum, then
/// the new split) and is scaled by a square of at most 0.617, in total less than 8. The steps in
/// plain f64 lose less than 1, and the omitted terms are less than 2^-86.
pub(crate) const PRECISE_ERROR: f64 = 1.0 / ((1u128 << 76) as f64);

/// Writes the angles of `frequencies` at a position, or half a position later, to `out`.
pub(crate) fn angles(
    arch: Arch,
    frequencies: &[Frequency],
    position: u64,
    half_later: bool,
    out: &mut Angles,
) {
    for (first, frequencies) in frequencies.chunks(RUN).enumerate() {
        let mut reduced = Reduced::NONE;
        for (at, frequency) in frequencies.iter().enumerate() {
            let mut phase = frequency.phase.0.wrapping_mul(u128::from(position));
            if half_later {
                phase = phase.wrapping_add(frequency.halved().phase.0);
            }
            reduced.set(at, Phase(phase));
        }
        let run = first * RUN..first * RUN + frequencies.len();
        arch.dispatch(Run {
            reduced: &reduced,
            out: [
                &mut out.sin_high[run.clone()],
                &mut out.sin_low[run.clone()],
                &mut out.cos_high[run.clone()],
                &mut out.cos_low[run],
            ],
        });
    }
}

/// A run of phases, each as a number of quarter turns and a remainder in turns.
pub(crate) struct Reduced {
    quadrant: [u64; RUN],
    /// Leading 29 bits of the remainder.
    head: [f64; RUN],
    /// Rest of the remainder, below 2^-32.
    tail: [f64; RUN],
}

impl Reduced {
    pub(crate) const NONE: Self = Self {
        quadrant: [0; RUN],
        head: [0.0; RUN],
        tail: [0.0; RUN],
    };

    #[inline(always)]
    pub(crate) fn set(&mut self, at: usize, phase: Phase) {
        const UNIT_32: f64 = 1.0 / (1u64 << 32) as f64;
        const UNIT_95: f64 = UNIT_32 * UNIT_32 / (1u64 << 31) as f64;
        // The nearest quarter turn, and the remainder plus an eighth of a turn.
        let ahead = phase.0.wrapping_add(1 << 125);
        let head = ((ahead >> 96) as i32 & 0x3fff_ffff) - (1 << 29);
        let tail = (ahead >> 33) as i64 & i64::MAX;
        self.quadrant[at] = (ahead >> 126) as u64;
        self.head[at] = f64::from(head) * UNIT_32;
        self.tail[at] = tail as f64 * UNIT_95;
    }
}

/// A run on the chosen instruction set (`rows::recurrence` explains why this is a structure).
pub(crate) struct Run<'a> {
    pub(crate) reduced: &'a Reduced,
    pub(crate) out: [&'a mut [f64]; 4],
}

impl WithSimd for Run<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let [sin_high, sin_low, cos_high, cos_low] = self.out;
        for (((((sh, sl), ch), cl), (quadrant, head)), tail) in sin_high
            .iter_mut()
            .zip(sin_low)
            .zip(cos_high)
            .zip(cos_low)
            .zip(self.reduced.quadrant.iter().zip(&self.reduced.head))
            .zip(&self.reduced.tail)
        {
            [*sh, *sl, *ch, *cl] = sin_cos(*quadrant, *head, *tail);
        }
    }
}

/// Computes the sine and cosine of `quadrant` quarter turns plus `head` + `tail` turns.
#[inline(always)]
fn sin_cos(quadrant: u64, head: f64, tail: f64) -> Angle {
    // 2 pi as a multiple of 2^-21, so that its product with a head is exact, and the rest.
    const TAU_HIGH: f64 = 13_176_795.0 / (1u64 << 21) as f64;
    const TAU_LOW: f64 = -1.748_455_600_074_497e-7;
    let x = resplit((
        head * TAU_HIGH,
        head * TAU_LOW + tail * std::f64::consts::TAU,
    ));
    let y = resplit((x.0 * x.0, 2.0 * x.0 * x.1 + x.1 * x.1));
    let sine = resplit(times(x, series(y, &SIN_HEAD, &SIN_TAIL)));
    let cosine = series(y, &COS_HEAD, &COS_TAIL);
    let ((sh, sl), (ch, cl)) = if quadrant & 1 == 0 {
        (sine, cosine)
    } else {
        (cosine, sine)
    };
    // Sines are negative in quadrants 2 and 3, cosines in 1 and 2.
    let sine_sign = (quadrant & 2) << 62;
    let cosine_sign = ((quadrant + 1) & 2) << 62;
    let signed = |part: f64, sign: u64| f64::from_bits(part.to_bits() ^ sign);
    [
        signed(sh, sine_sign),
        signed(sl, sine_sign),
        signed(ch, cosine_sign),
        signed(cl, cosine_sign),
    ]
}

/// Evaluates c0 - y (c1 - y (c2 - ...)), the leading coefficients in two parts, the others in plain
/// f64.
#[inline(always)]
fn series<const N: usize>(y: (f64, f64), head: &[(f64, f64); N], tail: &[f64; 6]) -> (f64, f64) {
    let plain = y.0 + y.1;
    let [c0, c1, c2, c3, c4, c5] = *tail;
    let rest = c0 - plain * (c1 - plain * (c2 - plain * (c3 - plain * (c4 - plain * c5))));
    let mut sum = resplit((rest, 0.0));
    for (high, low) in head.iter().rev() {
        let product = times(y, sum);
        sum = resplit((high - product.0, low - product.1));
    }
    sum
}

/// 1/1!, 1/3! ... 1/9! and 1/0!, 1/2! ... 1/10!
const SIN_HEAD: [(f64, f64); 5] = head(&SIN_2);
const COS_HEAD: [(f64, f64); 6] = head(&COS_2);
/// 1/11! ... 1/21! and 1/12! ... 1/22!
const SIN_TAIL: [f64; 6] = tail(&SIN_2, 5);
const COS_TAIL: [f64; 6] = tail(&COS_2, 6);

const fn bits(fraction: &Fixed<2>) -> u128 {
    fraction.0[0] as u128 | (fraction.0[1] as u128) << 64
}

const fn head<const N: usize>(coefficients: &[Fixed<2>; 17]) -> [(f64, f64); N] {
    let mut out = [(1.0, 0.0); N];
    let mut k = 1;
    while k < N {
        out[k] = split(false, bits(&coefficients[k]));
        k += 1;
    }
    out
}

const fn tail(coefficients: &[Fixed<2>; 17], first: usize) -> [f64; 6] {
    const UNIT_64: f64 = 1.0 / (1u128 << 64) as f64;
    let mut out = [0.0; 6];
    let mut k = 0;
    while k < 6 {
        out[k] = bits(&coefficients[first + k]) as f64 * UNIT_64 * UNIT_64;
        k += 1;
    }
    out
}

/// Computes the same angle by the 128-bit path.
#[cfg(test)]
pub(crate) fn angle_128(phase: Phase) -> Angle {
    let values = crate::sincos::fixed::sin_cos_128(phase.reduce(), 0);
    let (sh, sl) = split(values.sine_negative, values.sine);
    let (ch, cl) = split(values.cosine_negative, values.cosine);
    [sh, sl, ch, cl]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::float::BigFloat;
    use crate::sincos::backend::Backend;

    /// Compared with the 128-bit path, with an error below 2^-120, on every instruction set.
    #[test]
    fn sines_and_cosines_stay_within_the_bound() {
        let golden = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_u128;
        let spread = (1..40_000u128).map(|n| Phase(golden.wrapping_mul(n)));
        let edges = (0..16u128).flat_map(|part| {
            (0..124).flat_map(move |shift| {
                let at = part << 124;
                [at.wrapping_add(1 << shift), at.wrapping_sub(1 << shift)].map(Phase)
            })
        });
        let frequencies: Vec<Frequency> = spread
            .chain(edges)
            .map(|phase| Frequency {
                phase,
                wide: BigFloat::ONE,
            })
            .collect();
        for (name, backend) in Backend::available() {
            let mut out = Angles::with_capacity(frequencies.len());
            angles(backend.arch(), &frequencies, 1, false, &mut out);
            let mut worst = 0f64;
            for (pair, frequency) in frequencies.iter().enumerate() {
                let (found, exact) = (out.get(pair), angle_128(frequency.phase));
                assert!(
                    found[1].abs() <= 0.6 / (1u64 << 26) as f64
                        && found[3].abs() <= 0.6 / (1u64 << 26) as f64
                );
                worst = worst
                    .max(((found[0] - exact[0]) + (found[1] - exact[1])).abs())
                    .max(((found[2] - exact[2]) + (found[3] - exact[3])).abs());
            }
            assert!(worst < PRECISE_ERROR / 2.0, "{name}: {worst:e}");
            assert!(worst > PRECISE_ERROR / 64.0, "{name}: {worst:e}");
        }
    }
}
