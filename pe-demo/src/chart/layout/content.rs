//! One panel: its title, axes, and content.

use anyhow::Result;

use super::axes::{Axes, AxisPlace};
use super::{Area, TEXT, rings, tones};
use crate::chart::figure::{Content, Curve, Direction, Map, Mark, Panel};
use crate::chart::paint::color::{AXIS, INK, MUTED, Tone};
use crate::chart::paint::font::{CAPITALS, Weight};
use crate::chart::paint::scene::{Anchor, Cells, Closed, Image, Item, Point, Scene};

/// Height of a panel's title.
const TITLE: f64 = 20.0;

/// Draws a panel and returns the area of its content.
pub(super) fn draw(
    scene: &mut Scene,
    panel: &Panel,
    mut area: Area,
    place: AxisPlace,
) -> Result<Area> {
    if let Some(title) = &panel.title {
        let size = TEXT + 0.5;
        let at = (area.left, area.top + 2.0 + CAPITALS * size);
        scene.text(at, title, size, Weight::Medium, Anchor::Start, INK);
        area.top += TITLE;
    }
    if let Content::Rings(rings) = &panel.content {
        rings::draw(scene, rings, area)?;
        return Ok(area);
    }
    let axes = Axes::new(panel, area, place)?;
    if let Content::Curves(_) = &panel.content {
        axes.draw_grid(scene);
    }
    axes.draw(scene);
    match &panel.content {
        Content::Curves(curves) => {
            for (curve, tone) in curves.iter().zip(tones(curves)) {
                draw_curve(scene, &axes, curve, tone);
            }
            name_levels(scene, &axes, curves);
        }
        Content::Map(map) => draw_map(scene, axes.inside, map, panel.y.direction),
        Content::Rings(_) => {}
    }
    Ok(axes.inside)
}

fn draw_curve(scene: &mut Scene, axes: &Axes<'_>, curve: &Curve, tone: Tone) {
    let points: Vec<Point> = curve
        .x
        .iter()
        .zip(&curve.y)
        .map(|(x, y)| axes.point(*x, *y))
        .collect();
    let dots = match curve.mark {
        Mark::Dotted => points.clone(),
        _ => Vec::new(),
    };
    let width = match curve.mark {
        Mark::Guide | Mark::Level | Mark::Thin(_) => 1.2,
        Mark::Line | Mark::Dotted => 1.8,
    };
    scene.stroke(points, Closed::No, width, tone);
    for dot in dots {
        scene.disc(dot, 2.4, tone);
    }
}

/// Writes the names of levels above their lines, or below if the next line is too close.
fn name_levels(scene: &mut Scene, axes: &Axes<'_>, curves: &[Curve]) {
    let levels: Vec<(&Curve, Point)> = curves
        .iter()
        .filter(|curve| curve.mark == Mark::Level)
        .filter_map(|curve| Some((curve, axes.point(*curve.x.first()?, *curve.y.first()?))))
        .collect();
    for (curve, (x, y)) in &levels {
        let crowded = levels
            .iter()
            .any(|(_, (_, other))| y > other && y - other < TEXT + 5.0);
        let down = match crowded {
            true => 4.0 + CAPITALS * TEXT,
            false => -4.0,
        };
        let at = (x + 6.0, y + down);
        scene.text(at, &curve.name, TEXT, Weight::Regular, Anchor::Start, MUTED);
    }
}

/// Draws the cells of a map with a frame around them.
fn draw_map(scene: &mut Scene, area: Area, map: &Map, direction: Direction) {
    let columns = map.columns.len();
    let level = |value: &f64| map.colors.level(*value, map.range);
    let lines = map.values.chunks_exact(columns.max(1));
    let levels = match direction {
        Direction::Backward => lines.flatten().map(level).collect(),
        Direction::Forward => lines.rev().flatten().map(level).collect(),
    };
    scene.items.push(Item::Image(Image {
        at: (area.left, area.top),
        extent: (area.width(), area.height()),
        cells: Cells {
            columns,
            rows: map.rows.len(),
            levels,
            palette: map.colors.palette(),
        },
    }));
    scene.frame((area.left, area.top), (area.right, area.bottom), AXIS);
}
