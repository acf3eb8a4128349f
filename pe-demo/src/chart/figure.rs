//! The contents of a figure: numbers and words, before anything is drawn.

use serde::Serialize;

use super::paint::color::Colors;
use crate::terminal::numbers::six_digits;

/// Pixels of a PNG per pixel of the layout.
pub(crate) const SCALE: u32 = 2;

/// A figure.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    #[serde(rename = "figure")]
    pub(crate) name: &'static str,
    pub(crate) title: String,
    /// Description of the computation, in one line.
    pub(crate) note: String,
    /// Numbers next to the figure.
    pub(crate) facts: Vec<Fact>,
    pub(crate) panels: Vec<Panel>,
    #[serde(skip)]
    pub(crate) shape: Shape,
}

impl Figure {
    /// Describes the figure to those who cannot see it.
    pub(super) fn description(&self, about: &str) -> String {
        let panels = self
            .panels
            .iter()
            .filter_map(|panel| panel.title.as_deref());
        let panels: Vec<&str> = panels.collect();
        let numbers = self.facts.iter();
        let numbers: Vec<String> = numbers
            .map(|fact| format!("{}: {}", fact.what, six_digits(fact.value)))
            .collect();
        let parts = [
            about.to_owned(),
            self.note.clone(),
            panels.join("; "),
            numbers.join("; "),
        ];
        let sentences = parts.iter().filter(|part| !part.is_empty());
        let sentences = sentences.map(|part| format!("{}.", part.trim_end_matches('.')));
        sentences.collect::<Vec<_>>().join(" ")
    }
}

/// Layout of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Width of the whole in pixels.
    pub(crate) width: u32,
    /// Panels in a row. Narrow pages have half as many.
    pub(crate) columns: usize,
    /// Height of a panel with its labels, in widths.
    pub(crate) aspect: f64,
}

impl Shape {
    /// Returns the most columns and rows of a map for which a PNG has a pixel each. Margins, the
    /// longest labels, a title and the color bar take the rest of a panel.
    pub(crate) fn cells(self) -> (u64, u64) {
        let pixels = |room: f64| (room * f64::from(SCALE)).clamp(1.0, 1024.0) as u64;
        let width = f64::from(self.width) - 140.0;
        (pixels(width - 130.0), pixels(width * self.aspect - 64.0))
    }
}

/// A number worth reading.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Fact {
    pub(crate) what: String,
    pub(crate) value: f64,
}

impl Fact {
    pub(crate) fn new(what: impl Into<String>, value: f64) -> Self {
        Self {
            what: what.into(),
            value,
        }
    }
}

/// One pair of axes and the content between them.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Panel {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    #[serde(flatten)]
    pub(crate) content: Content,
}

/// Content of a panel.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Content {
    Curves(Vec<Curve>),
    Map(Map),
    Rings(Rings),
}

/// An axis.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Axis {
    pub(crate) label: String,
    #[serde(rename = "scale")]
    pub(crate) spacing: Spacing,
    #[serde(skip)]
    pub(crate) range: (f64, f64),
    /// Values of the ticks. With none, the drawing chooses.
    #[serde(skip)]
    pub(crate) ticks: Option<Vec<f64>>,
    /// Words at the ticks instead of their values, one for each cell of a map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) names: Option<Vec<String>>,
    #[serde(skip)]
    pub(crate) direction: Direction,
}

/// Growth of the values over equal distances on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Spacing {
    /// Equal differences.
    Linear,
    /// Equal factors.
    Logarithmic,
}

/// Direction of an axis: right and up, or left and down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

impl Axis {
    pub(crate) fn linear(label: impl Into<String>, range: (f64, f64)) -> Self {
        Self {
            label: label.into(),
            spacing: Spacing::Linear,
            range,
            ticks: None,
            names: None,
            direction: Direction::Forward,
        }
    }

    pub(crate) fn logarithmic(label: impl Into<String>, range: (f64, f64)) -> Self {
        Self {
            spacing: Spacing::Logarithmic,
            ..Self::linear(label, range)
        }
    }

    /// Builds the axis of a map's cells, each one step wide around its number.
    pub(crate) fn of_cells(label: impl Into<String>, cells: &[f64]) -> Self {
        let step = match cells {
            [first, second, ..] => second - first,
            _ => 1.0,
        };
        let (first, last) = (
            cells.first().copied().unwrap_or(0.0),
            cells.last().copied().unwrap_or(0.0),
        );
        Self::linear(label, (first - step / 2.0, last + step / 2.0))
    }

    pub(crate) fn with_ticks(self, ticks: impl IntoIterator<Item = f64>) -> Self {
        Self {
            ticks: Some(ticks.into_iter().collect()),
            ..self
        }
    }

    /// Labels the cells of a map with words.
    pub(crate) fn with_names(self, names: Vec<String>) -> Self {
        let places = (0..names.len()).map(|place| place as f64);
        Self {
            names: Some(names),
            ..self.with_ticks(places)
        }
    }

    pub(crate) fn backward(self) -> Self {
        Self {
            direction: Direction::Backward,
            ..self
        }
    }
}

/// A line through points, or the points alone.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    #[serde(skip)]
    pub(crate) mark: Mark,
}

/// Appearance of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    Line,
    /// A line with a dot at every point.
    Dotted,
    /// The points alone.
    Dots,
    /// A level line around each point, to the middle between it and the next.
    Steps,
    /// Nothing: the line through its points is another curve.
    Hidden,
    /// The line through the points of the curve with this index, and not in the legend.
    Through(usize),
    /// A thin line in the color of the curve with this index, and not in the legend.
    Thin(usize),
    /// A faint line for reference, in gray.
    Guide,
    /// Like a guide, with its name at its first point and not in the legend.
    Level,
}

/// A grid of cells, each a number.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Map {
    /// Name of the quantity.
    pub(crate) label: String,
    pub(crate) columns: Vec<f64>,
    pub(crate) rows: Vec<f64>,
    /// Row after row.
    pub(crate) values: Vec<f64>,
    #[serde(skip)]
    pub(crate) colors: Colors,
    /// The numbers at the ends of the colors.
    #[serde(skip)]
    pub(crate) range: (f64, f64),
    /// Ticks of the color bar.
    #[serde(skip)]
    pub(crate) ticks: Vec<f64>,
}

/// One unit circle per pair of columns and a point on each, for every position.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Rings {
    pub(crate) positions: Vec<u64>,
    pub(crate) pairs: usize,
    /// Distance from one pair shown to the next.
    pub(crate) pair_step: usize,
    /// Position after position, pair after pair.
    pub(crate) sines: Vec<f64>,
    pub(crate) cosines: Vec<f64>,
    /// Index of the position that a still picture shows.
    #[serde(skip)]
    pub(crate) shown: usize,
}
