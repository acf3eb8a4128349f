//! Axes: their lines, ticks, labels, names and grid.

use anyhow::Result;
use serde::Serialize;

use super::{Area, TEXT};
use crate::chart::figure::{Axis, Direction, Panel, Spacing};
use crate::chart::paint::color::{AXIS, GRID, MUTED};
use crate::chart::paint::font::{CAPITALS, Weight};
use crate::chart::paint::scene::{Anchor, Heading, Item, Point, Scene, Text};
use crate::chart::ticks;
use crate::terminal::numbers::power_of_ten;

/// Length of a tick mark, and the distance from it to its label.
const TICK: f64 = 4.0;
/// Height of a label and length of a tick mark, in figures and on the page.
#[derive(Debug, Serialize)]
pub(crate) struct Sizes {
    text: f64,
    tick: f64,
}

pub(crate) const SIZES: Sizes = Sizes {
    text: TEXT,
    tick: TICK,
};
/// Height of an axis's name.
pub(super) const NAME: f64 = 16.0;

/// Position of a panel among the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct AxisPlace {
    pub(super) leftmost: bool,
    pub(super) lowest: bool,
}

/// The pair of axes of a panel, and the area between them.
pub(super) struct Axes<'a> {
    pub(super) inside: Area,
    outside: Area,
    x: Ruler,
    y: Ruler,
    x_name: Option<&'a str>,
    y_name: Option<&'a str>,
}

impl<'a> Axes<'a> {
    /// Places the axes of a panel in an area, with room for their labels.
    pub(super) fn new(panel: &'a Panel, outside: Area, place: AxisPlace) -> Result<Self> {
        let x = Ruler::new(&panel.x, (outside.width() / 75.0) as usize + 1);
        let y = Ruler::new(&panel.y, (outside.height() / 44.0) as usize + 1);
        let named = |axis: &'a Axis, outermost: bool| {
            (outermost && !axis.label.is_empty()).then_some(axis.label.as_str())
        };
        let (x_name, y_name) = (
            named(&panel.x, place.lowest),
            named(&panel.y, place.leftmost),
        );
        // An axis without ticks and name is a line alone.
        let room = |ruler: &Ruler, name: Option<&str>, labels: f64| {
            let name = name.map(|_| NAME);
            match ruler.ticks.is_empty() && name.is_none() {
                true => 1.0,
                false => labels + 2.0 * TICK + name.unwrap_or(0.0),
            }
        };
        // The last label of the horizontal axis is half beyond its end.
        let beyond = if x.ticks.is_empty() { 1.0 } else { 10.0 };
        Ok(Self {
            inside: Area {
                left: outside.left + room(&y, y_name, widest(&y.labels)? + 4.0),
                top: outside.top + 5.0,
                right: outside.right - beyond,
                bottom: outside.bottom - room(&x, x_name, TEXT),
            },
            outside,
            x,
            y,
            x_name,
            y_name,
        })
    }

    /// Returns the place of a pair of values on the page.
    pub(super) fn point(&self, x: f64, y: f64) -> Point {
        let inside = self.inside;
        (
            inside.left + self.x.share(x) * inside.width(),
            inside.bottom - self.y.share(y) * inside.height(),
        )
    }

    /// Draws a line across the area for every tick.
    pub(super) fn draw_grid(&self, scene: &mut Scene) {
        let Area {
            left,
            top,
            right,
            bottom,
        } = self.inside;
        for tick in &self.x.ticks {
            let x = self.point(*tick, 0.0).0;
            scene.segment((x, bottom), (x, top), 1.0, GRID);
        }
        for tick in &self.y.ticks {
            let y = self.point(0.0, *tick).1;
            scene.segment((left, y), (right, y), 1.0, GRID);
        }
    }

    /// Draws the axes with ticks, labels and names.
    pub(super) fn draw(&self, scene: &mut Scene) {
        let Area {
            left,
            top,
            right,
            bottom,
        } = self.inside;
        let capitals = CAPITALS * TEXT;
        scene.segment((left, top), (left, bottom), 1.0, AXIS);
        for (tick, label) in self.y.ticks.iter().zip(&self.y.labels) {
            let y = self.point(0.0, *tick).1;
            scene.segment((left - TICK, y), (left, y), 1.0, AXIS);
            let at = (left - 2.0 * TICK, y + capitals / 2.0);
            scene.text(at, label, TEXT, Weight::Regular, Anchor::End, MUTED);
        }
        scene.segment((left, bottom), (right, bottom), 1.0, AXIS);
        for (tick, label) in self.x.ticks.iter().zip(&self.x.labels) {
            let x = self.point(*tick, 0.0).0;
            scene.segment((x, bottom), (x, bottom + TICK), 1.0, AXIS);
            let at = (x, bottom + 2.0 * TICK + capitals);
            scene.text(at, label, TEXT, Weight::Regular, Anchor::Middle, MUTED);
        }
        if let Some(name) = self.x_name {
            let at = ((left + right) / 2.0, self.outside.bottom);
            scene.text(at, name, TEXT, Weight::Regular, Anchor::Middle, MUTED);
        }
        if let Some(name) = self.y_name {
            let at = (self.outside.left + capitals, (top + bottom) / 2.0);
            scene.items.push(upright(at, name));
        }
    }
}

/// Builds an upright text with the middle of its baseline at a point.
pub(super) fn upright(at: Point, text: &str) -> Item {
    Item::Text(Text {
        at,
        text: text.to_owned(),
        size: TEXT,
        weight: Weight::Regular,
        anchor: Anchor::Middle,
        heading: Heading::Up,
        ink: MUTED.into(),
    })
}

/// Returns the width of the widest label in pixels.
pub(super) fn widest(labels: &[String]) -> Result<f64> {
    labels.iter().try_fold(0.0_f64, |widest, label| {
        Ok(widest.max(Weight::Regular.width(label)? * TEXT))
    })
}

/// One axis: its ends, ticks and labels.
#[derive(Debug, Clone)]
struct Ruler {
    spacing: Spacing,
    /// Values at the left or the bottom and at the other end. On a logarithmic axis they are exponents of ten.
    ends: (f64, f64),
    ticks: Vec<f64>,
    labels: Vec<String>,
}

impl Ruler {
    /// Builds a ruler with about `wanted` ticks.
    fn new(axis: &Axis, wanted: usize) -> Self {
        let (mut low, mut high) = axis.range;
        let (ticks, labels) = match axis.spacing {
            Spacing::Linear => {
                let chosen = || ticks::ticks(axis.range, wanted);
                let ticks = axis.ticks.clone().unwrap_or_else(chosen);
                let labels = ticks.iter().map(|tick| ticks::label(*tick)).collect();
                (ticks, labels)
            }
            Spacing::Logarithmic => {
                // Integer powers of ten, the range widened to them.
                let first = (ticks::log10(low) + 1e-9).floor();
                let last = (ticks::log10(high) - 1e-9).ceil().max(first + 1.0);
                (low, high) = (first, last);
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
        }
    }

    /// Returns how far along the axis a value is: 0 at one end, 1 at the other.
    fn share(&self, value: f64) -> f64 {
        let value = match self.spacing {
            Spacing::Linear => value,
            Spacing::Logarithmic => ticks::log10(value),
        };
        (value - self.ends.0) / (self.ends.1 - self.ends.0)
    }
}

/// Returns an integer power of ten.
fn ten_to(exponent: i64) -> f64 {
    // Parsing rounds correctly; repeated multiplication would not.
    format!("1e{exponent}").parse().unwrap_or(f64::INFINITY)
}
