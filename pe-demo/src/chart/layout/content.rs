//! One panel: its title, axes, and content.

use anyhow::Result;

use super::axes::Axes;
use super::legend::{Names, Style, styles};
use super::margins::{AxisPlace, Margins};
use super::{Area, TEXT, rings};
use crate::chart::figure::{Content, Curve, Direction, Figure, Map, Mark, Panel};
use crate::chart::paint::color::{AXIS, INK, MUTED};
use crate::chart::paint::font::{CAPITALS, Weight};
use crate::chart::paint::scene::{Anchor, Cells, Image, Item, Point, Scene};

/// Height of a panel's title.
const TITLE: f64 = 20.0;
/// Longer names of levels, in widths of a panel, would meet the curves.
const LONG: f64 = 0.42;

/// Draws a panel and returns the area of its content.
pub(super) fn draw(
    scene: &mut Scene,
    panel: &Panel,
    mut area: Area,
    place: AxisPlace,
    margins: &Margins,
    names: &Names,
) -> Result<Area> {
    if let Some(title) = &panel.title {
        let left = margins.title_left(area, place);
        // A title that is too long for its panel is smaller.
        let ems = Weight::Medium.width(title)?;
        let size = (TEXT + 0.5).min((area.right - left) / ems.max(1.0));
        let at = (left, area.top + 2.0 + CAPITALS * (TEXT + 0.5));
        scene.text(at, title, size, Weight::Medium, Anchor::Start, INK);
        area.top += TITLE;
    }
    if let Content::Rings(rings) = &panel.content {
        rings::draw(scene, rings, area)?;
        return Ok(area);
    }
    let legend = (margins.title_left(area, place), area.top);
    area.top += names.top();
    let axes = Axes::new(panel, area, place, margins)?;
    if let Content::Curves(_) = &panel.content {
        axes.draw_grid(scene);
    }
    axes.draw(scene);
    match &panel.content {
        Content::Curves(curves) => {
            let styles = styles(curves);
            for (curve, style) in curves.iter().zip(&styles) {
                draw_line(scene, &axes, curve, *style);
            }
            for (curve, style) in curves.iter().zip(&styles) {
                draw_dots(scene, &axes, curve, *style);
            }
            name_levels(scene, &axes, curves, margins.panel_width())?;
            let ends: Vec<Option<Point>> = curves.iter().map(|curve| end(&axes, curve)).collect();
            names.draw_in(scene, panel, legend, axes.inside, &ends)?;
        }
        Content::Map(map) => draw_map(scene, axes.inside, map, panel.y.direction),
        Content::Rings(_) => {}
    }
    Ok(axes.inside)
}

fn points<'a>(axes: &'a Axes<'_>, curve: &'a Curve) -> impl Iterator<Item = Point> + 'a {
    let points = curve.x.iter().zip(&curve.y);
    points.map(|(x, y)| axes.point(*x, *y))
}

/// Returns the place where a curve ends.
fn end(axes: &Axes<'_>, curve: &Curve) -> Option<Point> {
    Some(axes.point(*curve.x.last()?, *curve.y.last()?))
}

fn draw_line(scene: &mut Scene, axes: &Axes<'_>, curve: &Curve, style: Style) {
    let Style { tone, dash } = style;
    let width = match curve.mark {
        Mark::Guide | Mark::Level | Mark::Thin(_) => 1.2,
        Mark::Line | Mark::Dotted | Mark::Through(_) | Mark::Steps => 1.8,
        Mark::Dots | Mark::Hidden => return,
    };
    let line = match curve.mark {
        Mark::Steps => steps(axes, curve),
        _ => points(axes, curve).collect(),
    };
    scene.dashed(line, width, dash, tone);
}

/// Returns level lines around the points of a curve.
fn steps(axes: &Axes<'_>, curve: &Curve) -> Vec<Point> {
    let x = |index: usize| curve.x[index];
    let middle = |index: usize| (x(index) + x(index + 1)) / 2.0;
    let last = curve.x.len().saturating_sub(1);
    let mut line = Vec::with_capacity(2 * curve.x.len());
    for (index, y) in curve.y.iter().enumerate() {
        let from = if index == 0 { x(0) } else { middle(index - 1) };
        let to = if index == last {
            x(last)
        } else {
            middle(index)
        };
        line.push(axes.point(from, *y));
        line.push(axes.point(to, *y));
    }
    line
}

fn draw_dots(scene: &mut Scene, axes: &Axes<'_>, curve: &Curve, style: Style) {
    if let Mark::Dotted | Mark::Dots = curve.mark {
        for dot in points(axes, curve) {
            scene.disc(dot, 2.4, style.tone);
        }
    }
}

/// Returns the names of levels that are too long for their panels. The levels have the beginnings of their names, up to a
/// colon.
pub(super) fn long_levels(figure: &Figure, panel_width: f64) -> Result<Vec<&str>> {
    let curves = figure.panels.iter().flat_map(|panel| match &panel.content {
        Content::Curves(curves) => curves.as_slice(),
        Content::Map(_) | Content::Rings(_) => &[],
    });
    let mut long = Vec::new();
    for curve in curves.filter(|curve| curve.mark == Mark::Level) {
        if is_long(&curve.name, panel_width)? {
            long.push(curve.name.as_str());
        }
    }
    Ok(long)
}

fn is_long(name: &str, panel_width: f64) -> Result<bool> {
    let width = Weight::Regular.width(name)? * TEXT;
    Ok(name.contains(": ") && width > LONG * panel_width)
}

/// Writes the names of levels above their lines, or below if the next line is too close, and those
/// of upright lines next to their first points.
fn name_levels(scene: &mut Scene, axes: &Axes<'_>, curves: &[Curve], wide: f64) -> Result<()> {
    let levels = curves.iter().filter(|curve| curve.mark == Mark::Level);
    let levels: Vec<(&Curve, Vec<Point>)> = levels
        .map(|curve| (curve, points(axes, curve).collect()))
        .collect();
    let capitals = CAPITALS * TEXT;
    for (curve, line) in &levels {
        let (Some((x, y)), Some(end)) = (line.first().copied(), line.last()) else {
            continue;
        };
        let upright = line.len() > 1 && x == end.0;
        let crowded = levels
            .iter()
            .filter_map(|(_, other)| other.first())
            .any(|(_, other)| y > *other && y - other < TEXT + 5.0);
        let (anchor, across) = match x > axes.inside.right - 90.0 {
            true => (Anchor::End, -6.0),
            false => (Anchor::Start, 6.0),
        };
        let down = match upright || crowded {
            true => 4.0 + capitals,
            false => -4.0,
        };
        let at = (x + across, y + down);
        let name = match is_long(&curve.name, wide)? {
            true => curve.name.split(": ").next().unwrap_or_default(),
            false => &curve.name,
        };
        scene.text(at, name, TEXT, Weight::Regular, anchor, MUTED);
    }
    Ok(())
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
