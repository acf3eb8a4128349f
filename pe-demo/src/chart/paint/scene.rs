//! The list of what was drawn.

use super::color::Rgb;
use super::font::Weight;

/// A place in pixels, from the upper left corner.
pub(crate) type Point = (f32, f32);

/// What was drawn, from back to front.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    /// Width and height in pixels.
    pub(crate) size: (u32, u32),
    pub(crate) items: Vec<Item>,
}

/// A color that may let through what lies behind it: 0 is clear, 1 opaque.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ink {
    pub(crate) rgb: Rgb,
    pub(crate) opacity: f32,
}

/// One thing that was drawn.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Stroke {
        points: Vec<Point>,
        closed: Closed,
        width: f32,
        ink: Ink,
    },
    Area {
        points: Vec<Point>,
        ink: Ink,
    },
    Disc {
        center: Point,
        radius: f32,
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
    /// On the baseline, at the start, middle or end as `anchor` says.
    pub(crate) at: Point,
    pub(crate) text: String,
    /// Pixels per em.
    pub(crate) size: f32,
    pub(crate) weight: Weight,
    pub(crate) anchor: Anchor,
    pub(crate) heading: Heading,
    pub(crate) ink: Ink,
}

/// Which part of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// Which way a text runs.
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
    pub(crate) extent: (f32, f32),
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
}
