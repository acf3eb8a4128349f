//! How fast the pairs turn.

use anyhow::Result;
use pe_core::{Preset, Sinusoidal, SinusoidalConfig};

use super::source::{MOST_POINTS, sampled};
use super::{PAIR, Settings, Source};
use crate::plot::figure::{Axis, Content, Curve, Fact, Figure, Mark, Panel, Shape};
use crate::plot::scale::label;

/// The angle rates of the TensorFlow notebook, on a logarithmic axis, over the paper's.
pub(crate) fn angle_rates(settings: &Settings) -> Result<Figure> {
    let notebook = Source::new(settings, Preset::TfNotebook.config(512), 1)?;
    let inclusive = &notebook.encoding;
    let paper = Sinusoidal::new(SinusoidalConfig {
        base: inclusive.config().base,
        ..SinusoidalConfig::new(notebook.d_model())
    })?;
    let pairs = sampled(inclusive.pairs(), MOST_POINTS);
    let curve = |name: &str, encoding: &Sinusoidal, mark| {
        let rates = encoding.inv_freq();
        Curve {
            name: name.to_owned(),
            x: pairs.iter().map(|pair| *pair as f64).collect(),
            y: pairs.iter().map(|pair| rates[*pair]).collect(),
            mark,
        }
    };
    let rates = inclusive.inv_freq();
    let last = rates.len() - 1;
    let paper_rates = paper.inv_freq();
    let mut facts = vec![Fact::new("rate of pair 0", rates[0])];
    if last > 0 {
        facts.push(Fact::new("rate of pair 1", rates[1]));
    }
    facts.push(Fact::new(
        format!("rate of pair {last}, end point included"),
        rates[last],
    ));
    facts.push(Fact::new(
        format!("rate of pair {last}, the paper's spacing"),
        paper_rates[last],
    ));
    let low = paper_rates[last].min(rates[last]);
    let high = rates[0].max(rates[last]);
    Ok(Figure {
        name: "angle-rates",
        title: "How fast each pair turns".to_owned(),
        note: format!(
            "Radians per position of {} pairs, base {}",
            inclusive.pairs(),
            label(inclusive.config().base.value())
        ),
        facts,
        panels: vec![Panel {
            title: None,
            x: Axis::linear(PAIR, (0.0, last.max(1) as f64)),
            y: Axis::logarithmic("radians per position", (low, high)),
            content: Content::Curves(vec![
                curve("end point included", inclusive, Mark::Line),
                curve("the paper's spacing", &paper, Mark::Line),
            ]),
        }],
        shape: Shape {
            width: 760,
            columns: 1,
            aspect: 0.56,
        },
    })
}
