//! The layout of a figure.

mod axes;
mod bar;
mod content;
mod rings;
mod words;

use anyhow::Result;

use super::figure::{Content, Curve, Figure, Mark, Panel};
use super::paint::color::{INK, MUTED, SERIES, Tone};
use super::paint::font::Weight;
use super::paint::scene::Scene;
use words::Words;

pub(crate) use axes::SIZES;
pub(crate) use rings::{PROPORTIONS, frames};

/// Around everything.
const MARGIN: f64 = 18.0;
/// Between panels.
const GAP: f64 = 14.0;
/// Narrower figures have half as many panels in a row, and higher ones.
const NARROW: u32 = 560;

const TEXT: f64 = 12.0;

/// A rectangle on the page.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Area {
    fn width(self) -> f64 {
        self.right - self.left
    }

    fn height(self) -> f64 {
        self.bottom - self.top
    }
}

/// Returns the width of a figure on a page that has `room` pixels for it.
pub(crate) fn fitted(figure: &Figure, room: Option<u32>) -> u32 {
    let width = figure.shape.width;
    room.map_or(width, |room| room.min(width))
}

/// Words above the panels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Head {
    /// Title, note, and legend.
    Whole,
    /// The legend alone.
    Legend,
}

/// Draws a figure `width` pixels wide.
pub(crate) fn scene(figure: &Figure, width: u32, parts: Head) -> Result<Scene> {
    let columns = match figure.shape.columns {
        columns if width < NARROW => columns.div_ceil(2),
        columns => columns,
    };
    let rows = figure.panels.len().div_ceil(columns);
    let mut scene = Scene::new((width, 0));
    let top = head(&mut scene, figure, parts)?;

    let bar = bar::Bar::of(figure)?;
    let room = f64::from(width) - 2.0 * MARGIN - bar.as_ref().map_or(0.0, bar::Bar::width);
    let panel_width = (room - GAP * (columns - 1) as f64) / columns as f64;
    let aspect = match figure.shape.aspect {
        aspect if width < NARROW && aspect < 0.7 => (aspect * 1.5).min(0.8),
        aspect => aspect,
    };
    // The lowest panels name the axis below them. Without that name all are equally high.
    let name = match figure.panels.first() {
        Some(panel) if !panel.x.label.is_empty() => axes::NAME,
        _ => 0.0,
    };
    let panel_height = panel_width * aspect - name / rows as f64;
    let height = top + (panel_height + GAP) * rows as f64 - GAP + name + MARGIN;
    scene.size.1 = height.ceil() as u32;

    let mut inside: Option<Area> = None;
    for (index, panel) in figure.panels.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let left = MARGIN + (panel_width + GAP) * column as f64;
        let upper = top + (panel_height + GAP) * row as f64;
        let place = axes::AxisPlace {
            leftmost: column == 0,
            lowest: index + columns >= figure.panels.len(),
        };
        let below = if place.lowest { name } else { 0.0 };
        let area = Area {
            left,
            top: upper,
            right: left + panel_width,
            bottom: upper + panel_height + below,
        };
        let content = content::draw(&mut scene, panel, area, place)?;
        let all = inside.get_or_insert(content);
        all.top = all.top.min(content.top);
        all.bottom = all.bottom.max(content.bottom);
    }
    if let (Some(bar), Some(inside)) = (bar, inside) {
        let left = f64::from(width) - MARGIN - bar.width();
        bar.draw(&mut scene, left, inside);
    }
    Ok(scene)
}

/// Writes title, note, and legend, and returns the top of what is below them.
fn head(scene: &mut Scene, figure: &Figure, parts: Head) -> Result<f64> {
    let room = f64::from(scene.size.0) - 2.0 * MARGIN;
    let mut words = Words {
        scene,
        at: (MARGIN, MARGIN),
        room,
    };
    match parts {
        Head::Whole => {
            words.paragraph(&figure.title, 17.0, Weight::Medium, INK)?;
            words.paragraph(&figure.note, TEXT, Weight::Regular, MUTED)?;
            words.at.1 += 6.0;
        }
        // A page has space of its own around the picture.
        Head::Legend => words.at.1 = 0.0,
    }
    if let Some(entries) = legend(figure) {
        words.legend(&entries)?;
    }
    Ok(words.at.1 + 8.0)
}

/// Returns names and colors of the curves if there is more than one in a panel.
fn legend(figure: &Figure) -> Option<Vec<(&str, Tone)>> {
    let [
        Panel {
            content: Content::Curves(curves),
            ..
        },
    ] = &figure.panels[..]
    else {
        return None;
    };
    (curves.len() > 1).then(|| {
        curves
            .iter()
            .zip(tones(curves))
            .filter(|(curve, _)| !matches!(curve.mark, Mark::Level | Mark::Thin(_)))
            .map(|(curve, tone)| (curve.name.as_str(), tone))
            .collect()
    })
}

/// Returns the colors of curves, guides in gray.
fn tones(curves: &[Curve]) -> Vec<Tone> {
    let mut series = SERIES.iter().cycle();
    let mut tones: Vec<Tone> = Vec::with_capacity(curves.len());
    for curve in curves {
        tones.push(match curve.mark {
            Mark::Guide | Mark::Level => MUTED,
            Mark::Thin(of) => tones.get(of).copied().unwrap_or(MUTED),
            Mark::Line | Mark::Dotted => *series.next().unwrap_or(&INK),
        });
    }
    tones
}
