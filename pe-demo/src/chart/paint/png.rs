//! Pixels as PNG.

use anyhow::Result;
use png::{BitDepth, ColorType, Compression, Encoder, Filter};

use super::color::Rgb;
use super::raster::Raster;
use super::scene::Cells;

/// Encodes a picture in full color.
pub(crate) fn picture(raster: &Raster) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, raster.width, raster.height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
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
