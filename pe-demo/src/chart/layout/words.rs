//! Title, note and legend above a figure, broken into lines.

use anyhow::Result;

use super::TEXT;
use crate::chart::paint::color::{MUTED, Tone};
use crate::chart::paint::font::Weight;
use crate::chart::paint::scene::{Anchor, Point, Scene};

/// Writes lines from the top down, as wide as there is room.
pub(super) struct Words<'a> {
    pub(super) scene: &'a mut Scene,
    /// Upper left corner of the next line.
    pub(super) at: Point,
    pub(super) room: f64,
}

impl Words<'_> {
    /// Writes a text in as many lines as it needs.
    pub(super) fn paragraph(
        &mut self,
        words: &str,
        size: f64,
        weight: Weight,
        tone: Tone,
    ) -> Result<()> {
        let mut line = String::new();
        for word in words.split_whitespace() {
            let longer = match line.as_str() {
                "" => word.to_owned(),
                line => format!("{line} {word}"),
            };
            if !line.is_empty() && weight.width(&longer)? * size > self.room {
                self.line(&line, size, weight, tone);
                line = word.to_owned();
            } else {
                line = longer;
            }
        }
        self.line(&line, size, weight, tone);
        Ok(())
    }

    fn line(&mut self, line: &str, size: f64, weight: Weight, tone: Tone) {
        let (left, top) = self.at;
        let at = (left, top + size);
        self.scene.text(at, line, size, weight, Anchor::Start, tone);
        self.at.1 += size * 1.42;
    }

    /// Draws strokes with their names, next to each other.
    pub(super) fn legend(&mut self, entries: &[(&str, Tone)]) -> Result<()> {
        const STROKE: f64 = 20.0;
        let left = self.at.0;
        let mut x = 0.0;
        for (name, tone) in entries {
            let wide = STROKE + 6.0 + Weight::Regular.width(name)? * TEXT;
            if x > 0.0 && x + wide > self.room {
                x = 0.0;
                self.at.1 += TEXT * 1.6;
            }
            let y = self.at.1 + TEXT;
            let (from, to) = (left + x, left + x + STROKE);
            self.scene
                .segment((from, y - 4.0), (to, y - 4.0), 2.2, *tone);
            let at = (to + 6.0, y);
            self.scene
                .text(at, name, TEXT, Weight::Regular, Anchor::Start, MUTED);
            x += wide + 18.0;
        }
        self.at.1 += TEXT * 1.6;
        Ok(())
    }
}
