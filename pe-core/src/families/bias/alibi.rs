//! Attention with linear biases (ALiBi).

use std::ops::Range;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::families::bias::toeplitz::relative_distances;
use crate::limits::POSITIONS;
use crate::num::elementary::FixedPoint;
use crate::num::real::Real;
use crate::round::{Float, decided_f64, magnitude, nearest};
use crate::rows::element::Element;
use crate::table::Table;

/// Most heads of a bias: 2^16.
pub const MAX_HEADS: usize = 1 << 16;

/// Specification of the slopes of ALiBi (Press, Smith, Lewis: "Train Short, Test Long", 2021).
///
/// For a number of heads `n` that is a power of two, head `h` has the slope
///
/// ```text
/// m_h = 2^(-bias_max (h + 1) / n)        h = 0 .. n
/// ```
///
/// Other numbers of heads use all slopes of the next lower power of two, and then every other slope of the next higher
/// one, starting with its first. This is the order of Press, BLOOM, Falcon, MPT, Jina, and x-transformers. (MPT
/// uses the odd and then the even slopes of the next higher power, which is the same.)
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct AlibiConfig {
    /// Number of heads, 1 to [`MAX_HEADS`].
    pub num_heads: usize,
    /// Exponent of the last slope of a power of two: `alibi_bias_max` of MPT. Defaults to 8.
    pub bias_max: f64,
}

impl AlibiConfig {
    /// Creates the specification of the paper: `bias_max` 8.
    pub const fn new(num_heads: usize) -> Self {
        Self {
            num_heads,
            bias_max: 8.0,
        }
    }

    /// Returns the exponent of each slope, as numerator and denominator of the factor of `bias_max`.
    fn exponents(&self) -> Result<Vec<(u64, u64)>> {
        let Self {
            num_heads,
            bias_max,
        } = *self;
        if num_heads == 0 || num_heads > MAX_HEADS {
            return Err(Error::Bias {
                name: "num_heads",
                value: num_heads as u64,
                allowed: "1..=65536",
            });
        }
        if !(bias_max.is_finite() && bias_max > 0.0) {
            return Err(Error::NotPositive {
                name: "alibi_bias_max",
                value: bias_max,
            });
        }
        let lower = 1 << num_heads.ilog2();
        let mut exponents: Vec<_> = (1..=lower).map(|h| (h, lower)).collect();
        exponents.extend((1..2 * lower).step_by(2).map(|h| (h, 2 * lower)));
        exponents.truncate(num_heads);
        Ok(exponents)
    }
}

/// Checked slopes of ALiBi, the builder of rows by distance.
///
/// Cloning is cheap, and clones share the slopes. Every entry is the value of its type nearest to the true
/// product.
///
/// ```
/// use pe_core::{AlibiConfig, AlibiSlopes};
///
/// let slopes = AlibiSlopes::new(AlibiConfig::new(2))?;
/// assert_eq!(slopes.values::<f32>(), [0.0625, 0.00390625]);
/// let mut rows = [0f32; 4]; // distances 1 and 2, a column for each head
/// slopes.fill_distances(1..3, &mut rows)?;
/// assert_eq!(rows, [-0.0625, -0.00390625, -0.125, -0.0078125]);
/// # Ok::<(), pe_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct AlibiSlopes {
    config: AlibiConfig,
    slopes: Arc<[Real]>,
}

impl PartialEq for AlibiSlopes {
    fn eq(&self, other: &Self) -> bool {
        self.config == other.config
    }
}

impl AlibiSlopes {
    /// Checks the specification and computes the slopes.
    ///
    /// # Errors
    /// Returns an error if `num_heads` is 0 or above [`MAX_HEADS`], or `bias_max` is not positive and finite.
    pub fn new(config: AlibiConfig) -> Result<Self> {
        let slopes = slopes(&config)?.into();
        Ok(Self { config, slopes })
    }

    /// Returns the specification.
    pub fn config(&self) -> &AlibiConfig {
        &self.config
    }

    /// Returns the slopes, one per head, each the `T` nearest to the true power of two.
    pub fn values<T: Element>(&self) -> Vec<T> {
        self.slopes.iter().map(|slope| rounded(*slope)).collect()
    }

    /// Writes `-slope x distance`, a row for each distance and a column for each head.
    ///
    /// # Errors
    /// Returns an error if the range descends or ends above 2^32, or if `out` does not hold exactly one row
    /// per distance.
    pub fn fill_distances<T: Element>(&self, distances: Range<u64>, out: &mut [T]) -> Result<()> {
        let Range { start, end } = distances;
        if start > end || end > POSITIONS {
            return Err(Error::Range { start, end });
        }
        let heads = self.slopes.len();
        let expected = (end - start).saturating_mul(heads as u64);
        if out.len() as u64 != expected {
            return Err(Error::Length {
                name: "out",
                len: out.len(),
                expected,
            });
        }
        for (head, slope) in self.slopes.iter().enumerate() {
            let plain = slope.to_f64();
            let column = out.iter_mut().skip(head).step_by(heads);
            for (distance, out) in distances.clone().zip(column) {
                *out = product(*slope, plain, -(distance as i64));
            }
        }
        Ok(())
    }
}

