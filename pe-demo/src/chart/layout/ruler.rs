//! One axis: its ends, ticks and labels.

use anyhow::Result;

use super::TEXT;
use crate::chart::figure::{Axis, Direction, Spacing};
use crate::chart::paint::font::Weight;
use crate::chart::ticks;
use crate::terminal::numbers::power_of_ten;

/// Returns the width of the widest label in pixels.
pub(super) fn widest(labels: &[String]) -> Result<f64> {
    labels.iter().try_fold(0.0_f64, |widest, label| {
        Ok(widest.max(Weight::Regular.width(label)? * TEXT))
    })
}

/// One axis: its ends, ticks and labels.
#[derive(Debug, Clone)]
pub(super) struct Ruler {
    spacing: Spacing,
    /// Values at the left or the bottom and at the other end. On a logarithmic axis they are exponents of ten.
    ends: (f64, f64),
    pub(super) ticks: Vec<f64>,
    pub(super) labels: Vec<String>,
    /// Whether the labels are words, one for each cell.
    pub(super) words: bool,
}

impl Ruler {
    /// Builds a ruler for an axis from left to right in a panel so wide, with as many ticks as there is room for.
    pub(super) fn across(axis: &Axis, width: f64) -> Result<Self> {
        let most = (width / 75.0) as usize + 1;
        for wanted in (2..=most).rev() {
            let ruler = Self::new(axis, wanted);
            // Labels of the other axis take a part of the width.
            let apart = |pair: &[f64]| (ruler.share(pair[1]) - ruler.share(pair[0])).abs() * 0.8;
            let room = ruler.ticks.windows(2).map(apart).fold(1.0, f64::min) * width;
            if ruler.words || widest(&ruler.labels)? + 6.0 <= room {
                return Ok(ruler);
            }
        }
        Ok(Self::new(axis, 1))
    }

    /// Builds a ruler with about `wanted` ticks.
    pub(super) fn new(axis: &Axis, wanted: usize) -> Self {
        let (mut low, mut high) = axis.range;
        let (ticks, labels) = match axis.spacing {
            Spacing::Linear => {
                let chosen = || ticks::ticks(axis.range, wanted);
                let ticks = axis.ticks.clone().unwrap_or_else(chosen);
                let numbers = || ticks.iter().map(|tick| ticks::label(*tick)).collect();
                let labels = axis.names.clone().unwrap_or_else(numbers);
                (ticks, labels)
            }
            Spacing::Logarithmic => {
                // Integer powers of ten. With fewer than two the range is widened to them.
                (low, high) = (ticks::log10(low), ticks::log10(high));
                let (mut first, mut last) = ((low - 1e-9).ceil(), (high + 1e-9).floor());
                if last <= first {
                    first = (low + 1e-9).floor();
                    last = (high - 1e-9).ceil().max(first + 1.0);
                    (low, high) = (first, last);
                }
                let every = ticks::step((last - first) as u64, wanted as u64);
                let powers = (first as i64..=last as i64).step_by(every as usize);
                powers
                    .map(|power| (ten_to(power), power_of_ten(power)))
                    .unzip()
            }
        };
        Self {
            spacing: axis.spacing,
            ends: match axis.direction {
                Direction::Forward => (low, high),
                Direction::Backward => (high, low),
            },
            ticks,
            labels,
            words: axis.names.is_some(),
        }
    }

    /// Returns the size of the labels on an axis of a length: words fit their cells.
    pub(super) fn text(&self, length: f64) -> f64 {
        match self.words {
            true => TEXT.min(length / self.ticks.len().max(1) as f64 * 0.92),
            false => TEXT,
        }
    }

    /// Returns how far along the axis a value is: 0 at one end, 1 at the other.
    pub(super) fn share(&self, value: f64) -> f64 {
        let value = match self.spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => ticks::log10(value),
        };
        (value - self.ends.0) / (self.ends.1 - self.ends.0)
    }
}

/// Returns an integer power of ten.
fn ten_to(exponent: i64) -> f64 {
    // Parsing rounds correctly. Repeated multiplication would not.
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}
