//! Circles in space, seen from the side: one per pair, one behind the other.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::Result;
use pe_core::Sinusoidal;

use super::{Area, TEXT, segment, text};
use crate::chart::figure::{Content, Figure, Rings};
use crate::chart::paint::color::{AXIS, INK, MUTED, NEGATIVE, PAPER, POSITIVE, Rgb};
use crate::chart::paint::scene::{Anchor, Closed, Ink, Item, Scene};
use crate::chart::paint::{Raster, animation, canvas::UNITS};
use crate::terminal::numbers::thousands;

/// Corners of a circle.
const CORNERS: usize = 56;

/// Draws one position; returns the heights in pixels between which it lies.
pub(super) fn draw(
    area: &Area,
    scene: &Rc<RefCell<Scene>>,
    rings: &Rings,
    shown: usize,
) -> Result<(f64, f64)> {
    let (xs, ys) = area.get_pixel_range();
    let pixel = |unit: i32| f64::from(unit) / f64::from(UNITS);
    let view = View::new(
        (pixel(xs.start), pixel(xs.end)),
        (pixel(ys.start), pixel(ys.end)),
        rings.pairs,
    );
    let mut scene = scene.borrow_mut();
    let from = shown * rings.pairs;
    let points: Vec<(f64, f64)> = rings.cosines[from..from + rings.pairs]
        .iter()
        .copied()
        .zip(rings.sines[from..from + rings.pairs].iter().copied())
        .collect();
    let circle = circle()?;

    let faint = |rgb, opacity| Ink { rgb, opacity };
    let of_sign = |sine: f64| if sine >= 0.0 { POSITIVE } else { NEGATIVE };
    for pair in (0..rings.pairs).rev() {
        scene.items.push(Item::Stroke {
            points: circle
                .iter()
                .map(|point| single(view.place(pair, *point)))
                .collect(),
            closed: Closed::Yes,
            width: if pair == 0 { 1.2 } else { 0.8 },
            ink: faint(AXIS, if pair == 0 { 1.0 } else { 0.38 }),
        });
        let here = view.place(pair, points[pair]);
        if pair + 1 < rings.pairs {
            let next = view.place(pair + 1, points[pair + 1]);
            let ink = faint(of_sign(points[pair].1), 0.45);
            scene.items.push(segment(here, next, 1.1, ink));
        }
        scene.items.push(Item::Disc {
            center: single(here),
            radius: 2.6 * view.size(pair) as f32,
            ink: faint(of_sign(points[pair].1), 1.0),
        });
    }
    // The axes of the nearest circle, and how far the circles go.
    let axis = faint(MUTED, 1.0);
    let center = view.place(0, (0.0, 0.0));
    for (end, label, anchor, dx, dy) in [
        ((0.0, 1.18), "sin", Anchor::Middle, 0.0, -5.0),
        ((1.0, 0.0), "cos", Anchor::End, -2.0, -5.0),
    ] {
        let end = view.place(0, end);
        scene.items.push(segment(center, end, 1.0, axis));
        let at = (end.0 + dx, end.1 + dy);
        scene.items.push(text(at, label, TEXT, anchor, axis));
    }
    for pair in [0, rings.pairs - 1] {
        let below = view.place(pair, (0.0, -1.0));
        let at = (below.0, below.1 + TEXT + 6.0);
        let label = format!("pair {}", pair * rings.pair_step);
        scene
            .items
            .push(text(at, &label, TEXT, Anchor::Middle, axis));
    }
    let label = format!("position {}", thousands(rings.positions[shown]));
    let at = (view.right, view.top + 14.0);
    let ink = faint(INK, 1.0);
    scene.items.push(text(at, &label, 15.0, Anchor::End, ink));
    Ok((pixel(ys.start), pixel(ys.end)))
}

fn single((x, y): (f64, f64)) -> (f32, f32) {
    (x as f32, y as f32)
}

/// Where points of circles lie on the page.
struct View {
    /// Center of the nearest circle and of the farthest.
    near: (f64, f64),
    far: (f64, f64),
    radius: f64,
    pairs: usize,
    right: f64,
    top: f64,
}

impl View {
    /// How much narrower a circle is than high, seen from the side.
    const FLAT: f64 = 0.36;
    /// The size of the farthest circle against the nearest.
    const FAR: f64 = 0.62;

    fn new((left, right): (f64, f64), (top, bottom): (f64, f64), pairs: usize) -> Self {
        let height = bottom - top;
        let radius = (height * 0.36).min((right - left) * 0.22);
        let middle = top + height * 0.5;
        Self {
            near: (left + radius * Self::FLAT + 6.0, middle + height * 0.04),
            far: (
                right - radius * Self::FLAT * Self::FAR - 20.0,
                middle - height * 0.06,
            ),
            radius,
            pairs,
            right,
            top,
        }
    }

    /// The size of a pair's circle against the nearest.
    fn size(&self, pair: usize) -> f64 {
        1.0 + (Self::FAR - 1.0) * self.depth(pair)
    }

    /// 0 for the nearest circle, 1 for the farthest.
    fn depth(&self, pair: usize) -> f64 {
        pair as f64 / (self.pairs.max(2) - 1) as f64
    }

    fn place(&self, pair: usize, (cosine, sine): (f64, f64)) -> (f64, f64) {
        let depth = self.depth(pair);
        let radius = self.radius * self.size(pair);
        let between = |near: f64, far: f64| near + (far - near) * depth;
        (
            between(self.near.0, self.far.0) + cosine * radius * Self::FLAT,
            between(self.near.1, self.far.1) - sine * radius,
        )
    }
}

/// Corners of the unit circle.
fn circle() -> Result<Vec<(f64, f64)>> {
    let angles: Vec<f64> = (0..CORNERS)
        .map(|corner| std::f64::consts::TAU * corner as f64 / CORNERS as f64)
        .collect();
    let table = Sinusoidal::paper(2)?.table_at_reals::<f64>(&angles)?;
    Ok(table.iter_rows().map(|row| (row[1], row[0])).collect())
}

/// All positions as an animation, if the figure shows rings.
pub(crate) fn frames(figure: &Figure, width: u32, scale: u32) -> Result<Option<Vec<u8>>> {
    let Some(Content::Rings(rings)) = figure.panels.first().map(|panel| &panel.content) else {
        return Ok(None);
    };
    let mut figure = figure.clone();
    let count = rings.positions.len();
    let rasters = (0..count).map(|shown| {
        if let Content::Rings(rings) = &mut figure.panels[0].content {
            rings.shown = shown;
        }
        let scene = super::scene(&figure, width)?;
        Raster::of(&scene, scale)
    });
    // Shades from each ink to the paper.
    let inks = [INK, MUTED, AXIS, POSITIVE, NEGATIVE];
    let shades = 51;
    let palette: Vec<Rgb> = inks
        .iter()
        .flat_map(|ink| (0..shades).map(|shade| mixed(*ink, PAPER, shade, shades - 1)))
        .collect();
    animation(rasters, 12, &palette).map(Some)
}

fn mixed(from: Rgb, to: Rgb, part: u32, whole: u32) -> Rgb {
    let mix = |a: u8, b: u8| {
        let sum = u32::from(a) * (whole - part) + u32::from(b) * part;
        ((sum + whole / 2) / whole) as u8
    };
    Rgb(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}
