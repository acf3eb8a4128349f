//! One panel: axes and what is between them.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::Result;
use plotters::chart::{ChartBuilder, ChartContext, LabelAreaPosition};
use plotters::coord::cartesian::Cartesian2d;
use plotters::element::{Circle, PathElement, Rectangle};
use plotters::series::LineSeries;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, RGBAColor, RGBColor, ShapeStyle, TextStyle};

use super::axes::{Place, Ruler};
use super::{Area, TEXT, failed, inks, rings};
use crate::chart::figure::{Content, Curve, Direction, Map, Mark, Panel};
use crate::chart::paint::canvas::{Canvas, Picture, UNITS, units};
use crate::chart::paint::color::{AXIS, GRID, INK, MUTED, Rgb};
use crate::chart::paint::scene::{Cells, Scene};

/// Between ticks and their labels, and beyond the labels.
const TICK: f64 = 4.0;
const TITLE: f64 = 20.0;
/// The name of an axis.
pub(super) const NAME: f64 = 16.0;

/// Draws a panel; returns the heights in pixels between which its content lies.
pub(super) fn draw(
    area: &Area,
    scene: &Rc<RefCell<Scene>>,
    panel: &Panel,
    place: Place,
) -> Result<(f64, f64)> {
    let area = match &panel.title {
        None => area.clone(),
        Some(title) => {
            let (above, below) = area.split_vertically(units(TITLE));
            let style = ("sans-serif", f64::from(units(TEXT + 0.5)), FontStyle::Bold)
                .into_font()
                .color(&solid(INK));
            above
                .draw_text(title, &style, (0, units(2.0)))
                .map_err(failed)?;
            below
        }
    };
    if let Content::Rings(rings) = &panel.content {
        return rings::draw(&area, scene, rings, rings.shown);
    }

    let (width, height) = area.dim_in_pixel();
    let pixels = |count: u32| f64::from(count) / f64::from(UNITS);
    let x = Ruler::new(&panel.x, (pixels(width) / 75.0) as usize + 1);
    let y = Ruler::new(&panel.y, (pixels(height) / 44.0) as usize + 1);
    let named =
        |name: &str, outermost: bool| (!name.is_empty() && outermost).then(|| name.to_owned());
    let x_name = named(&panel.x.label, place.lowest);
    let y_name = named(&panel.y.label, place.leftmost);
    let room_left = match (&y_name, y.ticks.is_empty()) {
        (None, true) => 1.0,
        (name, _) => y.labels_width()? + 2.0 * TICK + 4.0 + if name.is_some() { NAME } else { 0.0 },
    };
    let room_below = match (&x_name, x.ticks.is_empty()) {
        (None, true) => 1.0,
        (name, _) => 2.0 * TICK + TEXT + if name.is_some() { NAME } else { 0.0 },
    };
    // Room for half of the last label.
    let room_right = if x.ticks.is_empty() { 1.0 } else { 10.0 };

    let mut chart = ChartBuilder::on(&area)
        .margin_top(units(5.0))
        .margin_right(units(room_right))
        .set_label_area_size(LabelAreaPosition::Left, units(room_left))
        .set_label_area_size(LabelAreaPosition::Bottom, units(room_below))
        .build_cartesian_2d(x, y)
        .map_err(failed)?;

    let mut mesh = chart.configure_mesh();
    mesh.axis_style(line(AXIS, 1.0, 1.0))
        .bold_line_style(line(GRID, 1.0, 1.0))
        .light_line_style(RGBAColor(0, 0, 0, 0.0))
        .label_style(label_style())
        .axis_desc_style(label_style())
        .set_all_tick_mark_size(units(TICK));
    if let Some(name) = x_name {
        mesh.x_desc(name);
    }
    if let Some(name) = y_name {
        mesh.y_desc(name);
    }
    if matches!(panel.content, Content::Map(_)) {
        mesh.disable_mesh();
    }
    mesh.draw().map_err(failed)?;

    match &panel.content {
        Content::Curves(curves) => {
            for (curve, ink) in curves.iter().zip(inks(curves)) {
                let points = || curve.x.iter().copied().zip(curve.y.iter().copied());
                draw_curve(&mut chart, curve, points, ink.rgb)?;
            }
            name_levels(&chart, curves)?;
        }
        Content::Map(map) => {
            let corners = [
                (panel.x.range.0, panel.y.range.0),
                (panel.x.range.1, panel.y.range.1),
            ];
            let picture = Picture::new(corners, cells(map, panel.y.direction));
            chart.plotting_area().draw(&picture).map_err(failed)?;
            let frame = Rectangle::new(corners, line(AXIS, 1.0, 1.0));
            chart.plotting_area().draw(&frame).map_err(failed)?;
        }
        Content::Rings(_) => {}
    }
    let (_, heights) = chart.plotting_area().get_pixel_range();
    let pixel = |unit: i32| f64::from(unit) / f64::from(UNITS);
    Ok((pixel(heights.start), pixel(heights.end)))
}

