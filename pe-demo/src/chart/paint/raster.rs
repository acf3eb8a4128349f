//! A scene as pixels.

use ab_glyph::OutlineCurve;
use anyhow::{Context, Result};
use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, PremultipliedColorU8,
    Stroke, Transform,
};

use super::color::{PAPER, Rgb};
use super::scene::{Anchor, Closed, Heading, Image, Ink, Item, Point, Scene, Text};

/// Pixels without transparency, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Raster {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Red, green, blue.
    pub(crate) bytes: Vec<u8>,
}

impl Raster {
    /// Draws a scene on white, with `scale` pixels per pixel of the scene.
    pub(crate) fn of(scene: &Scene, scale: u32) -> Result<Self> {
        let (width, height) = (scene.size.0 * scale, scene.size.1 * scale);
        let mut pixmap = Pixmap::new(width, height)
            .with_context(|| format!("a picture of {width} x {height} pixels cannot be made"))?;
        let Rgb(r, g, b) = PAPER.light;
        pixmap.fill(Color::from_rgba8(r, g, b, 255));
        let transform = Transform::from_scale(scale as f32, scale as f32);
        for item in &scene.items {
            draw(&mut pixmap, item, transform, f64::from(scale))?;
        }
        let bytes = pixmap
            .pixels()
            .iter()
            .flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()])
            .collect();
        Ok(Self {
            width,
            height,
            bytes,
        })
    }
}

fn draw(pixmap: &mut Pixmap, item: &Item, transform: Transform, scale: f64) -> Result<()> {
    match item {
        Item::Stroke {
            points,
            closed,
            width,
            ink,
        } => {
            if let Some(path) = polyline(points, *closed) {
                let stroke = Stroke {
                    width: *width as f32,
                    line_cap: LineCap::Round,
                    line_join: LineJoin::Round,
                    ..Stroke::default()
                };
                pixmap.stroke_path(&path, &paint(*ink), &stroke, transform, None);
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
                fill(pixmap, &path, *ink, transform);
            }
        }
        Item::Text(text) => write(pixmap, text, transform)?,
        Item::Image(image) => stretch(pixmap, image, scale),
    }
    Ok(())
}

fn paint(ink: Ink) -> Paint<'static> {
    let Rgb(r, g, b) = ink.tone.light;
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (ink.opacity * 255.0).round() as u8);
    paint.anti_alias = true;
    paint
}

fn fill(pixmap: &mut Pixmap, path: &Path, ink: Ink, transform: Transform) {
    pixmap.fill_path(path, &paint(ink), FillRule::Winding, transform, None);
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

fn write(pixmap: &mut Pixmap, text: &Text, transform: Transform) -> Result<()> {
    let size = text.size as f32;
    let back = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => text.weight.width(&text.text)? as f32 / 2.0,
        Anchor::End => text.weight.width(&text.text)? as f32,
    };
    let turn = match text.heading {
        Heading::Right => 0.0,
        Heading::Up => -90.0,
    };
    let transform = transform
        .pre_translate(text.at.0 as f32, text.at.1 as f32)
        .pre_concat(Transform::from_rotate(turn));
    let mut path = PathBuilder::new();
    for (at, curves) in text.weight.outlines(&text.text)? {
        let place = |p: ab_glyph::Point| ((at - back + p.x) * size, -p.y * size);
        // A letter is one closed line or several. A new one begins where a curve does not continue the last.
        let mut end = None;
        for curve in curves {
            let start = match &curve {
                OutlineCurve::Line(a, _)
                | OutlineCurve::Quad(a, ..)
                | OutlineCurve::Cubic(a, ..) => place(*a),
            };
            if end != Some(start) {
                path.move_to(start.0, start.1);
            }
            end = Some(match curve {
                OutlineCurve::Line(_, b) => {
                    let b = place(b);
                    path.line_to(b.0, b.1);
                    b
                }
                OutlineCurve::Quad(_, b, c) => {
                    let (b, c) = (place(b), place(c));
                    path.quad_to(b.0, b.1, c.0, c.1);
                    c
                }
                OutlineCurve::Cubic(_, b, c, d) => {
                    let (b, c, d) = (place(b), place(c), place(d));
                    path.cubic_to(b.0, b.1, c.0, c.1, d.0, d.1);
                    d
                }
            });
        }
    }
    if let Some(path) = path.finish() {
        fill(pixmap, &path, text.ink, transform);
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
