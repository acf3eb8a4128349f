//! Resizing along one axis.
//!
//! Sizes and scale factors are integers or fractions, so that coordinates and weights are fractions
//! as well. All of them are computed in integers of 128 bits, and a weight is rounded once.

use crate::error::{Error, Result};
use crate::families::resize::{ResizeBy, ResizeConfig, ResizeKernel};
use crate::limits::{MAX_GRID_SIDE, MAX_TERM};
use crate::round::ratio;
use crate::rows::element::Element;

/// Positions of one axis that contribute to each position of the resized axis, with their weights.
///
/// A weight is a fraction. The weights of a position have the sum 1 exactly, and
/// [`weights_of`](Self::weights_of) rounds each of them once. The sum of `n` rounded weights differs
/// from 1 by at most `n` times half an ulp of the largest weight, which is below 1.25.
#[derive(Debug, Clone, PartialEq)]
pub struct AxisTaps {
    from: usize,
    /// The weights of position `i` are those from `starts[i]` to `starts[i + 1]`.
    starts: Vec<u32>,
    sources: Vec<u32>,
    numerators: Vec<i128>,
    /// The nearest `f64` to each weight.
    weights: Vec<f64>,
    /// One for each position of the resized axis.
    denominators: Vec<i128>,
}

/// A ratio of two integers, the distance between two positions of the resized axis.
#[derive(Debug, Clone, Copy)]
struct Scale {
    p: i128,
    q: i128,
}

impl AxisTaps {
    /// Computes the weights for resizing an axis of `from` positions to `to`.
    ///
    /// # Errors
    /// Returns an error if
    /// - a size is zero or above [`MAX_GRID_SIDE`],
    /// - the kernel is one of nearest neighbors, with antialiasing or aligned corners,
    /// - a term of the scale factor is zero or above 2^24, or the factor leads to another size.
    pub fn new(config: ResizeConfig, from: usize, to: usize) -> Result<Self> {
        for (name, side) in [("a side of the grid", from), ("a side of the size", to)] {
            if side == 0 || side > MAX_GRID_SIDE {
                return Err(Error::GridSide { name, side });
            }
        }
        let nearest = matches!(
            config.kernel,
            ResizeKernel::Nearest | ResizeKernel::NearestExact
        );
        let options = [
            (config.antialias, "antialiasing"),
            (config.align_corners, "aligned corners"),
        ];
        for (set, option) in options {
            if set && nearest {
                let kernel = config.kernel.name();
                return Err(Error::ResizeOption { kernel, option });
            }
        }
        let scale = Scale::new(config, from, to)?;
        let mut taps = Self {
            from,
            starts: vec![0],
            sources: Vec::new(),
            numerators: Vec::new(),
            weights: Vec::new(),
            denominators: Vec::with_capacity(to),
        };
        for i in 0..to as i128 {
            taps.push(config, scale, i);
            let start = taps.weights.len();
            if let (Some(numerators), Some(denominator)) =
                (taps.numerators.get(start..), taps.denominators.last())
            {
                let weight = |numerator: &i128| quotient(*numerator, *denominator);
                taps.weights.extend(numerators.iter().map(weight));
            }
            taps.starts.push(taps.sources.len() as u32);
        }
        Ok(taps)
    }

    /// Returns the number of positions of the given axis.
    pub fn from(&self) -> usize {
        self.from
    }

    /// Returns the number of positions of the resized axis.
    pub fn to(&self) -> usize {
        self.denominators.len()
    }

    /// Returns the positions that contribute to position `to`, and the nearest `f64` to each of their weights.
    pub(crate) fn of(&self, to: usize) -> (&[u32], &[f64]) {
        let range = self.range(to);
        (&self.sources[range.clone()], &self.weights[range])
    }

    /// Returns the number of weights of all positions.
    pub(crate) fn total(&self) -> usize {
        self.sources.len()
    }

    /// Returns the positions that contribute to position `to`, ascending, with their weights rounded
    /// to `T`. Nothing contributes to a position beyond the axis.
    pub fn weights_of<T: Element>(&self, to: usize) -> impl Iterator<Item = (u32, T)> {
        let denominator = self.denominators.get(to).copied().unwrap_or(1);
        self.range(to).map(move |tap| {
            let weight = ratio(self.numerators[tap], denominator);
            (self.sources[tap], weight)
        })
    }

    /// Returns the positions that contribute to position `to`, ascending, with the numerators of
    /// their weights, and the denominator of all, which is the sum of the numerators.
    pub fn fractions_of(&self, to: usize) -> (impl Iterator<Item = (u32, i128)>, i128) {
        let denominator = self.denominators.get(to).copied().unwrap_or(1);
        let taps = self.range(to);
        let fractions = taps.map(|tap| (self.sources[tap], self.numerators[tap]));
        (fractions, denominator)
    }