/// Computes the slopes of ALiBi, one per head.
///
/// Every slope is the `T` nearest to the true power of two. (BLOOM, Falcon, and MPT compute them in `f32` by a
/// power of a rounded base, with an error of up to 11 ulp for 128 heads. Falcon rounds them to `bf16`: `T` = `bf16`.)
///
/// # Errors
/// Returns an error if `num_heads` is 0 or above [`MAX_HEADS`], or `bias_max` is not positive and finite.
///
/// # Examples
/// ```
/// use pe_core::{AlibiConfig, alibi_slopes};
///
/// let slopes = alibi_slopes::<f32>(&AlibiConfig::new(8))?;
/// assert_eq!(slopes[0], 0.5);
/// assert_eq!(slopes[7], 1.0 / 256.0);
/// // 12 heads: those of 8, and every other one of 16.
/// let slopes = alibi_slopes::<f32>(&AlibiConfig::new(12))?;
/// assert_eq!(slopes[8], 0.70710677); // 2^(-1/2)
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn alibi_slopes<T: Element>(config: &AlibiConfig) -> Result<Vec<T>> {
    Ok(AlibiSlopes::new(*config)?.values())
}

/// Returns the slopes with an error below 2^-290 of each.
fn slopes(config: &AlibiConfig) -> Result<Vec<Real>> {
    let ln_2 = Real::from(FixedPoint::ln(2.0));
    let scaled = Real::from(config.bias_max) * ln_2;
    let slope = |(numerator, denominator): (u64, u64)| {
        let ratio = Real::from(numerator) / Real::from(denominator);
        // An exponent beyond the range of `exp` gives a slope that every type rounds to zero.
        (-(scaled * ratio)).exp().unwrap_or(Real::from(0.0))
    };
    Ok(config.exponents()?.into_iter().map(slope).collect())
}

fn rounded<T: Float>(value: Real) -> T {
    nearest(value.negative, magnitude(value.size))
}

/// Computes `-slope x |key - query|` for every distance of `q_len` queries and `kv_len` keys: one row of
/// `q_len + kv_len - 1` values per head, in the order of [`relative_distances`]. Every value is the `T` nearest to
/// the true product.
///
/// The bias is symmetric, as in Jina-BERT and in encoders of x-transformers. In causal attention it equals, up to a
/// constant per row that the softmax removes, the `slope x key` of BLOOM, MPT, and Falcon.
///
/// # Errors
/// Returns the errors of [`alibi_slopes`] and [`relative_distances`], and an error if the table exceeds
/// [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES).
///
/// # Examples
/// ```
/// use pe_core::{AlibiConfig, alibi_distances};
///
/// let bias = alibi_distances::<f32>(&AlibiConfig::new(2), 1, 4, 3)?; // the token at position 3
/// assert_eq!(bias.row(0), Some(&[-0.1875, -0.125, -0.0625, 0.0][..]));
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn alibi_distances<T: Element>(
    config: &AlibiConfig,
    q_len: usize,
    kv_len: usize,
    offset: u64,
) -> Result<Table<T>> {
    let distances = relative_distances(q_len, kv_len, offset)?;
    let len = q_len + kv_len - 1;
    products(config, len, distances.map(|distance| -distance.abs()))
}

/// Computes `slope x position` for positions in any order: one row per head. BLOOM adds such values of the keys'
/// positions, and MPT those of `key - (kv_len - 1)`. Every value is the `T` nearest to the true product.
///
/// # Errors
/// Returns the errors of [`alibi_slopes`], and an error if the table exceeds
/// [`MAX_TABLE_BYTES`](crate::MAX_TABLE_BYTES).
///
/// # Examples
/// ```
/// use pe_core::{AlibiConfig, alibi_positions};
///
/// let bias = alibi_positions::<f32>(&AlibiConfig::new(2), &[0, 1, 2])?;
/// assert_eq!(bias.row(1), Some(&[0.0, 0.00390625, 0.0078125][..]));
/// # Ok::<(), pe_core::Error>(())
/// ```
pub fn alibi_positions<T: Element>(config: &AlibiConfig, positions: &[i64]) -> Result<Table<T>> {
    products(config, positions.len(), positions.iter().copied())
}

fn products<T: Element>(
    config: &AlibiConfig,
    len: usize,
    factors: impl Iterator<Item = i64> + Clone,
) -> Result<Table<T>> {
    let slopes = slopes(config)?;
    let mut table = Table::zeros(slopes.len() as u64, len)?;
    let rows = table.as_mut_slice().chunks_exact_mut(len.max(1));
    for (slope, row) in slopes.iter().zip(rows) {
        let plain = slope.to_f64();
        for (factor, out) in factors.clone().zip(row) {
            *out = product(*slope, plain, factor);
        }
    }
    Ok(table)
}

/// Returns the nearest value of `slope x factor`. `plain` is the slope's nearest `f64`.
fn product<T: Element>(slope: Real, plain: f64, factor: i64) -> T {
    // Two roundings have a relative error below 2^-52 where the factor is exact.
    if factor.unsigned_abs() < 1 << 53 && plain >= f64::MIN_POSITIVE {
        let value = plain * factor as f64;
        let error = value.abs() * f64::EPSILON;
        if let Some(value) = decided_f64(value, error) {
            return value;
        }
    }
    let size = Real::from(factor.unsigned_abs());
    let value = slope * size;
    rounded(if factor < 0 { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_plain_f64_equal_those_of_wide_numbers() {
        for slope in slopes(&AlibiConfig::new(12)).unwrap() {
            for factor in [0, 1, -1, 3, 77, -4_095, 8_191, 1 << 20, -(1 << 40) - 1] {
                let wide = product::<f32>(slope, 0.0, factor);
                assert_eq!(product::<f32>(slope, slope.to_f64(), factor), wide);
                let wide = product::<half::bf16>(slope, 0.0, factor);
                assert_eq!(product::<half::bf16>(slope, slope.to_f64(), factor), wide);
            }
        }
    }

    #[test]
    fn slopes_below_every_float_are_zero() {
        let config = AlibiConfig {
            bias_max: 1e300,
            ..AlibiConfig::new(4)
        };
        assert_eq!(alibi_slopes::<f64>(&config).unwrap(), [0.0; 4]);
    }
}
