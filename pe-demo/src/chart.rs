//! Figures: numbers first, then a layout, then a picture.
//!
//! ```text
//! Figure ─┬─► layout ─► paint ─► PNG, SVG, PDF, GIF
//!         └─► data ─► JSON, CSV
//! ```
//!
//! Pictures and data files show the same numbers.

mod data;
mod figure;
mod layout;
mod paint;
mod ticks;

use std::path::Path;

use anyhow::Result;

pub(crate) use data::{csv, json};
pub(crate) use figure::{
    Axis, Content, Curve, Fact, Figure, Map, Mark, Panel, Rings, SCALE, Shape,
};
pub(crate) use layout::{PROPORTIONS as RINGS, SIZES as AXES};
pub(crate) use paint::color::{Colors, Theme};
pub(crate) use paint::escape;
pub(crate) use paint::font::FACES;
#[cfg(test)]
pub(crate) use paint::scene::Image;
pub(crate) use ticks::{label, step, ticks};

use layout::Head;
use paint::color::{Rgb, tones};
use paint::{Caption, Raster, Target};

/// Kind of a picture's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Png,
    Svg,
    Pdf,
}

impl Format {
    const ALL: [Self; 3] = [Self::Png, Self::Svg, Self::Pdf];

    /// Returns the ending of the file's name.
    pub(crate) fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Svg => "svg",
            Self::Pdf => "pdf",
        }
    }

    /// Returns the format that a path's ending names.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        Self::ALL
            .into_iter()
            .find(|format| ending.eq_ignore_ascii_case(format.ending()))
    }
}

/// The bytes of a picture, and its width and height in pixels, or in points for PDF.
pub(crate) struct Picture {
    pub(crate) bytes: Vec<u8>,
    pub(crate) size: (u32, u32),
}

/// Draws a figure. Its caption, for those who cannot see it, is its note, its numbers, and `about`.
pub(crate) fn picture(
    figure: &Figure,
    format: Format,
    theme: Theme,
    about: &str,
) -> Result<Picture> {
    let scene = layout::scene(figure, layout::fitted(figure, None), Head::Whole)?;
    let description = figure.description(about);
    let caption = caption(figure, &description);
    let (width, height) = scene.size;
    Ok(match format {
        Format::Png => Picture {
            bytes: paint::picture(&Raster::of(&scene, SCALE, theme)?, SCALE, &caption)?,
            size: (width * SCALE, height * SCALE),
        },
        Format::Svg => Picture {
            bytes: paint::document(&scene, Target::File(theme), &caption)?.into_bytes(),
            size: scene.size,
        },
        Format::Pdf => Picture {
            bytes: paint::page(&scene, theme, &caption)?,
            size: (width * 3 / 4, height * 3 / 4),
        },
    })
}

fn caption<'a>(figure: &'a Figure, description: &'a str) -> Caption<'a> {
    Caption {
        name: figure.name,
        title: &figure.title,
        description,
    }
}

/// Draws a figure as an SVG document on white.
pub(crate) fn svg(figure: &Figure) -> Result<Picture> {
    picture(figure, Format::Svg, Theme::Light, "")
}

/// Draws an animated figure as a GIF, at most `width` pixels wide. It always has a ground.
pub(crate) fn gif(figure: &Figure, width: u32, theme: Theme) -> Result<Option<Vec<u8>>> {
    layout::frames(figure, layout::fitted(figure, Some(width)), 1, theme)
}

/// Draws a figure as SVG for inside a page, at most `width` pixels wide, in the colors of [`theme`]. Title and
/// note are left to the page.
pub(crate) fn inline_svg(figure: &Figure, width: u32) -> Result<String> {
    let scene = layout::scene(figure, layout::fitted(figure, Some(width)), Head::Legend)?;
    let description = figure.description("");
    paint::document(&scene, Target::Page, &caption(figure, &description))
}

/// Returns the colors of figures as variables of a style sheet, for a light page and for a dark one.
pub(crate) fn theme() -> [String; 2] {
    [Theme::Light, Theme::Dark].map(|theme| {
        tones()
            .map(|tone| format!("--{}: {}; ", tone.name, tone.of(theme).hex()))
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

/// A text of a drawing and the rectangle that it fills: left, top, right, bottom.
#[cfg(test)]
pub(crate) type Placed = (String, [f64; 4]);

/// Returns the size of a drawing and its texts.
#[cfg(test)]
pub(crate) fn texts(figure: &Figure, width: u32) -> Result<([f64; 2], Vec<Placed>)> {
    use paint::font::CAPITALS;
    use paint::scene::{Anchor, Heading, Item};

    let scene = layout::scene(figure, layout::fitted(figure, Some(width)), Head::Whole)?;
    let mut texts = Vec::new();
    for item in scene.items {
        let Item::Text(text) = item else { continue };
        let long = text.weight.width(&text.text)? * text.size;
        let high = CAPITALS * text.size;
        let start = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => -long / 2.0,
            Anchor::End => -long,
        };
        let (x, y) = text.at;
        let place = match text.heading {
            Heading::Right => [x + start, y - high, x + start + long, y],
            Heading::Up => [x - high, y - start - long, x, y - start],
        };
        texts.push((text.text, place));
    }
    Ok(([scene.size.0, scene.size.1].map(f64::from), texts))
}
