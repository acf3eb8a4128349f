//! A scene as pixels.

use anyhow::{Context, Result};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, PremultipliedColorU8,
    Stroke, StrokeDash, Transform,
};

use super::color::{PAPER, Rgb, Theme};
use super::letters::{self, Step};
use super::scene::{Closed, Image, Ink, Item, Point, Scene, Text};

/// Pixels, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raster {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Red, green, blue, and opacity if there is no ground.
    pub(crate) bytes: Vec<u8>,
    pub(crate) opaque: bool,
}

impl Raster {
    /// Draws a scene on the theme's ground, with `scale` pixels per pixel of the scene.
    pub(crate) fn of(scene: &Scene, scale: u32, theme: Theme) -> Result<Self> {
        let (width, height) = (scene.size.0 * scale, scene.size.1 * scale);
        let mut pixmap = Pixmap::new(width, height)
            .with_context(|| format!("a picture of {width} x {height} pixels cannot be made"))?;
        let opaque = theme != Theme::Transparent;
        if opaque {
            let Rgb(r, g, b) = PAPER.of(theme);
            pixmap.fill(Color::from_rgba8(r, g, b, 255));
        }
        let transform = Transform::from_scale(scale as f32, scale as f32);
        for item in &scene.items {
            draw(&mut pixmap, item, transform, f64::from(scale), theme)?;
        }
        let channels = if opaque { 3 } else { 4 };
        let mut bytes = Vec::with_capacity(pixmap.pixels().len() * channels);
        for pixel in pixmap.pixels() {
            let pixel = pixel.demultiply();
            let rgba = [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()];
            bytes.extend_from_slice(&rgba[..channels]);
        }
        Ok(Self {
            width,
            height,
            bytes,
            opaque,
        })
    }
}

fn draw(
    pixmap: &mut Pixmap,
    item: &Item,
    transform: Transform,
    scale: f64,
    theme: Theme,
) -> Result<()> {
    match item {
        Item::Stroke {
            points,
            closed,
            width,
            dash,
            ink,
        } => {
            if let Some(path) = polyline(points, *closed) {
                let lengths = dash.iter().map(|length| *length as f32).collect();
                let stroke = Stroke {
                    width: *width as f32,
                    line_cap: LineCap::Round,
                    line_join: LineJoin::Round,
                    dash: StrokeDash::new(lengths, 0.0),
                    ..Stroke::default()
                };
                pixmap.stroke_path(&path, &paint(*ink, theme), &stroke, transform, None);
            }
        }
        Item::Disc {
            center,
            radius,
            ink,
        } => {
            if let Some(path) =
                PathBuilder::from_circle(center.0 as f32, center.1 as f32, *radius as f32)
            {
                fill(pixmap, &path, &paint(*ink, theme), transform);
            }
        }
        Item::Text(text) => write(pixmap, text, transform, theme)?,
        Item::Image(image) => stretch(pixmap, image, scale),
    }
    Ok(())
}

fn paint(ink: Ink, theme: Theme) -> Paint<'static> {
    let Rgb(r, g, b) = ink.tone.of(theme);
    let mut paint = Paint::default();
    let opacity = ink.opacity * ink.tone.opacity(theme);
    paint.set_color_rgba8(r, g, b, (opacity * 255.0).round() as u8);
    paint.anti_alias = true;
    paint
}

fn fill(pixmap: &mut Pixmap, path: &Path, paint: &Paint<'_>, transform: Transform) {
    pixmap.fill_path(path, paint, FillRule::Winding, transform, None);
}

fn polyline(points: &[Point], closed: Closed) -> Option<Path> {
    let (first, rest) = points.split_first()?;
    let mut path = PathBuilder::new();
    path.move_to(first.0 as f32, first.1 as f32);
    for (x, y) in rest {
        path.line_to(*x as f32, *y as f32);
    }
    if closed == Closed::Yes {
        path.close();
    }
    path.finish()
}

fn write(pixmap: &mut Pixmap, text: &Text, transform: Transform, theme: Theme) -> Result<()> {
    let mut path = PathBuilder::new();
    for step in letters::outlines(text)? {
        match step {
            Step::Move((x, y)) => path.move_to(x, y),
            Step::Line((x, y)) => path.line_to(x, y),
            Step::Quad(a, b) => path.quad_to(a.0, a.1, b.0, b.1),
            Step::Cubic(a, b, c) => path.cubic_to(a.0, a.1, b.0, b.1, c.0, c.1),
        }
    }
    if let Some(path) = path.finish() {
        fill(pixmap, &path, &paint(text.ink, theme), transform);
    }
    Ok(())
}

/// Gives each pixel the color of the cell that contains its middle.
fn stretch(pixmap: &mut Pixmap, image: &Image, scale: f64) {
    let cells = &image.cells;
    if cells.columns == 0 || cells.rows == 0 {
        return;
    }
    let whole = |start: f64, extent: f64, most: u32| {
        let first = (start * scale).round().max(0.0) as u32;
        let end = ((start + extent) * scale).round().max(0.0) as u32;
        first..end.min(most)
    };
    let width = pixmap.width();
    let xs = whole(image.at.0, image.extent.0, width);
    let ys = whole(image.at.1, image.extent.1, pixmap.height());
    let cell = |at: u32, range: &std::ops::Range<u32>, count: usize| {
        let place = (u64::from(at - range.start) * 2 + 1) * count as u64;
        (place / (2 * range.len() as u64)) as usize
    };
    let pixels = pixmap.pixels_mut();
    for y in ys.clone() {
        let row = cell(y, &ys, cells.rows) * cells.columns;
        for x in xs.clone() {
            let level = cells.levels[row + cell(x, &xs, cells.columns)];
            let Rgb(r, g, b) = cells.palette[usize::from(level)];
            if let Some(color) = PremultipliedColorU8::from_rgba(r, g, b, 255) {
                pixels[(y * width + x) as usize] = color;
            }
        }
    }
}