    fn range(&self, to: usize) -> std::ops::Range<usize> {
        match (self.starts.get(to), self.starts.get(to + 1)) {
            (Some(start), Some(end)) => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// Appends the weights of position `i`.
    fn push(&mut self, config: ResizeConfig, scale: Scale, i: i128) {
        let Scale { p, q } = scale;
        let last = self.from as i128 - 1;
        let cubic = |a: i128| move |x: i128, unit: i128| cubic(a, x, unit);
        match config.kernel {
            ResizeKernel::Nearest => self.push_one((i * p / q).min(last)),
            ResizeKernel::NearestExact => self.push_one(((2 * i + 1) * p / (2 * q)).min(last)),
            ResizeKernel::Bilinear if !config.antialias => {
                self.push_clamped(config, scale, i, 1, linear);
            }
            ResizeKernel::Bicubic if !config.antialias => {
                self.push_clamped(config, scale, i, 2, cubic(-3));
            }
            ResizeKernel::Bilinear => self.push_within(config, scale, i, 1, linear),
            ResizeKernel::Bicubic | ResizeKernel::BicubicKeys => {
                self.push_within(config, scale, i, 2, cubic(-2));
            }
        }
    }

    fn push_one(&mut self, source: i128) {
        self.sources.push(source as u32);
        self.numerators.push(1);
        self.denominators.push(1);
    }

    /// Appends the weights of the `2 * reach` nearest positions, which repeat the edge.
    fn push_clamped(
        &mut self,
        config: ResizeConfig,
        scale: Scale,
        i: i128,
        reach: i128,
        kernel: impl Fn(i128, i128) -> i128,
    ) {
        let (coordinate, unit) = scale.coordinate(config.align_corners, i);
        let floor = coordinate.div_euclid(unit);
        let last = self.from as i128 - 1;
        let start = self.sources.len();
        let mut sum = 0;
        for j in floor - reach + 1..=floor + reach {
            let weight = kernel((coordinate - j * unit).abs(), unit);
            if weight == 0 {
                continue;
            }
            sum += weight;
            let source = j.clamp(0, last) as u32;
            // The repeated ones follow each other.
            match self.sources[start..].last() {
                Some(before) if *before == source => {
                    if let Some(numerator) = self.numerators.last_mut() {
                        *numerator += weight;
                    }
                }
                _ => {
                    self.sources.push(source);
                    self.numerators.push(weight);
                }
            }
        }
        self.denominators.push(sum);
    }

    /// Appends the weights of all positions within the kernel, which is widened by antialiasing.
    fn push_within(
        &mut self,
        config: ResizeConfig,
        scale: Scale,
        i: i128,
        reach: i128,
        kernel: impl Fn(i128, i128) -> i128,
    ) {
        let Scale { p, q } = scale;
        // With antialiasing aligned corners affect only the scale.
        let align = config.align_corners && !config.antialias;
        let (coordinate, step) = scale.coordinate(align, i);
        // The kernel's unit is max(scale, 1) positions; `step` of them are one position.
        let unit = if config.antialias && p > q {
            step / q * p
        } else {
            step
        };
        let (least, most) = (coordinate - reach * unit, coordinate + reach * unit);
        let first = (least.div_euclid(step) + 1).max(0);
        let last = (most.div_euclid(step)).min(self.from as i128 - 1);
        let mut sum = 0;
        for j in first..=last {
            let weight = kernel((coordinate - j * step).abs(), unit);
            if weight != 0 {
                sum += weight;
                self.sources.push(j as u32);
                self.numerators.push(weight);
            }
        }
        self.denominators.push(sum);
    }
}

impl Scale {
    fn new(config: ResizeConfig, from: usize, to: usize) -> Result<Self> {
        let checked = |numerator: u64, denominator: u64| {
            let within = |term: u64| (1..=MAX_TERM).contains(&term);
            let factor = Error::ResizeFactor {
                numerator,
                denominator,
            };
            if !(within(numerator) && within(denominator)) {
                return Err(factor);
            }
            let found = from as u64 * numerator / denominator;
            if found != to as u64 {
                return Err(Error::ResizedSide {
                    numerator,
                    denominator,
                    from,
                    found,
                    to,
                });
            }
            Ok(Self {
                p: i128::from(denominator),
                q: i128::from(numerator),
            })
        };
        let (from, to) = (from as u64, to as u64);
        let by = match config.by {
            ResizeBy::Size => Self {
                p: i128::from(from),
                q: i128::from(to),
            },
            ResizeBy::Factor {
                numerator,
                denominator,
            } => checked(numerator.into(), denominator.into())?,
            ResizeBy::Offset {
                numerator,
                denominator,
            } => {
                let (numerator, denominator) = (u64::from(numerator), u64::from(denominator));
                checked(to * denominator + numerator, from * denominator)?
            }
        };
        Ok(match (config.align_corners, to) {
            (false, _) => by,
            (true, 1) => Self { p: 0, q: 1 },
            (true, _) => Self {
                p: i128::from(from) - 1,
                q: i128::from(to) - 1,
            },
        })
    }

    /// Returns the coordinate of position `i`, and the number of units between two positions.
    fn coordinate(self, align_corners: bool, i: i128) -> (i128, i128) {
        let Self { p, q } = self;
        if align_corners {
            (i * p, q)
        } else {
            ((2 * i + 1) * p - q, 2 * q)
        }
    }
}

/// Returns the nearest `f64` to a fraction. If its terms are floats, their quotient is: a division rounds once.
fn quotient(numerator: i128, denominator: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    if numerator.unsigned_abs() <= EXACT && denominator.unsigned_abs() <= EXACT {
        return numerator as f64 / denominator as f64;
    }
    ratio(numerator, denominator)
}

/// Returns 1 - |x|, times `unit`, for |x| = `x / unit` below 1.
fn linear(x: i128, unit: i128) -> i128 {
    (unit - x).max(0)
}

/// Returns the cubic convolution with parameter `a / 4`, times `4 unit^3`, for |x| = `x / unit`.
fn cubic(a: i128, x: i128, unit: i128) -> i128 {
    let u = unit;
    if x <= u {
        ((a + 8) * x - (a + 12) * u) * x * x + 4 * u * u * u
    } else if x < 2 * u {
        a * (((x - 5 * u) * x + 8 * u * u) * x - 4 * u * u * u)
    } else {
        0
    }
}
