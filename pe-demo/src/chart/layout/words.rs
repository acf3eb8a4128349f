//! Title, note and legend above a figure, broken into lines.

use anyhow::Result;

use super::{TEXT, segment, text};
use crate::chart::paint::color::{MUTED, Rgb};
use crate::chart::paint::font::Weight;
use crate::chart::paint::scene::{Anchor, Ink, Item, Scene};

/// What stands above the panels.
pub(super) struct Words {
    room: f64,
    height: f64,
    items: Vec<Item>,
}

impl Words {
    pub(super) fn new(room: f64) -> Self {
        Self {
            room,
            height: 0.0,
            items: Vec::new(),
        }
    }

    pub(super) fn height(&self) -> f64 {
        self.height
    }

    pub(super) fn space(&mut self, height: f64) {
        self.height += height;
    }

    /// Words in lines as long as the room.
    pub(super) fn paragraph(
        &mut self,
        words: &str,
        size: f64,
        weight: Weight,
        rgb: Rgb,
    ) -> Result<()> {
        let mut line = String::new();
        for word in words.split_whitespace() {
            let longer = match line.as_str() {
                "" => word.to_owned(),
                line => format!("{line} {word}"),
            };
            if !line.is_empty() && f64::from(weight.width(&longer)?) * size > self.room {
                self.line(&line, size, weight, rgb);
                line = word.to_owned();
            } else {
                line = longer;
            }
        }
        self.line(&line, size, weight, rgb);
        Ok(())
    }

    fn line(&mut self, line: &str, size: f64, weight: Weight, rgb: Rgb) {
        let ink = Ink { rgb, opacity: 1.0 };
        let mut item = text((0.0, self.height + size), line, size, Anchor::Start, ink);
        if let Item::Text(text) = &mut item {
            text.weight = weight;
        }
        self.items.push(item);
        self.height += size * 1.42;
    }

    /// Strokes with their names, side by side.
    pub(super) fn legend(&mut self, entries: &[(&str, Ink)]) -> Result<()> {
        const STROKE: f64 = 20.0;
        let gray = Ink {
            rgb: MUTED,
            opacity: 1.0,
        };
        let mut x = 0.0;
        for (name, ink) in entries {
            let wide = STROKE + 6.0 + f64::from(Weight::Regular.width(name)?) * TEXT;
            if x > 0.0 && x + wide > self.room {
                x = 0.0;
                self.height += TEXT * 1.6;
            }
            let y = self.height + TEXT;
            self.items
                .push(segment((x, y - 4.0), (x + STROKE, y - 4.0), 2.2, *ink));
            let at = (x + STROKE + 6.0, y);
            self.items.push(text(at, name, TEXT, Anchor::Start, gray));
            x += wide + 18.0;
        }
        self.height += TEXT * 1.6;
        Ok(())
    }

    pub(super) fn draw(self, scene: &mut Scene, (left, top): (f64, f64)) {
        let (left, top) = (left as f32, top as f32);
        for mut item in self.items {
            match &mut item {
                Item::Text(text) => text.at = (text.at.0 + left, text.at.1 + top),
                Item::Stroke { points, .. } => {
                    for point in points {
                        *point = (point.0 + left, point.1 + top);
                    }
                }
                _ => {}
            }
            scene.items.push(item);
        }
    }
}
