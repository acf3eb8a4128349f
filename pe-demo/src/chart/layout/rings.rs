//! Circles in space, seen from the side: one per pair, one behind the other.

use anyhow::Result;
use pe_core::Sinusoidal;
use serde::Serialize;

use super::{Area, TEXT};
use crate::chart::figure::{Content, Figure, Rings};
use crate::chart::paint::color::{AXIS, INK, MUTED, NEGATIVE, PAPER, POSITIVE, Rgb, Theme};
use crate::chart::paint::font::Weight;
use crate::chart::paint::scene::{Anchor, Closed, Ink, Point, Scene};
use crate::chart::paint::{Raster, animation};
use crate::terminal::numbers::thousands;

/// Corners of a circle.
const CORNERS: usize = 56;

/// The proportions of the view.
#[derive(Debug, Serialize)]
pub(crate) struct Proportions {
    /// Width of a circle, seen from the side, relative to its height.
    flat: f64,
    /// Size of the farthest circle relative to the nearest.
    far: f64,
    /// Largest radius of the nearest circle relative to the area's height and width.
    high: f64,
    wide: f64,
    /// Heights of the nearest and of the farthest center, from the top.
    centers: [f64; 2],
}

/// The proportions in figures and on the page.
pub(crate) const PROPORTIONS: Proportions = Proportions {
    flat: 0.36,
    far: 0.62,
    high: 0.36,
    wide: 0.22,
    centers: [0.54, 0.44],
};

/// Draws the position that a still picture shows.
pub(super) fn draw(scene: &mut Scene, rings: &Rings, area: Area) -> Result<()> {
    let view = View::new(area, rings.pairs);
    let from = rings.shown * rings.pairs;
    let points: Vec<Point> = rings.cosines[from..from + rings.pairs]
        .iter()
        .copied()
        .zip(rings.sines[from..from + rings.pairs].iter().copied())
        .collect();
    let circle = circle()?;

    let of_sign = |sine: f64| if sine >= 0.0 { POSITIVE } else { NEGATIVE };
    for pair in (0..rings.pairs).rev() {
        let corners = circle.iter().map(|point| view.place(pair, *point));
        let (width, opacity) = if pair == 0 { (1.2, 1.0) } else { (0.8, 0.38) };
        let tone = AXIS;
        scene.stroke(corners.collect(), Closed::Yes, width, Ink { tone, opacity });
        let here = view.place(pair, points[pair]);
        let tone = of_sign(points[pair].1);
        if pair + 1 < rings.pairs {
            let next = view.place(pair + 1, points[pair + 1]);
            let opacity = 0.45;
            scene.segment(here, next, 1.1, Ink { tone, opacity });
        }
        scene.disc(here, 2.6 * view.size(pair), tone);
    }
    // The axes of the nearest circle, and how far the circles go.
    let mut label = |at, text: &str, anchor| {
        scene.text(at, text, TEXT, Weight::Regular, anchor, MUTED);
    };
    let center = view.place(0, (0.0, 0.0));
    let (sine, cosine) = (view.place(0, (0.0, 1.18)), view.place(0, (1.0, 0.0)));
    label((sine.0, sine.1 - 5.0), "sin", Anchor::Middle);
    label((cosine.0 - 2.0, cosine.1 - 5.0), "cos", Anchor::End);
    for pair in [0, rings.pairs - 1] {
        let below = view.place(pair, (0.0, -1.0));
        let text = format!("pair {}", pair * rings.pair_step);
        label((below.0, below.1 + TEXT + 6.0), &text, Anchor::Middle);
    }
    for end in [sine, cosine] {
        scene.segment(center, end, 1.0, MUTED);
    }
    let position = format!("position {}", thousands(rings.positions[rings.shown]));
    let at = (area.right, area.top + 14.0);
    scene.text(at, &position, 15.0, Weight::Regular, Anchor::End, INK);
    Ok(())
}

/// Places of the circles' points on the page.
struct View {
    /// Center of the nearest circle and of the farthest.
    near: Point,
    far: Point,
    radius: f64,
    pairs: usize,
}

impl View {
    fn new(area: Area, pairs: usize) -> Self {
        let Proportions {
            flat,
            far,
            high,
            wide,
            centers,
        } = PROPORTIONS;
        let radius = (area.height() * high).min(area.width() * wide);
        let [near_at, far_at] = centers.map(|center| area.top + area.height() * center);
        Self {
            near: (area.left + radius * flat + 6.0, near_at),
            far: (area.right - radius * flat * far - 20.0, far_at),
            radius,
            pairs,
        }
    }

    /// Returns the size of a pair's circle relative to the nearest.
    fn size(&self, pair: usize) -> f64 {
        1.0 + (PROPORTIONS.far - 1.0) * self.depth(pair)
    }

    /// Returns 0 for the nearest circle and 1 for the farthest.
    fn depth(&self, pair: usize) -> f64 {
        pair as f64 / (self.pairs.max(2) - 1) as f64
    }

    fn place(&self, pair: usize, (cosine, sine): Point) -> Point {
        let depth = self.depth(pair);
        let radius = self.radius * self.size(pair);
        let between = |near: f64, far: f64| near + (far - near) * depth;
        (
            between(self.near.0, self.far.0) + cosine * radius * PROPORTIONS.flat,
            between(self.near.1, self.far.1) - sine * radius,
        )
    }
}

/// Returns the corners of the unit circle.
fn circle() -> Result<Vec<(f64, f64)>> {
    let angles: Vec<f64> = (0..CORNERS)
        .map(|corner| std::f64::consts::TAU * corner as f64 / CORNERS as f64)
        .collect();
    let table = Sinusoidal::paper(2)?.table_at_reals::<f64>(&angles)?;
    Ok(table.iter_rows().map(|row| (row[1], row[0])).collect())
}

/// Draws all positions as an animation if the figure shows rings.
pub(crate) fn frames(
    figure: &Figure,
    width: u32,
    scale: u32,
    theme: Theme,
) -> Result<Option<Vec<u8>>> {
    let Some(Content::Rings(rings)) = figure.panels.first().map(|panel| &panel.content) else {
        return Ok(None);
    };
    // GIF has no half-transparent pixels, so the edges of lines need a ground.
    let theme = match theme {
        Theme::Transparent => Theme::Light,
        theme => theme,
    };
    let mut figure = figure.clone();
    let count = rings.positions.len();
    let rasters = (0..count).map(|shown| {
        if let Content::Rings(rings) = &mut figure.panels[0].content {
            rings.shown = shown;
        }
        let scene = super::scene(&figure, width, super::Head::Whole)?;
        Raster::of(&scene, scale, theme)
    });
    // Shades from each ink to the paper.
    let inks = [INK, MUTED, AXIS, POSITIVE, NEGATIVE];
    let shades = 51;
    let palette: Vec<Rgb> = inks
        .iter()
        .flat_map(|ink| {
            (0..shades).map(|shade| mixed(ink.of(theme), PAPER.of(theme), shade, shades - 1))
        })
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
