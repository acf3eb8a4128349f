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

/// Writing of the name of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// All panels have it, and it is written at the outermost.
    Outermost,
    /// Each panel has its own, or none has any.
    Each,
}

/// Room that all panels of a figure give to the labels and names of their axes, so that their
/// contents are equally large.
pub(super) struct Margins {
    /// Size of a panel, for which ticks are chosen.
    size: (f64, f64),
    /// In each panel.
    left: f64,
    bottom: f64,
    right: f64,
    /// Beyond the leftmost and below the lowest.
    outer: (f64, f64),
    naming: (Naming, Naming),
}

impl Margins {
    /// Measures the labels of panels with contents so large, with `right` pixels for other uses.
    pub(super) fn of(panels: &[Panel], right: f64, size: (f64, f64)) -> Result<Self> {
        let mut margins = Self {
            size,
            left: 1.0,
            bottom: 1.0,
            right: 1.0,
            outer: (0.0, 0.0),
            naming: (
                naming(panels, |panel| &panel.x),
                naming(panels, |panel| &panel.y),
            ),
        };
        let name = |axis: &Axis| if axis.label.is_empty() { 0.0 } else { NAME };
        for panel in panels {
            let (x, y) = margins.rulers(panel);
            let room = |ruler: &Ruler, labels: f64| match ruler.ticks.is_empty() {
                true => 1.0,
                false => labels + 2.0 * TICK,
            };
            let mut left = room(&y, widest(&y.labels)? + 4.0);
            let mut bottom = room(&x, TEXT);
            // Words are written once, at the outermost panels.
            if panel.y.names.is_some() {
                margins.outer.0 = margins.outer.0.max(left);
                left = 1.0;
            }
            if panel.x.names.is_some() {
                bottom = 2.0 * TICK + widest(&x.labels)?;
                margins.outer.1 = margins.outer.1.max(bottom);
                bottom = 1.0;
            } else if !x.ticks.is_empty() {
                // The last label is half beyond the end of its axis.
                margins.right = margins.right.max(10.0);
            }
            if margins.naming.1 == Naming::Each {
                left += name(&panel.y);
            }
            if margins.naming.0 == Naming::Each {
                bottom += name(&panel.x);
            }
            margins.left = margins.left.max(left);
            margins.bottom = margins.bottom.max(bottom);
        }
        if let Some(panel) = panels.first() {
            if margins.naming.1 == Naming::Outermost {
                margins.outer.0 += name(&panel.y);
            }
            if margins.naming.0 == Naming::Outermost {
                margins.outer.1 += name(&panel.x);
            }
        }
        margins.right = margins.right.max(right);
        Ok(margins)
    }

    /// Returns the room to the left of the leftmost panels and below the lowest.
    pub(super) fn outer(&self) -> (f64, f64) {
        self.outer
    }

    /// Returns the width of a panel with its labels.
    pub(super) fn panel_width(&self) -> f64 {
        self.size.0
    }

    /// Returns the left end of a panel's title, above its labels.
    pub(super) fn title_left(&self, area: Area, place: AxisPlace) -> f64 {
        area.left + if place.leftmost { self.outer.0 } else { 0.0 }
    }

    /// Returns the height of a panel of a width. A column of `rows` panels with the name of an axis below it is as
    /// high as `wanted` for each.
    pub(super) fn height(&self, width: f64, wanted: f64, rows: usize) -> f64 {
        match self.outer.1 > NAME {
            // Below words as long as they are, panels keep their shape.
            true => wanted / self.size.0 * width,
            false => wanted - self.outer.1 / rows as f64,
        }
    }

    fn rulers(&self, panel: &Panel) -> (Ruler, Ruler) {
        (
            Ruler::new(&panel.x, (self.size.0 / 75.0) as usize + 1),
            Ruler::new(&panel.y, (self.size.1 / 44.0) as usize + 1),
        )
    }
}

fn naming(panels: &[Panel], axis: impl Fn(&Panel) -> &Axis) -> Naming {
    let mut labels = panels.iter().map(|panel| &axis(panel).label);
    let first = labels.next();
    match labels.all(|label| Some(label) == first) {
        true => Naming::Outermost,
        false => Naming::Each,
    }
}

