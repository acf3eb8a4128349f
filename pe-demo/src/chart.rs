//! Figures: numbers first, then a layout, then a picture.
//!
//! ```text
//! Figure ─┬─► layout ─► paint ─► PNG, SVG, GIF
//!         └─► data ─► JSON, CSV
//! ```
//!
//! What is drawn and what is written as data are the same numbers.

mod data;
mod figure;
mod layout;
mod paint;
mod ticks;

use anyhow::Result;

pub(crate) use data::{csv, json};
pub(crate) use figure::{Axis, Content, Curve, Fact, Figure, Map, Mark, Panel, Rings, Shape};
pub(crate) use paint::color::Colors;
#[cfg(test)]
pub(crate) use paint::scene::Image;
pub(crate) use ticks::{label, power_of_ten, step, ticks};

use paint::color::{AXIS, GRID, INK, MUTED, NEGATIVE, POSITIVE, Rgb};
use paint::{Background, Raster};

/// Pixels of a PNG for each of the layout's.
pub(crate) const SCALE: u32 = 2;

/// The bytes of a picture, and its width and height in pixels.
pub(crate) struct Picture {
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: (u32, u32),
}

/// Draws a figure as an SVG document.
pub(crate) fn svg(figure: &Figure) -> Result<Picture> {
    let scene = layout::scene(figure, layout::fitted(figure, None))?;
    let document = paint::document(&scene, Background::White, &figure.title)?;
    Ok(Picture {
        bytes: document.into_bytes(),
        size: scene.size,
    })
}

/// Draws a figure as a PNG.
pub(crate) fn png(figure: &Figure) -> Result<Picture> {
    let scene = layout::scene(figure, layout::fitted(figure, None))?;
    let raster = Raster::of(&scene, SCALE)?;
    Ok(Picture {
        bytes: paint::picture(&raster)?,
        size: (raster.width, raster.height),
    })
}

/// Draws a figure that moves as a GIF, at most `width` pixels wide.
pub(crate) fn gif(figure: &Figure, width: u32) -> Result<Option<Vec<u8>>> {
    layout::frames(figure, layout::fitted(figure, Some(width)), 1)
}

/// A figure inside a page, at most `width` pixels wide.
pub(crate) fn inline_svg(figure: &Figure, width: u32) -> Result<String> {
    let scene = layout::scene(figure, layout::fitted(figure, Some(width)))?;
    paint::document(&scene, Background::Clear, &figure.title)
}

/// A text inside markup.
pub(crate) fn escape(text: &str) -> String {
    paint::escape(text)
}

/// Style rules by which figures inside a page follow the page's colors.
pub(crate) fn theme() -> String {
    let mut rules = String::new();
    for (rgb, name) in [
        (INK, "ink"),
        (MUTED, "muted"),
        (AXIS, "axis"),
        (GRID, "grid"),
        (POSITIVE, "positive"),
        (NEGATIVE, "negative"),
    ] {
        let hex = rgb.hex();
        for property in ["fill", "stroke"] {
            rules += &format!("svg [{property}=\"{hex}\"] {{ {property}: var(--{name}); }}\n");
        }
    }
    rules
}

/// The colors from -1 to 1 as numbers 0xrrggbb, from step 1 to step 255.
pub(crate) fn diverging_palette() -> Vec<u32> {
    let number = |rgb: &Rgb| u32::from_be_bytes([0, rgb.0, rgb.1, rgb.2]);
    Colors::Diverging.palette().iter().map(number).collect()
}

/// Returns the images of a figure's drawing.
#[cfg(test)]
pub(crate) fn images(figure: &Figure) -> Result<Vec<Image>> {
    let scene = layout::scene(figure, layout::fitted(figure, None))?;
    let image = |item| match item {
        paint::scene::Item::Image(image) => Some(image),
        _ => None,
    };
    Ok(scene.items.into_iter().filter_map(image).collect())
}
