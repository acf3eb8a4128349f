//! Room around the contents of panels, the same for all panels of a figure.

use anyhow::Result;

use super::ruler::{Ruler, widest};
use super::{Area, NAME, TEXT, TICK};
use crate::chart::figure::{Axis, Panel};

/// Position of a panel among the others.
#[derive(Debug, Clone, Copy)]
pub(super) struct AxisPlace {
    pub(super) leftmost: bool,
    pub(super) lowest: bool,
}

/// Writing of the name of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// All panels have it, and it is written at the outermost.
    Outermost,
    /// Each panel has its own, or none has any.
    Each,
}

/// Room that all panels of a figure give to the labels and names of their axes, so that their
/// contents are equally large.
pub(super) struct Margins {
    /// Size of a panel, for which ticks are chosen.
    size: (f64, f64),
    /// In each panel.
    pub(super) left: f64,
    pub(super) bottom: f64,
    pub(super) right: f64,
    /// Beyond the leftmost and below the lowest.
    pub(super) outer: (f64, f64),
    pub(super) naming: (Naming, Naming),
}

impl Margins {
    /// Measures the labels of panels with contents so large, with `right` pixels for other uses.
    pub(super) fn of(panels: &[Panel], right: f64, size: (f64, f64)) -> Result<Self> {
        let mut margins = Self {
            size,
            left: 1.0,
            bottom: 1.0,
            right: 1.0,
            outer: (0.0, 0.0),
            naming: (
                naming(panels, |panel| &panel.x),
                naming(panels, |panel| &panel.y),
            ),
        };
        let name = |axis: &Axis| if axis.label.is_empty() { 0.0 } else { NAME };
        for panel in panels {
            let (x, y) = margins.rulers(panel)?;
            let room = |ruler: &Ruler, labels: f64| match ruler.ticks.is_empty() {
                true => 1.0,
                false => labels + 2.0 * TICK,
            };
            let mut left = room(&y, widest(&y.labels)? + 4.0);
            let mut bottom = room(&x, TEXT);
            // Words are written once, at the outermost panels.
            if panel.y.names.is_some() {
                margins.outer.0 = margins.outer.0.max(left);
                left = 1.0;
            }
            if panel.x.names.is_some() {
                bottom = 2.0 * TICK + widest(&x.labels)?;
                margins.outer.1 = margins.outer.1.max(bottom);
                bottom = 1.0;
            } else if !x.ticks.is_empty() {
                // The last label is half beyond the end of its axis.
                margins.right = margins.right.max(10.0);
            }
            if margins.naming.1 == Naming::Each {
                left += name(&panel.y);
            }
            if margins.naming.0 == Naming::Each {
                bottom += name(&panel.x);
            }
            margins.left = margins.left.max(left);
            margins.bottom = margins.bottom.max(bottom);
        }
        if let Some(panel) = panels.first() {
            if margins.naming.1 == Naming::Outermost {
                margins.outer.0 += name(&panel.y);
            }
            if margins.naming.0 == Naming::Outermost {
                margins.outer.1 += name(&panel.x);
            }
        }
        margins.right = margins.right.max(right);
        Ok(margins)
    }

    /// Returns the width of a panel with its labels.
    pub(super) fn panel_width(&self) -> f64 {
        self.size.0
    }

    /// Returns the left end of a panel's title, above its labels.
    pub(super) fn title_left(&self, area: Area, place: AxisPlace) -> f64 {
        area.left + if place.leftmost { self.outer.0 } else { 0.0 }
    }

    /// Returns the height of a panel of a width. A column of `rows` panels with the name of an axis below it is as
    /// high as `wanted` for each.
    pub(super) fn height(&self, width: f64, wanted: f64, rows: usize) -> f64 {
        match self.outer.1 > NAME {
            // Below words as long as they are, panels keep their shape.
            true => wanted / self.size.0 * width,
            false => wanted - self.outer.1 / rows as f64,
        }
    }

    pub(super) fn rulers(&self, panel: &Panel) -> Result<(Ruler, Ruler)> {
        let high = (self.size.1 / 44.0) as usize + 1;
        Ok((
            Ruler::across(&panel.x, self.size.0)?,
            Ruler::new(&panel.y, high),
        ))
    }
}

fn naming(panels: &[Panel], axis: impl Fn(&Panel) -> &Axis) -> Naming {
    let mut labels = panels.iter().map(|panel| &axis(panel).label);
    let first = labels.next();
    match labels.all(|label| Some(label) == first) {
        true => Naming::Outermost,
        false => Naming::Each,
    }
}
