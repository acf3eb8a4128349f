//! A figure laid out on a page.

mod axes;
mod bar;
mod content;
mod rings;
mod words;

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};

use super::figure::{Content, Curve, Figure, Mark, Panel};
use super::paint::canvas::{Canvas, units};
use super::paint::color::{INK, MUTED, SERIES};
use super::paint::font::Weight;
use super::paint::scene::{Anchor, Closed, Ink, Item, Scene};
use words::Words;

type Area = DrawingArea<Canvas, Shift>;

/// Around everything.
const MARGIN: f64 = 18.0;
/// Between panels.
const GAP: f64 = 14.0;
/// Below this width panels stand two by two, not four by four, and are higher.
const NARROW: u32 = 560;

pub(super) const TEXT: f64 = 12.0;

/// The width of a figure on a page of which so much is free.
pub(crate) fn fitted(figure: &Figure, room: Option<u32>) -> u32 {
    let width = figure.shape.width;
    room.map_or(width, |room| room.min(width))
}

/// A figure as it is, `width` pixels wide.
pub(crate) fn scene(figure: &Figure, width: u32) -> Result<Scene> {
    let columns = match figure.shape.columns {
        columns if width < NARROW => columns.div_ceil(2),
        columns => columns,
    };
    let rows = figure.panels.len().div_ceil(columns);
    let mut words = Words::new(f64::from(width) - 2.0 * MARGIN);
    words.paragraph(&figure.title, 17.0, Weight::Medium, INK)?;
    words.paragraph(&figure.note, TEXT, Weight::Regular, MUTED)?;
    words.space(6.0);
    if let Some(entries) = legend(figure) {
        words.legend(&entries)?;
    }
    words.space(8.0);

    let bar = bar::Bar::of(figure)?;
    let room = f64::from(width) - 2.0 * MARGIN - bar.as_ref().map_or(0.0, |bar| bar.width());
    let panel_width = (room - GAP * (columns - 1) as f64) / columns as f64;
    let aspect = match figure.shape.aspect {
        aspect if width < NARROW && aspect < 0.7 => (aspect * 1.5).min(0.8),
        aspect => aspect,
    };
    // The lowest panels name the axis below them; without that name all are equally high.
    let name = match figure.panels.first() {
        Some(panel) if !panel.x.label.is_empty() => content::NAME,
        _ => 0.0,
    };
    let panel_height = panel_width * aspect - name / rows as f64;
    let top = MARGIN + words.height();
    let height = top + (panel_height + GAP) * rows as f64 - GAP + name + MARGIN;

    let scene = Rc::new(RefCell::new(Scene::new((width, height.ceil() as u32))));
    words.draw(&mut scene.borrow_mut(), (MARGIN, MARGIN));
    let root = Canvas::new(&scene).into_drawing_area();
    let mut inside: Option<(f64, f64)> = None;
    for (index, panel) in figure.panels.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let left = MARGIN + (panel_width + GAP) * column as f64;
        let upper = top + (panel_height + GAP) * row as f64;
        let place = axes::Place {
            leftmost: column == 0,
            lowest: index + columns >= figure.panels.len(),
        };
        let below = if place.lowest { name } else { 0.0 };
        let area = root.clone().shrink(
            (units(left), units(upper)),
            (units(panel_width), units(panel_height + below)),
        );
        let (first, last) = content::draw(&area, &scene, panel, place)?;
        inside = Some(match inside {
            None => (first, last),
            Some((top, bottom)) => (top.min(first), bottom.max(last)),
        });
    }
    if let (Some(bar), Some(inside)) = (bar, inside) {
        let left = f64::from(width) - MARGIN - bar.width();
        bar.draw(&mut scene.borrow_mut(), left, inside)?;
    }
    drop(root);
    let scene = Rc::try_unwrap(scene).map_err(|_| anyhow!("the drawing is still in use"))?;
    Ok(scene.into_inner())
}

/// Names and colors of the curves, if there is more than one in a panel.
fn legend(figure: &Figure) -> Option<Vec<(&str, Ink)>> {
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
            .zip(inks(curves))
            .filter(|(curve, _)| !matches!(curve.mark, Mark::Level | Mark::Thin(_)))
            .map(|(curve, ink)| (curve.name.as_str(), ink))
            .collect()
    })
}

/// The colors of curves, guides in gray.
fn inks(curves: &[Curve]) -> Vec<Ink> {
    let mut series = SERIES.iter().cycle();
    let mut inks: Vec<Ink> = Vec::with_capacity(curves.len());
    for curve in curves {
        let rgb = match curve.mark {
            Mark::Guide | Mark::Level => MUTED,
            Mark::Thin(of) => inks.get(of).map_or(MUTED, |ink| ink.rgb),
            Mark::Line | Mark::Dotted => *series.next().unwrap_or(&INK),
        };
        inks.push(Ink { rgb, opacity: 1.0 });
    }
    inks
}

/// A straight line.
fn segment(from: (f64, f64), to: (f64, f64), width: f32, ink: Ink) -> Item {
    let point = |(x, y): (f64, f64)| (x as f32, y as f32);
    Item::Stroke {
        points: vec![point(from), point(to)],
        closed: Closed::No,
        width,
        ink,
    }
}

/// A line of text on its baseline.
fn text(at: (f64, f64), text: &str, size: f64, anchor: Anchor, ink: Ink) -> Item {
    Item::Text(super::paint::scene::Text {
        at: (at.0 as f32, at.1 as f32),
        text: text.to_owned(),
        size: size as f32,
        weight: Weight::Regular,
        anchor,
        heading: super::paint::scene::Heading::Right,
        ink,
    })
}

/// The drawing library's error; the scene itself cannot fail.
fn failed(error: DrawingAreaErrorKind<std::convert::Infallible>) -> anyhow::Error {
    anyhow!("the figure cannot be laid out: {error}")
}

pub(crate) use rings::frames;