/// The pair of axes of a panel, and the area between them.
pub(super) struct Axes<'a> {
    pub(super) inside: Area,
    outside: Area,
    x: Ruler,
    y: Ruler,
    x_name: Option<&'a str>,
    y_name: Option<&'a str>,
    /// Whether words at ticks are written here.
    words: (bool, bool),
}

impl<'a> Axes<'a> {
    /// Places the axes of a panel in an area, with room for their labels.
    pub(super) fn new(
        panel: &'a Panel,
        outside: Area,
        place: AxisPlace,
        margins: &Margins,
    ) -> Self {
        let (x, y) = margins.rulers(panel);
        let name = |axis: &'a Axis, naming: Naming, outermost: bool| {
            let here = outermost || naming == Naming::Each;
            (here && !axis.label.is_empty()).then_some(axis.label.as_str())
        };
        let outer = |here: bool, room: f64| if here { room } else { 0.0 };
        Self {
            inside: Area {
                left: outside.left + margins.left + outer(place.leftmost, margins.outer.0),
                top: outside.top + 5.0,
                right: outside.right - margins.right,
                bottom: outside.bottom - margins.bottom - outer(place.lowest, margins.outer.1),
            },
            outside,
            x,
            y,
            x_name: name(&panel.x, margins.naming.0, place.lowest),
            y_name: name(&panel.y, margins.naming.1, place.leftmost),
            words: (
                panel.x.names.is_none() || place.lowest,
                panel.y.names.is_none() || place.leftmost,
            ),
        }
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
        scene.segment((left, top), (left, bottom), 1.0, AXIS);
        let size = self.y.text(bottom - top);
        let labels = self.y.labels.iter().filter(|_| self.words.1);
        for (tick, label) in self.y.ticks.iter().zip(labels) {
            let y = self.point(0.0, *tick).1;
            scene.segment((left - TICK, y), (left, y), 1.0, AXIS);
            let at = (left - 2.0 * TICK, y + CAPITALS * size / 2.0);
            scene.text(at, label, size, Weight::Regular, Anchor::End, MUTED);
        }
        scene.segment((left, bottom), (right, bottom), 1.0, AXIS);
        let size = self.x.text(right - left);
        let labels = self.x.labels.iter().filter(|_| self.words.0);
        for (tick, label) in self.x.ticks.iter().zip(labels) {
            let x = self.point(*tick, 0.0).0;
            scene.segment((x, bottom), (x, bottom + TICK), 1.0, AXIS);
            let below = bottom + 2.0 * TICK;
            if self.x.words {
                let at = (x + CAPITALS * size / 2.0, below);
                scene.items.push(upright(at, label, size, Anchor::End));
            } else {
                let at = (x, below + CAPITALS * size);
                scene.text(at, label, size, Weight::Regular, Anchor::Middle, MUTED);
            }
        }
        if let Some(name) = self.x_name {
            let at = ((left + right) / 2.0, self.outside.bottom);
            scene.text(at, name, TEXT, Weight::Regular, Anchor::Middle, MUTED);
        }
        if let Some(name) = self.y_name {
            let at = (self.outside.left + CAPITALS * TEXT, (top + bottom) / 2.0);
            scene.items.push(upright(at, name, TEXT, Anchor::Middle));
        }
    }
}

/// Builds an upright text with the start, the middle, or the end of its baseline at a point.
pub(super) fn upright(at: Point, text: &str, size: f64, anchor: Anchor) -> Item {
    Item::Text(Text {
        at,
        text: text.to_owned(),
        size,
        weight: Weight::Regular,
        anchor,
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
    /// Whether the labels are words, one for each cell.
    words: bool,
}

impl Ruler {
    /// Builds a ruler with about `wanted` ticks.
    fn new(axis: &Axis, wanted: usize) -> Self {
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
    fn text(&self, length: f64) -> f64 {
        match self.words {
            true => TEXT.min(length / self.ticks.len().max(1) as f64 * 0.92),
            false => TEXT,
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
