//! The color bar next to maps.

use anyhow::Result;

use super::axes::upright;
use super::ruler::widest;
use super::{Area, TEXT};
use crate::chart::figure::{Content, Figure, Map};
use crate::chart::paint::color::{AXIS, Colors, MUTED};
use crate::chart::paint::font::{CAPITALS, Weight};
use crate::chart::paint::scene::{Anchor, Cells, Image, Item, Scene};
use crate::chart::ticks;

const BAR: f64 = 14.0;
const BEFORE: f64 = 14.0;
const TICK: f64 = 4.0;

/// One bar for all maps of a figure.
pub(super) struct Bar<'a> {
    map: &'a Map,
    labels: Vec<String>,
    labels_width: f64,
}

impl<'a> Bar<'a> {
    /// Returns the bar if the figure shows maps.
    pub(super) fn of(figure: &'a Figure) -> Result<Option<Self>> {
        let Some(Content::Map(map)) = figure.panels.first().map(|panel| &panel.content) else {
            return Ok(None);
        };
        let labels: Vec<String> = map.ticks.iter().map(|tick| ticks::label(*tick)).collect();
        Ok(Some(Self {
            map,
            labels_width: widest(&labels)?,
            labels,
        }))
    }

    /// Returns the width with labels and the space before the bar.
    pub(super) fn width(&self) -> f64 {
        BEFORE + BAR + TICK + 4.0 + self.labels_width + 6.0 + TEXT
    }

    /// Draws the bar to the right of the panels' contents, as high as they are.
    pub(super) fn draw(self, scene: &mut Scene, left: f64, inside: Area) {
        let left = left + BEFORE;
        let right = left + BAR;
        let Area { top, bottom, .. } = inside;
        let levels: Vec<u8> = match self.map.colors {
            Colors::Bits => vec![255, 0],
            // Its palette begins at step 1.
            Colors::Diverging => (1..=255).rev().collect(),
            Colors::Cyclic | Colors::Sequential => (0..=255).rev().collect(),
        };
        scene.items.push(Item::Image(Image {
            at: (left, top),
            extent: (BAR, inside.height()),
            cells: Cells {
                columns: 1,
                rows: levels.len(),
                levels,
                palette: self.map.colors.palette(),
            },
        }));
        scene.frame((left, top), (right, bottom), AXIS);
        let (low, high) = self.map.range;
        let labels = right + TICK + 4.0;
        for (tick, label) in self.map.ticks.iter().zip(&self.labels) {
            let mut share = (tick - low) / (high - low);
            if self.map.colors == Colors::Bits {
                // In the middle of its half.
                share = 0.25 + 0.5 * share;
            }
            let y = bottom - share * inside.height();
            scene.segment((right, y), (right + TICK, y), 1.0, AXIS);
            let at = (labels, y + CAPITALS / 2.0 * TEXT);
            scene.text(at, label, TEXT, Weight::Regular, Anchor::Start, MUTED);
        }
        let baseline = labels + self.labels_width + 6.0 + TEXT * 0.8;
        let middle = (top + bottom) / 2.0;
        scene.items.push(upright(
            (baseline, middle),
            &self.map.label,
            TEXT,
            Anchor::Middle,
        ));
    }
}
