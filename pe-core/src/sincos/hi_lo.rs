//! Double-double values (hi + lo), and angles stored as such sines and cosines.
//!
//! `high` is a multiple of 2^-26, so that products of two of them, and sums of such products, are
//! exact. `low` is at most about 2^-27. Each step of arithmetic has an error of about 2^-79, on
//! every instruction set and without fused operations.

/// Sine and cosine of an angle: sine high, sine low, cosine high, cosine low.
pub(crate) type Angle = [f64; 4];

/// Angles of many pairs.
#[derive(Debug, Clone)]
pub(crate) struct Angles {
    pub(crate) sin_high: Vec<f64>,
    pub(crate) sin_low: Vec<f64>,
    pub(crate) cos_high: Vec<f64>,
    pub(crate) cos_low: Vec<f64>,
}

impl Angles {
    pub(crate) fn with_capacity(len: usize) -> Self {
        let zeros = || vec![0.0; len];
        Self {
            sin_high: zeros(),
            sin_low: zeros(),
            cos_high: zeros(),
            cos_low: zeros(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.sin_high.len()
    }

    #[cfg(test)]
    pub(crate) fn get(&self, pair: usize) -> Angle {
        [
            self.sin_high[pair],
            self.sin_low[pair],
            self.cos_high[pair],
            self.cos_low[pair],
        ]
    }

    /// Writes the angles times a factor part after part: as plain f64 values times the power of two
    /// `scale`, or in all four parts. The factor has two parts, the first a multiple of `size` x 2^-26,
    /// and is at most `size`, a power of two.
    #[inline(always)]
    pub(crate) fn collect(
        &self,
        scale: Option<f64>,
        (factor, size): ((f64, f64), f64),
        out: &mut [f64],
    ) {
        let pairs = self.len();
        let sines = self.sin_high.iter().zip(&self.sin_low);
        let cosines = self.cos_high.iter().zip(&self.cos_low);
        if let Some(scale) = scale {
            let (of_sines, of_cosines) = out.split_at_mut(pairs);
            // Not one loop over a chain: that would have no vectors.
            for (values, out) in [(sines, of_sines), (cosines, of_cosines)] {
                for ((high, low), out) in values.zip(out) {
                    let (high, low) = times((*high, *low), factor);
                    *out = (high + low) * scale;
                }
            }
            return;
        }
        let (of_sines, of_cosines) = out.split_at_mut(2 * pairs);
        for (values, out) in [(sines, of_sines), (cosines, of_cosines)] {
            let (out_high, out_low) = out.split_at_mut(pairs);
            for ((high, low), out) in values.zip(out_high.iter_mut().zip(out_low)) {
                let product = times((*high, *low), factor);
                (*out.0, *out.1) = resplit_at(product, size);
            }
        }
    }

    /// Adds `step` pair by pair.
    #[inline(always)]
    pub(crate) fn advance(&mut self, step: &Self) {
        let pairs = self.sin_high.len();
        let (sh, sl) = (&mut self.sin_high[..pairs], &mut self.sin_low[..pairs]);
        let (ch, cl) = (&mut self.cos_high[..pairs], &mut self.cos_low[..pairs]);
        let (th, tl) = (&step.sin_high[..pairs], &step.sin_low[..pairs]);
        let (uh, ul) = (&step.cos_high[..pairs], &step.cos_low[..pairs]);
        for i in 0..pairs {
            let a = [sh[i], sl[i], ch[i], cl[i]];
            let b = [th[i], tl[i], uh[i], ul[i]];
            let [sine, _, cosine, _] = sum_and_difference(a, b);
            (sh[i], sl[i]) = resplit(sine);
            (ch[i], cl[i]) = resplit(cosine);
        }
    }
}

/// Splits `bits` / 2^128, with a sign, into a high and a low part.
pub(crate) const fn split(negative: bool, bits: u128) -> (f64, f64) {
    const UNIT_26: f64 = 1.0 / (1u64 << 26) as f64;
    const UNIT_128: f64 = UNIT_26 * UNIT_26 * UNIT_26 * UNIT_26 / (1u64 << 24) as f64;
    let high = (bits >> 102) + (bits >> 101 & 1);
    // 2^26 units wrap to 0 here, and the subtraction wraps back.
    let low = bits.wrapping_sub(high << 102) as i128;
    let (high, low) = (high as u64 as f64 * UNIT_26, low as f64 * UNIT_128);
    if negative { (-high, -low) } else { (high, low) }
}

/// Computes the sines of a + b and a - b, then the cosines, each as an exact multiple of 2^-52 and
/// a small rest. (Unused results cost nothing.)
///
/// A rest has six terms of at most 2^-27 and loses less than 2^-76.5.
#[inline(always)]
pub(crate) fn sum_and_difference(a: Angle, b: Angle) -> [(f64, f64); 4] {
    let [sh, sl, ch, cl] = a;
    let [th, tl, uh, ul] = b;
    // sin a cos b, cos a sin b, cos a cos b, sin a sin b.
    let (su, su_low) = (sh * uh, (sh * ul + sl * uh) + sl * ul);
    let (ct, ct_low) = (ch * th, (ch * tl + cl * th) + cl * tl);
    let (cu, cu_low) = (ch * uh, (ch * ul + cl * uh) + cl * ul);
    let (st, st_low) = (sh * th, (sh * tl + sl * th) + sl * tl);
    [
        (su + ct, su_low + ct_low),
        (su - ct, su_low - ct_low),
        (cu - st, cu_low - st_low),
        (cu + st, cu_low + st_low),
    ]
}

/// Returns the product of two sums. The product of the high parts is exact.
///
/// A rest has three terms of at most 2^-26 and loses less than 2^-77.
#[inline(always)]
pub(crate) fn times(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 * b.0, (a.0 * b.1 + a.1 * b.0) + a.1 * b.1)
}

/// Returns the same sum with a high part that is again a multiple of 2^-26.
#[inline(always)]
pub(crate) fn resplit(sum: (f64, f64)) -> (f64, f64) {
    resplit_at(sum, 1.0)
}

/// Does the same for sums times a power of two, `size`: the high part is a multiple of `size` x 2^-26.
#[inline(always)]
fn resplit_at((high, low): (f64, f64), size: f64) -> (f64, f64) {
    // Adding 1.5 x 2^26 leaves room for 26 bits after the binary point.
    const ROUNDER: f64 = (3u64 << 25) as f64;
    let rounder = ROUNDER * size;
    let new_high = ((high + low) + rounder) - rounder;
    (new_high, (high - new_high) + low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_loses_nothing() {
        for bits in [
            0,
            1,
            1 << 101,
            (1 << 101) - 1,
            1 << 127,
            u128::MAX,
            0x1234_5678_9abc_def0_1122_3344_5566_7788,
        ] {
            let (high, low) = split(false, bits);
            let unit = 1.0 / (1u64 << 26) as f64;
            assert_eq!(high % unit, 0.0);
            assert!(low.abs() <= unit / 2.0);
            // The high part in units of 2^-128, which is 2^26 units of 2^-26 wide.
            let back = ((high / unit) as u128).wrapping_shl(102);
            let rest = bits.wrapping_sub(if high >= 1.0 { 0 } else { back }) as i128;
            let expected = rest as f64 / (1u128 << 127) as f64 / 2.0;
            assert!(
                (low - expected).abs() <= expected.abs() * f64::EPSILON,
                "{bits:x}"
            );
            assert_eq!(split(true, bits), (-high, -low));
        }
    }
}
