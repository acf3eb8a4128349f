//! The list of drawn items.

use super::color::{Dash, Rgb, SOLID, Tone};
use super::font::Weight;

/// A place in pixels, from the upper left corner.
pub(crate) type Point = (f64, f64);

/// Drawn items, from back to front.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    /// Width and height in pixels.
    pub(crate) size: (u32, u32),
    pub(crate) items: Vec<Item>,
}

/// A color with its opacity: 0 is clear, 1 opaque.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ink {
    pub(crate) tone: Tone,
    pub(crate) opacity: f64,
}

impl From<Tone> for Ink {
    fn from(tone: Tone) -> Self {
        Self { tone, opacity: 1.0 }
    }
}

/// One thing that was drawn.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Stroke {
        points: Vec<Point>,
        closed: Closed,
        width: f64,
        dash: Dash,
        ink: Ink,
    },
    Disc {
        center: Point,
        radius: f64,
        ink: Ink,
    },
    Text(Text),
    Image(Image),
}

/// Whether a stroke returns to its first point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    Yes,
    No,
}

/// A line of text.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    /// Point on the baseline, at the text's start, middle or end according to `anchor`.
    pub(crate) at: Point,
    pub(crate) text: String,
    /// Pixels per em.
    pub(crate) size: f64,
    pub(crate) weight: Weight,
    pub(crate) anchor: Anchor,
    pub(crate) heading: Heading,
    pub(crate) ink: Ink,
}

/// Part of a text at its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Direction of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heading {
    Right,
    Up,
}

/// A picture of cells, each one of 256 colors, stretched over a rectangle.
#[derive(Debug, Clone)]
pub(crate) struct Image {
    pub(crate) at: Point,
    /// Width and height on the page.
    pub(crate) extent: (f64, f64),
    pub(crate) cells: Cells,
}

/// Cells from the upper left corner, row by row.
#[derive(Debug, Clone)]
pub(crate) struct Cells {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) levels: Vec<u8>,
    pub(crate) palette: &'static [Rgb; 256],
}

impl Scene {
    pub(crate) fn new(size: (u32, u32)) -> Self {
        Self {
            size,
            items: Vec::new(),
        }
    }

    /// Adds a straight line.
    pub(crate) fn segment(&mut self, from: Point, to: Point, width: f64, ink: impl Into<Ink>) {
        self.stroke(vec![from, to], Closed::No, width, ink);
    }

    /// Adds a line through points.
    pub(crate) fn stroke(
        &mut self,
        points: Vec<Point>,
        closed: Closed,
        width: f64,
        ink: impl Into<Ink>,
    ) {
        self.items.push(Item::Stroke {
            points,
            closed,
            width,
            dash: SOLID,
            ink: ink.into(),
        });
    }

    /// Adds an open line of dashes through points.
    pub(crate) fn dashed(
        &mut self,
        points: Vec<Point>,
        width: f64,
        dash: Dash,
        ink: impl Into<Ink>,
    ) {
        self.items.push(Item::Stroke {
            points,
            closed: Closed::No,
            width,
            dash,
            ink: ink.into(),
        });
    }

    /// Adds a filled circle.
    pub(crate) fn disc(&mut self, center: Point, radius: f64, ink: impl Into<Ink>) {
        self.items.push(Item::Disc {
            center,
            radius,
            ink: ink.into(),
        });
    }

    /// Adds a horizontal line of text with its anchor on the baseline.
    pub(crate) fn text(
        &mut self,
        at: Point,
        text: &str,
        size: f64,
        weight: Weight,
        anchor: Anchor,
        ink: impl Into<Ink>,
    ) {
        self.items.push(Item::Text(Text {
            at,
            text: text.to_owned(),
            size,
            weight,
            anchor,
            heading: Heading::Right,
            ink: ink.into(),
        }));
    }

    /// Adds a frame around a rectangle, from its upper left corner to its lower right one.
    pub(crate) fn frame(&mut self, (x0, y0): Point, (x1, y1): Point, ink: impl Into<Ink>) {
        let corners = vec![(x0, y0), (x1, y0), (x1, y1), (x0, y1)];
        self.stroke(corners, Closed::Yes, 1.0, ink);
    }
}
