//! Names of curves: at their ends, or in a legend.

use anyhow::Result;

use super::{Area, NARROW, TEXT};
use crate::chart::figure::{Content, Curve, Figure, Mark, Panel, Spacing};
use crate::chart::paint::color::{DASHES, Dash, INK, MUTED, SERIES, SOLID, Tone};
use crate::chart::paint::font::{CAPITALS, Weight};
use crate::chart::paint::scene::{Anchor, Point, Scene};
use crate::chart::ticks::log10;

/// Length of the stroke before a name in a legend: every dash of a line is seen.
const STROKE: f64 = 28.0;
/// Length of the stroke from the end of a curve to its name.
const LEADER: f64 = 26.0;
/// Between a stroke and its name, and between a name and the next stroke.
const SPACE: f64 = 6.0;
const APART: f64 = 18.0;
/// Height of a line.
const LINE: f64 = TEXT * 1.6;
/// Least distance of the baselines of names at the ends of curves.
const CLOSE: f64 = 15.0;
/// Longer names are in a legend.
const LONGEST: f64 = 150.0;

/// Color and dashes of a curve.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) tone: Tone,
    pub(super) dash: Dash,
}

/// Returns the styles of curves. Those for reference are gray.
pub(super) fn styles(curves: &[Curve]) -> Vec<Style> {
    let mut series = SERIES.iter().cycle().zip(DASHES.iter().cycle());
    let gray = Style {
        tone: MUTED,
        dash: SOLID,
    };
    let mut styles: Vec<Style> = Vec::with_capacity(curves.len());
    for curve in curves {
        styles.push(match curve.mark {
            Mark::Guide | Mark::Level => gray,
            Mark::Thin(of) | Mark::Through(of) => styles.get(of).copied().unwrap_or(gray),
            _ => series
                .next()
                .map_or(gray, |(tone, dash)| Style { tone: *tone, dash }),
        });
    }
    styles
}

/// A curve with a name of its own.
struct Key<'a> {
    curve: &'a Curve,
    style: Style,
}

/// Returns the curves of a panel that need a name: none if there is one curve.
fn keys(panel: &Panel) -> Vec<Key<'_>> {
    let Content::Curves(curves) = &panel.content else {
        return Vec::new();
    };
    let named = |curve: &Curve| {
        let part = matches!(curve.mark, Mark::Level | Mark::Thin(_) | Mark::Through(_));
        !part && !curve.name.is_empty()
    };
    let keys: Vec<Key<'_>> = curves
        .iter()
        .zip(styles(curves))
        .filter(|(curve, _)| named(curve))
        .map(|(curve, style)| Key { curve, style })
        .collect();
    if keys.len() > 1 { keys } else { Vec::new() }
}

/// Returns whether at most two curves of a panel end at about the same height.
fn ends_apart(panel: &Panel) -> bool {
    let height = |value: f64| match panel.y.spacing {
        Spacing::Linear => value,
        Spacing::Logarithmic => log10(value),
    };
    let keys = keys(panel);
    let ends = keys.iter().filter_map(|key| key.curve.y.last());
    let mut ends: Vec<f64> = ends.map(|end| height(*end)).collect();
    ends.sort_by(f64::total_cmp);
    let near = 0.012 * (height(panel.y.range.1) - height(panel.y.range.0));
    ends.windows(3).all(|three| three[2] - three[0] > near)
}

fn width(name: &str) -> Result<f64> {
    Ok(Weight::Regular.width(name)? * TEXT)
}

/// Places of the names of a figure's curves.
pub(super) enum Names {
    /// No panel has more than one curve.
    None,
    /// In one legend for all panels.
    Above,
    /// In a legend for each panel, of at most so many lines of a width.
    InPanels(usize, f64),
    /// To the right of the curves' ends, with so much room.
    AtEnds(f64),
}

impl Names {
    /// Chooses the places for a figure with panels so wide in one column or in several.
    pub(super) fn of(figure: &Figure, columns: usize, panel_width: f64) -> Result<Self> {
        let all: Vec<Vec<Key<'_>>> = figure.panels.iter().map(keys).collect();
        let mut longest = 0.0_f64;
        for key in all.iter().flatten() {
            longest = longest.max(width(&key.curve.name)?);
        }
        if longest == 0.0 {
            return Ok(Self::None);
        }
        let apart = figure.panels.iter().all(ends_apart);
        if columns == 1 && panel_width >= f64::from(NARROW) && longest <= LONGEST && apart {
            return Ok(Self::AtEnds(LEADER + SPACE + longest));
        }
        let names = |keys: &[Key<'_>]| -> Vec<String> {
            keys.iter().map(|key| key.curve.name.clone()).collect()
        };
        // Panels without a legend of their own need none.
        let mut own = all.iter().filter(|keys| !keys.is_empty());
        let first = own.next().map(|keys| names(keys));
        if own.all(|keys| Some(names(keys)) == first) {
            return Ok(Self::Above);
        }
        // Without the names of axes and what is half beyond them.
        let room = panel_width - 30.0;
        let mut most = 0;
        for keys in &all {
            most = most.max(lines(keys, room)?.len());
        }
        Ok(Self::InPanels(most, room))
    }

