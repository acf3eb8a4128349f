//! Pictures of strokes and letters, down to the bytes of a file.
//!
//! ```text
//! Scene ─┬─► raster ─► PNG, GIF
//!        └─► SVG
//! ```
//!
//! A [`Scene`](scene::Scene) is the list of drawn items, in pixels with fractions. Both kinds of pictures
//! come from it, so they cannot differ in their contents.

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
pub(crate) use self::svg::{Target, document, escape};
