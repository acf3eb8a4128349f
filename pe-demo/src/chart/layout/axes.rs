//! Axes: their lines, ticks, labels, names and grid.

use anyhow::Result;
use serde::Serialize;

use super::margins::{AxisPlace, Margins, Naming};
use super::ruler::Ruler;
use super::{Area, TEXT, TICK};
use crate::chart::figure::{Axis, Panel};
use crate::chart::paint::color::{AXIS, GRID, MUTED};
use crate::chart::paint::font::{CAPITALS, Weight};
use crate::chart::paint::scene::{Anchor, Heading, Item, Point, Scene, Text};

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
    ) -> Result<Self> {
        let (x, y) = margins.rulers(panel)?;
        let name = |axis: &'a Axis, naming: Naming, outermost: bool| {
            let here = outermost || naming == Naming::Each;
            (here && !axis.label.is_empty()).then_some(axis.label.as_str())
        };
        let outer = |here: bool, room: f64| if here { room } else { 0.0 };
        Ok(Self {
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