    /// Returns the room to the right of each panel.
    pub(super) fn right(&self) -> f64 {
        match self {
            Self::AtEnds(room) => *room,
            _ => 0.0,
        }
    }

    /// Returns the room between the title of each panel and its content.
    pub(super) fn top(&self) -> f64 {
        match self {
            Self::InPanels(lines, _) => *lines as f64 * LINE + 4.0,
            _ => 0.0,
        }
    }

    /// Draws the legend of all panels and returns its height.
    pub(super) fn draw_above(
        &self,
        scene: &mut Scene,
        figure: &Figure,
        at: Point,
        room: f64,
    ) -> Result<f64> {
        let named = figure.panels.iter().map(keys).find(|keys| !keys.is_empty());
        match (self, named) {
            (Self::Above, Some(keys)) => draw(scene, &keys, at, room),
            _ => Ok(0.0),
        }
    }

    /// Draws the legend of a panel, or the names at the ends of its curves.
    pub(super) fn draw_in(
        &self,
        scene: &mut Scene,
        panel: &Panel,
        legend: Point,
        inside: Area,
        ends: &[Option<Point>],
    ) -> Result<()> {
        match self {
            Self::InPanels(_, room) => draw(scene, &keys(panel), legend, *room).map(|_| ()),
            Self::AtEnds(_) => at_ends(scene, panel, inside, ends),
            Self::None | Self::Above => Ok(()),
        }
    }
}

/// Breaks a legend into lines.
fn lines<'a>(keys: &'a [Key<'a>], room: f64) -> Result<Vec<Vec<(f64, &'a Key<'a>)>>> {
    let mut lines: Vec<Vec<(f64, &Key<'_>)>> = Vec::new();
    let mut x = 0.0;
    for key in keys {
        let wide = STROKE + SPACE + width(&key.curve.name)?;
        match lines.last_mut() {
            Some(line) if x + wide <= room => line.push((x, key)),
            _ => {
                x = 0.0;
                lines.push(vec![(x, key)]);
            }
        }
        x += wide + APART;
    }
    Ok(lines)
}

/// Draws strokes with their names, next to each other, and returns the height of their lines.
fn draw(scene: &mut Scene, keys: &[Key<'_>], (left, top): Point, room: f64) -> Result<f64> {
    let lines = lines(keys, room)?;
    for (index, line) in lines.iter().enumerate() {
        let baseline = top + index as f64 * LINE + TEXT;
        for (x, key) in line {
            let (from, middle) = (left + x, baseline - CAPITALS * TEXT / 2.0);
            let stroke = vec![(from, middle), (from + STROKE, middle)];
            let Style { tone, dash } = key.style;
            scene.dashed(stroke, 2.0, dash, tone);
            if let Mark::Dots | Mark::Dotted = key.curve.mark {
                scene.disc((from + STROKE / 2.0, middle), 2.6, tone);
            }
            let at = (from + STROKE + SPACE, baseline);
            let name = &key.curve.name;
            scene.text(at, name, TEXT, Weight::Regular, Anchor::Start, MUTED);
        }
    }
    Ok(lines.len() as f64 * LINE)
}

/// Writes the names of curves at their ends, `ends`, which are those of all curves of the panel.
fn at_ends(scene: &mut Scene, panel: &Panel, inside: Area, ends: &[Option<Point>]) -> Result<()> {
    let Content::Curves(curves) = &panel.content else {
        return Ok(());
    };
    let mut outside: Vec<(Point, Key<'_>)> = Vec::new();
    for key in keys(panel) {
        let index = curves
            .iter()
            .position(|curve| std::ptr::eq(curve, key.curve));
        let Some(end) = index.and_then(|index| ends.get(index).copied().flatten()) else {
            continue;
        };
        if end.0 >= inside.right - 3.0 {
            outside.push((end, key));
            continue;
        }
        // A curve that ends earlier has its name there.
        let at = (end.0 + 8.0, (end.1 - 6.0).max(inside.top + TEXT));
        let name = &key.curve.name;
        scene.text(at, name, TEXT, Weight::Regular, Anchor::Start, INK);
    }
    outside.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    // From the top down as far apart as names are high, then up again from the bottom.
    let mut heights: Vec<f64> = Vec::with_capacity(outside.len());
    for ((_, y), _) in &outside {
        let least = heights.last().map_or(inside.top, |last| last + CLOSE);
        heights.push(y.max(least));
    }
    let mut most = inside.bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(most);
        most = *height - CLOSE;
    }
    for (((x, y), key), height) in outside.into_iter().zip(heights) {
        let Style { tone, dash } = key.style;
        let bend = x + 8.0;
        let leader = vec![(x, y), (bend, height), (x + LEADER, height)];
        scene.dashed(leader, 1.6, dash, tone);
        let at = (x + LEADER + SPACE, height + CAPITALS * TEXT / 2.0);
        let name = &key.curve.name;
        scene.text(at, name, TEXT, Weight::Regular, Anchor::Start, MUTED);
    }
    Ok(())
}
