//! Rates of the pairs.

use anyhow::Result;
use pe_core::{Preset, Sinusoidal, SinusoidalConfig};

use super::entry::Entry;
use super::source::{MOST_POINTS, formula, sampled};
use super::source::{PAIR, Settings, Source};
use crate::chart::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape, label};

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
    let mut conventions = vec![(own, preset, own.inv_freq())];
    if paper.inv_freq() != own.inv_freq() {
        conventions.push((&paper, Preset::Paper, paper.inv_freq()));
    }
    let pairs = sampled(own.pairs(), MOST_POINTS);
    let last = own.pairs() - 1;
    let mut facts = vec![Fact::new("rate of pair 0", conventions[0].2[0])];
    if last > 0 {
        facts.push(Fact::new("rate of pair 1", conventions[0].2[1]));
    }
    let (mut low, mut high) = (f64::INFINITY, 0.0_f64);
    let mut curves = Vec::new();
    for (encoding, preset, rates) in &conventions {
        facts.push(Fact::new(
            format!("rate of pair {last}, {preset}"),
            rates[last],
        ));
        for rate in [rates[0], rates[last]] {
            (low, high) = (low.min(rate), high.max(rate));
        }
        curves.push(Curve {
            name: formula(encoding, *preset),
            x: pairs.iter().map(|pair| *pair as f64).collect(),
            y: pairs.iter().map(|pair| rates[*pair]).collect(),
            mark: Mark::Line,
        });
    }
    let convention = match &conventions[..] {
        [_] => format!(", {}", source.convention()),
        _ => String::new(),
    };
    let pair = || Axis::linear(PAIR, (0.0, last.max(1) as f64));
    let alone = conventions.len() == 1;
    let mut panels = vec![Panel {
        title: (!alone).then(|| "Rates".to_owned()),
        x: pair(),
        y: Axis::logarithmic("radians per position", (low, high)),
        content: Content::Curves(curves),
    }];
    // Over so many powers of ten the curves look like one.
    if let [(_, own, rates), (_, paper, others)] = &conventions[..] {
        let ratio = |pair: &usize| others[*pair] / rates[*pair];
        let y: Vec<f64> = pairs.iter().map(ratio).collect();
        let (low, high) = y.iter().fold((1.0_f64, 1.0_f64), |(low, high), ratio| {
            (low.min(*ratio), high.max(*ratio))
        });
        let room = 0.06 * (high - low);
        panels.push(Panel {
            title: Some(format!("Ratio of the rates, {paper} to {own}")),
            x: pair(),
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
        });
    }
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "Radians per position of {} pairs, d = {}, base {}{convention}",
            own.pairs(),
            source.d_model(),
            label(own.config().base.value())
        ),
        facts,
        panels,
        shape: Shape {
            width: 760,
            columns: 1,
            aspect: if alone { 0.56 } else { 0.36 },
        },
    })
}
