//! The color bar beside maps.

use anyhow::Result;

use super::{TEXT, segment, text};
use crate::chart::figure::{Content, Figure, Map};
use crate::chart::paint::color::{AXIS, Colors, MUTED};
use crate::chart::paint::font::{CAPITALS, Weight};
use crate::chart::paint::scene::{Anchor, Cells, Closed, Heading, Image, Ink, Item, Scene, Text};
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
    /// The bar, if the figure shows maps.
    pub(super) fn of(figure: &'a Figure) -> Result<Option<Self>> {
        let Some(Content::Map(map)) = figure.panels.first().map(|panel| &panel.content) else {
            return Ok(None);
        };
        let labels: Vec<String> = map.ticks.iter().map(|tick| ticks::label(*tick)).collect();
        let mut widest = 0.0_f64;
        for label in &labels {
            widest = widest.max(f64::from(Weight::Regular.width(label)?) * TEXT);
        }
        Ok(Some(Self {
            map,
            labels,
            labels_width: widest,
        }))
    }

    /// With its labels, and the room before it.
    pub(super) fn width(&self) -> f64 {
        BEFORE + BAR + TICK + 4.0 + self.labels_width + 6.0 + TEXT
    }

    /// From `left` on, between the heights given.
    pub(super) fn draw(
        self,
        scene: &mut Scene,
        left: f64,
        (top, bottom): (f64, f64),
    ) -> Result<()> {
        let left = left + BEFORE;
        let height = bottom - top;
        let levels: Vec<u8> = match self.map.colors {
            Colors::Bits => vec![255, 0],
            // Its palette begins at step 1.
            Colors::Diverging => (1..=255).rev().collect(),
            Colors::Cyclic | Colors::Sequential => (0..=255).rev().collect(),
        };
        scene.items.push(Item::Image(Image {
            at: (left as f32, top as f32),
            extent: (BAR as f32, height as f32),
            cells: Cells {
                columns: 1,
                rows: levels.len(),
                levels,
                palette: self.map.colors.palette(),
            },
        }));
        let axis = Ink {
            rgb: AXIS,
            opacity: 1.0,
        };
        let gray = Ink {
            rgb: MUTED,
            opacity: 1.0,
        };
        let corner = |x: f64, y: f64| (x as f32, y as f32);
        scene.items.push(Item::Stroke {
            points: vec![
                corner(left, top),
                corner(left + BAR, top),
                corner(left + BAR, bottom),
                corner(left, bottom),
            ],
            closed: Closed::Yes,
            width: 1.0,
            ink: axis,
        });
        let right = left + BAR;
        let (low, high) = self.map.range;
        for (tick, label) in self.map.ticks.iter().zip(&self.labels) {
            let mut share = (tick - low) / (high - low);
            if self.map.colors == Colors::Bits {
                // In the middle of its half.
                share = 0.25 + 0.5 * share;
            }
            let y = bottom - share * height;
            scene
                .items
                .push(segment((right, y), (right + TICK, y), 1.0, axis));
            let middle = y + f64::from(CAPITALS) / 2.0 * TEXT;
            let at = (right + TICK + 4.0, middle);
            scene.items.push(text(at, label, TEXT, Anchor::Start, gray));
        }
        scene.items.push(Item::Text(Text {
            at: (
                (right + TICK + 4.0 + self.labels_width + 6.0 + TEXT * 0.8) as f32,
                ((top + bottom) / 2.0) as f32,
            ),
            text: self.map.label.clone(),
            size: TEXT as f32,
            weight: Weight::Regular,
            anchor: Anchor::Middle,
            heading: Heading::Up,
            ink: gray,
        }));
        Ok(())
    }
}