type Chart<'a> = ChartContext<'a, Canvas, Cartesian2d<Ruler, Ruler>>;

fn draw_curve<I: Iterator<Item = (f64, f64)>>(
    chart: &mut Chart<'_>,
    curve: &Curve,
    points: impl Fn() -> I,
    rgb: Rgb,
) -> Result<()> {
    if matches!(curve.mark, Mark::Guide | Mark::Level | Mark::Thin(_)) {
        let guide = PathElement::new(points().collect::<Vec<_>>(), line(rgb, 1.0, 1.2));
        chart.plotting_area().draw(&guide).map_err(failed)?;
        return Ok(());
    }
    let style = line(rgb, 1.0, 1.8);
    chart
        .draw_series(LineSeries::new(points(), style))
        .map_err(failed)?;
    if curve.mark == Mark::Dotted {
        let dot = |at| Circle::new(at, units(2.4), solid(rgb).filled());
        chart.draw_series(points().map(dot)).map_err(failed)?;
    }
    Ok(())
}

/// The names of levels above their lines, or below where the next line is too close.
fn name_levels(chart: &Chart<'_>, curves: &[Curve]) -> Result<()> {
    let levels: Vec<(&Curve, (i32, i32))> = curves
        .iter()
        .filter(|curve| curve.mark == Mark::Level)
        .filter_map(|curve| {
            let left = (*curve.x.first()?, *curve.y.first()?);
            Some((curve, chart.backend_coord(&left)))
        })
        .collect();
    for (curve, (x, y)) in &levels {
        let crowded =
            |(_, (_, other)): &(&Curve, (i32, i32))| (1..units(TEXT + 5.0)).contains(&(y - other));
        let (side, down) = match levels.iter().any(crowded) {
            true => (VPos::Top, 4.0),
            false => (VPos::Bottom, -4.0),
        };
        let style = label_style().pos(Pos::new(HPos::Left, side));
        let (left, top) = chart.plotting_area().get_base_pixel();
        let at = (x - left + units(6.0), y - top + units(down));
        chart
            .plotting_area()
            .strip_coord_spec()
            .draw_text(&curve.name, &style, at)
            .map_err(failed)?;
    }
    Ok(())
}

/// The cells of a map as they lie on the page, from the upper left corner.
fn cells(map: &Map, direction: Direction) -> Cells {
    let (columns, rows) = (map.columns.len(), map.rows.len());
    let level = |value: &f64| map.colors.level(*value, map.range);
    let lines = map.values.chunks_exact(columns.max(1));
    let levels = match direction {
        Direction::Backward => lines.flatten().map(level).collect(),
        Direction::Forward => lines.rev().flatten().map(level).collect(),
    };
    Cells {
        columns,
        rows,
        levels,
        palette: map.colors.palette(),
    }
}

fn solid(Rgb(r, g, b): Rgb) -> RGBColor {
    RGBColor(r, g, b)
}

fn line(rgb: Rgb, opacity: f64, width: f64) -> ShapeStyle {
    solid(rgb).mix(opacity).stroke_width(units(width) as u32)
}

fn label_style() -> TextStyle<'static> {
    ("sans-serif", f64::from(units(TEXT)))
        .into_font()
        .color(&solid(MUTED))
}
