//! Pictures of strokes and letters, down to the bytes of a file.
//!
//! ```text
//! Scene ─┬─► raster ─► PNG, GIF
//!        ├─► SVG
//!        └─► PDF
//! ```
//!
//! A [`Scene`](scene::Scene) is the list of drawn items, in pixels with fractions. All kinds of pictures
//! come from it, so they cannot differ in their contents.

pub(crate) mod color;
pub(crate) mod font;
mod gif;
mod letters;
mod pdf;
mod png;
mod raster;
pub(crate) mod scene;
mod svg;

pub(crate) use self::gif::animation;
pub(crate) use self::pdf::page;
pub(crate) use self::png::picture;
pub(crate) use self::raster::Raster;
pub(crate) use self::svg::{Target, document, escape};

/// A picture's words for those who cannot see it, and for those who look for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caption<'a> {
    /// Beginning of the names inside the file.
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) description: &'a str,
}

/// The writer of the files, in their metadata.
const SOFTWARE: &str = concat!("pe-demo ", env!("CARGO_PKG_VERSION"));

/// Pixels of a scene per inch, as style sheets count them.
const PER_INCH: f64 = 96.0;
