//! Pixels as PNG.

use anyhow::Result;
use png::{BitDepth, ColorType, Compression, Encoder, Filter, PixelDimensions, Unit};

use super::color::Rgb;
use super::raster::Raster;
use super::scene::Cells;
use super::{Caption, PER_INCH, SOFTWARE};

/// Encodes a picture in full color, with `scale` pixels per pixel of the scene.
pub(crate) fn picture(raster: &Raster, scale: u32, caption: &Caption<'_>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, raster.width, raster.height);
    encoder.set_color(match raster.opaque {
        true => ColorType::Rgb,
        false => ColorType::Rgba,
    });
    encoder.set_depth(BitDepth::Eight);
    let per_meter = (f64::from(scale) * PER_INCH / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(PixelDimensions {
        xppu: per_meter,
        yppu: per_meter,
        unit: Unit::Meter,
    }));
    for (keyword, text) in [
        ("Title", caption.title),
        ("Description", caption.description),
        ("Software", SOFTWARE),
    ] {
        // Of the two kinds, the older one has no letters beyond Latin-1.
        let (keyword, text) = (keyword.to_owned(), text.to_owned());
        match text.chars().all(|c| u32::from(c) < 0x100) {
            true => encoder.add_text_chunk(keyword, text)?,
            false => encoder.add_itxt_chunk(keyword, text)?,
        }
    }
    encoder.set_compression(Compression::Balanced);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&raster.bytes)?;
    writer.finish()?;
    Ok(bytes)
}

/// Encodes cells, one pixel each.
pub(crate) fn indexed(cells: &Cells) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = |count: usize| u32::try_from(count);
    let mut encoder = Encoder::new(&mut bytes, size(cells.columns)?, size(cells.rows)?);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::High);
    // Differences of indices mean nothing, and yet neighboring cells are alike.
    encoder.set_filter(Filter::Adaptive);
    let palette = cells.palette.iter().flat_map(|Rgb(r, g, b)| [*r, *g, *b]);
    encoder.set_palette(palette.collect::<Vec<u8>>());
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&cells.levels)?;
    writer.finish()?;
    Ok(bytes)
}
