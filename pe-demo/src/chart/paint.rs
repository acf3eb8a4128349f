//! From strokes and letters to the bytes of a file.
//!
//! ```text
//! plotters ─► Canvas ─► Scene ─┬─► raster ─► PNG, GIF
//!                              └─► SVG
//! ```
//!
//! A [`Scene`] is the list of what was drawn, in pixels with fractions. Both kinds of
//! pictures come from it, so they cannot differ in what they show.

pub(crate) mod canvas;
pub(crate) mod color;
pub(crate) mod font;
mod gif;
mod png;
mod raster;
pub(crate) mod scene;
mod svg;

pub(crate) use self::gif::animation;
pub(crate) use self::png::picture;
pub(crate) use self::raster::Raster;
pub(crate) use self::svg::{Background, document, escape};
