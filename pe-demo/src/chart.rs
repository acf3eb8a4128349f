//! Figures: numbers first, then a layout, then a picture.
//!
//! ```text
//! Figure ─┬─► layout ─► paint ─► PNG, SVG, GIF
//!         └─► data ─► JSON, CSV
//! ```
//!
//! Pictures and data files show the same numbers.

mod data;
mod figure;
mod layout;
mod paint;
mod ticks;

use anyhow::Result;

pub(crate) use data::{csv, json};
pub(crate) use figure::{
    Axis, Content, Curve, Fact, Figure, Map, Mark, Panel, Rings, SCALE, Shape,
};
pub(crate) use layout::{PROPORTIONS as RINGS, SIZES as AXES};
pub(crate) use paint::color::Colors;
pub(crate) use paint::escape;
pub(crate) use paint::font::FACES;
#[cfg(test)]
pub(crate) use paint::scene::Image;
pub(crate) use ticks::{label, step, ticks};

use layout::Head;
use paint::color::{Rgb, Tone, tones};
use paint::{Raster, Target};

/// The bytes of a picture, and its width and height in pixels.
pub(crate) struct Picture {
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: (u32, u32),
}

/// Draws a figure as an SVG document.
pub(crate) fn svg(figure: &Figure) -> Result<Picture> {
    let scene = layout::scene(figure, layout::fitted(figure, None), Head::Whole)?;
    let document = paint::document(&scene, Target::File, &figure.title)?;
    Ok(Picture {
        bytes: document.into_bytes(),
        size: scene.size,
    })
}

/// Draws a figure as a PNG.
pub(crate) fn png(figure: &Figure) -> Result<Picture> {
    let scene = layout::scene(figure, layout::fitted(figure, None), Head::Whole)?;
    let raster = Raster::of(&scene, SCALE)?;
    Ok(Picture {
        bytes: paint::picture(&raster)?,
        size: (raster.width, raster.height),
    })
}

/// Draws an animated figure as a GIF, at most `width` pixels wide.
pub(crate) fn gif(figure: &Figure, width: u32) -> Result<Option<Vec<u8>>> {
    layout::frames(figure, layout::fitted(figure, Some(width)), 1)
}

/// Draws a figure as SVG for inside a page, at most `width` pixels wide. Title and note are left to the page.
pub(crate) fn inline_svg(figure: &Figure, width: u32) -> Result<String> {
    let scene = layout::scene(figure, layout::fitted(figure, Some(width)), Head::Legend)?;
    paint::document(&scene, Target::Page, &figure.title)
}

/// Returns the colors of figures as variables of a style sheet, for a light page and for a dark one.
pub(crate) fn theme() -> [String; 2] {
    [|tone: Tone| tone.light, |tone: Tone| tone.dark].map(|of| {
        tones()
            .map(|tone| format!("--{}: {}; ", tone.name, of(tone).hex()))
            .collect()
    })
}

/// Returns the colors from -1 to 1 as numbers 0xrrggbb, from step 1 to step 255.
pub(crate) fn diverging_palette() -> Vec<u32> {
    let number = |rgb: &Rgb| u32::from_be_bytes([0, rgb.0, rgb.1, rgb.2]);
    Colors::Diverging.palette().iter().map(number).collect()
}

/// Returns whether the page's font has a character.
#[cfg(test)]
pub(crate) fn has_letter(c: char) -> bool {
    paint::font::Weight::Regular.covers(c.encode_utf8(&mut [0; 4]))
}

/// Returns the images of a figure's drawing.
#[cfg(test)]
pub(crate) fn images(figure: &Figure) -> Result<Vec<Image>> {
    let scene = layout::scene(figure, layout::fitted(figure, None), Head::Whole)?;
    let image = |item| match item {
        paint::scene::Item::Image(image) => Some(image),
        _ => None,
    };
    Ok(scene.items.into_iter().filter_map(image).collect())
}
