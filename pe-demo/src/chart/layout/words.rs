//! Title and note above a figure, broken into lines.

use anyhow::Result;

use crate::chart::paint::color::Tone;
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
}
