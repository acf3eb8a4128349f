//! Normally distributed numbers that are the same on every machine.

#![allow(clippy::arithmetic_side_effects)] // numerics: counters far from their ends, and floats

use candle_core::{Device, Result, Tensor, Var, bail};
use candle_nn::{Init, VarBuilder};

use crate::kernel::philox::philox4x32_10;

/// Start of a trained table: normally distributed values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start {
    /// Standard deviation.
    pub(crate) std: f64,
    pub(crate) seed: u64,
    /// A row of zeros.
    pub(crate) padding: Option<u32>,
}

impl Start {
    pub(crate) fn check(self) -> Result<()> {
        let std = self.std;
        if !(std.is_finite() && std >= 0.0) {
            bail!("init_std {std:?} is not a finite number of at least 0");
        }
        Ok(())
    }

    /// Returns a tensor of a checkpoint, or a variable of a `VarMap`, which starts with values that depend on the
    /// seed alone if it is new.
    pub(crate) fn get(self, dims: &[usize], name: &str, vb: &VarBuilder<'_>) -> Result<Tensor> {
        let is_new = !vb.contains_tensor(name);
        let tensor = vb.get_with_hints(dims, name, Init::Const(0.0))?;
        if is_new && tensor.is_variable() {
            let mut values = normal(self.seed, tensor.elem_count());
            for value in &mut values {
                *value *= self.std;
            }
            let width = dims.last().copied().unwrap_or(1).max(1);
            let padding = self.padding.map(|row| row as usize);
            let padding = padding.and_then(|row| values.chunks_mut(width).nth(row));
            padding.unwrap_or_default().fill(0.0);
            let values = Tensor::from_vec(values, dims, &Device::Cpu)?;
            let values = values
                .to_dtype(tensor.dtype())?
                .to_device(tensor.device())?;
            Var::from_tensor(&tensor)?.set(&values)?;
        }
        Ok(tensor)
    }
}

/// Returns `count` independent numbers with mean 0 and standard deviation 1.
///
/// G. Marsaglia's polar method on the words of Philox: pair `i` uses the counter `(i, attempt)` until a
/// point lies in the unit circle. Only operations that IEEE 754 rounds correctly are used, so the bits
/// do not depend on a library of functions.
fn normal(seed: u64, count: usize) -> Vec<f64> {
    let key = [seed as u32, (seed >> 32) as u32];
    let pair = |index: u64| {
        let mut attempt = 0;
        loop {
            let counter = [index as u32, (index >> 32) as u32, attempt, 0];
            let [a, b, c, d] = philox4x32_10(counter, key).map(u64::from);
            let [x, y] = [a << 32 | b, c << 32 | d].map(symmetric);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * ln(square) / square).sqrt();
                return [x * factor, y * factor];
            }
            attempt += 1;
        }
    };
    let pairs = count.div_ceil(2) as u64;
    (0..pairs).flat_map(pair).take(count).collect()
}

/// Returns a number in (-1, 1) from 64 random bits.
fn symmetric(bits: u64) -> f64 {
    const UNIT: f64 = 1.0 / (1u64 << 52) as f64;
    ((bits >> 11) as f64 + 0.5) * UNIT - 1.0
}

/// Returns the natural logarithm of a normal positive number, within a few ulp.
fn ln(x: f64) -> f64 {
    const ONE: u64 = 1023 << 52;
    let power = ((x.to_bits() >> 52) as i64) - 1023;
    let mantissa = f64::from_bits(x.to_bits() & ((1 << 52) - 1) | ONE);
    // Between the square roots of 1/2 and 2.
    let (mantissa, power) = match mantissa > std::f64::consts::SQRT_2 {
        true => (mantissa / 2.0, power + 1),
        false => (mantissa, power),
    };
    // ln m = 2 artanh((m - 1) / (m + 1)), with an argument of at most 0.172.
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let mut sum = 0.0;
    for k in (0..12).rev() {
        sum = sum * square + 1.0 / f64::from(2 * k + 1);
    }
    power as f64 * std::f64::consts::LN_2 + 2.0 * t * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        for (x, wanted) in [
            (1.0, 0.0),
            (2.0, std::f64::consts::LN_2),
            (10.0, std::f64::consts::LN_10),
            (0.1, -std::f64::consts::LN_10),
            (1e-300, -300.0 * std::f64::consts::LN_10),
        ] {
            assert!((ln(x) - wanted).abs() <= 4e-16 * wanted.abs(), "{x}");
        }
    }

    #[test]
    fn moments_and_tails_are_those_of_a_normal_distribution() {
        let values = normal(3, 200_001);
        assert_eq!(values.len(), 200_001);
        let power = |v: &f64, power: usize| [*v; 4][..power].iter().product::<f64>();
        let mean = |n: usize| values.iter().map(|v| power(v, n)).sum::<f64>() / 200_001.0;
        assert!(mean(1).abs() < 0.01 && (mean(2) - 1.0).abs() < 0.02);
        assert!(mean(3).abs() < 0.05 && (mean(4) - 3.0).abs() < 0.1);
        let beyond = values.iter().filter(|v| v.abs() > 3.0).count();
        assert!((430..650).contains(&beyond), "{beyond}"); // 0.27%
        assert_eq!(normal(3, 7), values[..7]);
        assert_ne!(normal(4, 7), values[..7]);
    }
}
