//! Axes: where their ticks stand and what is written beside them.

use std::ops::Range;

use anyhow::Result;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::TEXT;
use crate::chart::figure::{Axis, Direction, Spacing};
use crate::chart::paint::font::Weight;
use crate::chart::ticks;

/// Where a panel stands among the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) leftmost: bool,
    pub(super) lowest: bool,
}

/// An axis as the drawing library sees it.
#[derive(Debug, Clone)]
pub(super) struct Ruler {
    spacing: Spacing,
    /// At the left or the bottom, and at the other end; exponents of ten on a logarithmic axis.
    ends: (f64, f64),
    pub(super) ticks: Vec<f64>,
}

impl Ruler {
    /// A ruler with about so many ticks.
    pub(super) fn new(axis: &Axis, wanted: usize) -> Self {
        let (mut low, mut high) = axis.range;
        let ticks = match axis.spacing {
            Spacing::Linear => match &axis.ticks {
                Some(ticks) => ticks.clone(),
                None => ticks::ticks(axis.range, wanted),
            },
            Spacing::Logarithmic => {
                // Whole powers of ten, the range widened to them.
                let first = (ticks::log10(low) + 1e-9).floor();
                let last = (ticks::log10(high) - 1e-9).ceil().max(first + 1.0);
                (low, high) = (first, last);
                let every = ticks::step((last - first) as u64, wanted as u64);
                (0..)
                    .map(|k| first as i64 + k * every as i64)
                    .take_while(|exponent| *exponent <= last as i64)
                    .map(ten_to)
                    .collect()
            }
        };
        Self {
            spacing: axis.spacing,
            ends: match axis.direction {
                Direction::Forward => (low, high),
                Direction::Backward => (high, low),
            },
            ticks,
        }
    }

    /// What is written beside a tick.
    fn label(&self, tick: f64) -> String {
        match self.spacing {
            Spacing::Linear => ticks::label(tick),
            Spacing::Logarithmic => ticks::power_of_ten(ticks::log10(tick).round() as i64),
        }
    }

    /// The width of the widest label in pixels.
    pub(super) fn labels_width(&self) -> Result<f64> {
        let mut widest = 0.0_f64;
        for tick in &self.ticks {
            let width = Weight::Regular.width(&self.label(*tick))?;
            widest = widest.max(f64::from(width) * TEXT);
        }
        Ok(widest)
    }
}

/// A whole power of ten.
fn ten_to(exponent: i64) -> f64 {
    // Reading rounds correctly; repeated multiplication would not.
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}

impl Ranged for Ruler {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let value = match self.spacing {
            Spacing::Linear => *value,
            Spacing::Logarithmic => ticks::log10(*value),
        };
        let share = (value - self.ends.0) / (self.ends.1 - self.ends.0);
        start + (f64::from(end - start) * share).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // No lines between the ticks.
        if hint.weight().allow_light_points() {
            Vec::new()
        } else {
            self.ticks.clone()
        }
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

impl ValueFormatter<f64> for Ruler {
    fn format_ext(&self, tick: &f64) -> String {
        self.label(*tick)
    }
}
