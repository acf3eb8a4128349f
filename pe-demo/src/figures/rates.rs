//! Rates of the pairs.

use anyhow::Result;
use pe_core::{Preset, Sinusoidal, SinusoidalConfig};

use super::entry::Entry;
use super::source::{MOST_POINTS, PAIR, Settings, Source, extent, formula, sampled};
use crate::chart::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape, label};

/// The rates of a preset.
struct Rates<'a> {
    encoding: &'a Sinusoidal,
    preset: Preset,
    of: Vec<f64>,
}

impl<'a> Rates<'a> {
    fn new(encoding: &'a Sinusoidal, preset: Preset) -> Self {
        Self {
            encoding,
            preset,
            of: encoding.inv_freq(),
        }
    }

    fn last(&self) -> usize {
        self.of.len() - 1
    }
}

/// Draws the rates of the TensorFlow notebook or of another preset on a logarithmic axis, and where the paper's
/// differ, these and their ratio.
pub(super) fn angle_rates(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::TfNotebook, 512, 1)?;
    let own = &source.encoding;
    let paper = Sinusoidal::new(SinusoidalConfig {
        base: own.config().base,
        ..SinusoidalConfig::new(source.d_model())
    })?;
    let preset = settings.preset.unwrap_or(Preset::TfNotebook);
    let mut conventions = vec![Rates::new(own, preset)];
    if paper.inv_freq() != own.inv_freq() {
        conventions.push(Rates::new(&paper, Preset::Paper));
    }
    let pairs = sampled(own.pairs(), MOST_POINTS);
    let mut panels = vec![rates_of(&conventions, &pairs)];
    // Over so many powers of ten the curves look like one.
    if let [own, paper] = &conventions[..] {
        panels.push(ratio_of(own, paper, &pairs));
    }
    let (convention, aspect) = match panels.len() {
        1 => (format!(", {}", source.convention()), 0.56),
        _ => (String::new(), 0.36),
    };
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "Radians per position of {} pairs, d = {}, base {}{convention}",
            own.pairs(),
            source.d_model(),
            label(own.config().base.value())
        ),
        facts: facts(&conventions),
        panels,
        shape: Shape {
            width: 760,
            columns: 1,
            aspect,
        },
    })
}

/// Returns the first rates of the first preset, and the last one of each.
fn facts(conventions: &[Rates<'_>]) -> Vec<Fact> {
    let first = conventions[0].of.iter().enumerate().take(2);
    let first = first.map(|(pair, rate)| Fact::new(format!("rate of pair {pair}"), *rate));
    let last = conventions.iter().map(|rates| {
        let (pair, preset) = (rates.last(), rates.preset);
        Fact::new(format!("rate of pair {pair}, {preset}"), rates.of[pair])
    });
    first.chain(last).collect()
}

fn axis_of_pairs(last: usize) -> Axis {
    Axis::linear(PAIR, (0.0, last.max(1) as f64))
}

/// Draws a curve for each preset.
fn rates_of(conventions: &[Rates<'_>], pairs: &[usize]) -> Panel {
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    let mut curves = Vec::new();
    for rates in conventions {
        for rate in [rates.of[0], rates.of[rates.last()]] {
            (low, high) = (low.min(rate), high.max(rate));
        }
        curves.push(Curve {
            name: formula(rates.encoding, rates.preset),
            x: pairs.iter().map(|pair| *pair as f64).collect(),
            y: pairs.iter().map(|pair| rates.of[*pair]).collect(),
            mark: Mark::Line,
        });
    }
    Panel {
        title: (conventions.len() > 1).then(|| "Rates".to_owned()),
        x: axis_of_pairs(conventions[0].last()),
        y: Axis::logarithmic("radians per position", (low, high)),
        content: Content::Curves(curves),
    }
}

/// Draws the ratio of the paper's rates to those of a preset.
fn ratio_of(own: &Rates<'_>, paper: &Rates<'_>, pairs: &[usize]) -> Panel {
    let last = own.last();
    let ratio = |pair: &usize| paper.of[*pair] / own.of[*pair];
    let y: Vec<f64> = pairs.iter().map(ratio).collect();
    let (low, high) = extent(&y, 1.0);
    let room = 0.06 * (high - low);
    let (own, paper) = (own.preset, paper.preset);
    Panel {
        title: Some(format!("Ratio of the rates, {paper} to {own}")),
        x: axis_of_pairs(last),
        y: Axis::linear("ratio", (low - room, high + room)),
        content: Content::Curves(vec![
            Curve {
                name: format!("{paper} / {own}"),
                x: pairs.iter().map(|pair| *pair as f64).collect(),
                y,
                mark: Mark::Line,
            },
            Curve {
                name: "equal rates".to_owned(),
                x: vec![last.max(1) as f64, 0.0],
                y: vec![1.0; 2],
                mark: Mark::Level,
            },
        ]),
    }
}
