//! The layout of a figure.

mod axes;
mod bar;
mod content;
mod legend;
mod margins;
mod rings;
mod ruler;
mod words;

use anyhow::Result;

use super::figure::Figure;
use super::paint::color::{INK, MUTED};
use super::paint::font::Weight;
use super::paint::scene::Scene;
use legend::Names;
use margins::{AxisPlace, Margins};
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
/// Length of a tick mark, and the distance from it to its label.
const TICK: f64 = 4.0;
/// Height of an axis's name.
const NAME: f64 = 16.0;

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

/// Draws a figure `width` pixels wide. All panels' contents are equally large.
pub(crate) fn scene(figure: &Figure, width: u32, parts: Head) -> Result<Scene> {
    let columns = match figure.shape.columns {
        // Many small panels are a grid, which keeps its shape.
        columns if width < NARROW && columns <= 4 => columns.div_ceil(2),
        columns => columns,
    };
    let gap = if columns > 4 && width < NARROW {
        GAP / 2.0
    } else {
        GAP
    };
    let rows = figure.panels.len().div_ceil(columns);
    let mut scene = Scene::new((width, 0));
    let bar = bar::Bar::of(figure)?;
    let room = f64::from(width) - 2.0 * MARGIN - bar.as_ref().map_or(0.0, bar::Bar::width);
    let share = (room - gap * (columns - 1) as f64) / columns as f64;
    let aspect = match figure.shape.aspect {
        aspect if width < NARROW && aspect < 0.7 => (aspect * 1.5).min(0.8),
        aspect => aspect,
    };
    let names = Names::of(figure, columns, share)?;
    let top = head(&mut scene, figure, &names, share, parts)?;
    let margins = Margins::of(&figure.panels, names.right(), (share, share * aspect))?;
    let (outer_left, outer_bottom) = margins.outer;
    let panel_width = (room - outer_left - gap * (columns - 1) as f64) / columns as f64;
    let panel_height = margins.height(panel_width, share * aspect, rows) + names.top();
    let height = top + (panel_height + gap) * rows as f64 - gap + outer_bottom + MARGIN;
    scene.size.1 = height.ceil() as u32;

    let mut inside: Option<Area> = None;
    for (index, panel) in figure.panels.iter().enumerate() {
        let (row, column) = (index / columns, index % columns);
        let left = MARGIN + outer_left + (panel_width + gap) * column as f64;
        let upper = top + (panel_height + gap) * row as f64;
        let place = AxisPlace {
            leftmost: column == 0,
            lowest: index + columns >= figure.panels.len(),
        };
        let area = Area {
            left: left - if place.leftmost { outer_left } else { 0.0 },
            top: upper,
            right: left + panel_width,
            bottom: upper + panel_height + if place.lowest { outer_bottom } else { 0.0 },
        };
        let content = content::draw(&mut scene, panel, area, place, &margins, &names)?;
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
fn head(
    scene: &mut Scene,
    figure: &Figure,
    names: &Names,
    panel_width: f64,
    parts: Head,
) -> Result<f64> {
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
        }
        // A page has space of its own around the picture.
        Head::Legend => words.at.1 = 0.0,
    }
    for level in content::long_levels(figure, panel_width)? {
        words.paragraph(level, TEXT, Weight::Regular, MUTED)?;
    }
    let top = match parts {
        Head::Whole => words.at.1 + 6.0,
        Head::Legend => words.at.1,
    };
    let legend = names.draw_above(scene, figure, (MARGIN, top), room)?;
    Ok(top + legend + 8.0)
}
