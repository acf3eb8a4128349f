//! One unit circle per pair with a point at the position's angle.

use anyhow::Result;
use pe_core::Preset;

use super::entry::Entry;
use super::source::{Settings, Source};
use crate::chart::{Axis, Content, Fact, Figure, Panel, Rings, Shape};

/// The most circles, and the most frames.
const MOST_PAIRS: u64 = 128;
const MOST_FRAMES: u64 = 64;

/// Shows the points (cosine, sine) of all pairs for each position.
pub(super) fn rings(entry: &Entry, settings: &Settings) -> Result<Figure> {
    let source = Source::new(settings, Preset::Paper, 256, 50)?;
    let positions = source.positions(MOST_FRAMES);
    let pairs = super::source::sampled(source.encoding.pairs(), MOST_PAIRS);
    let (sines, cosines): (Vec<_>, Vec<_>) =
        pairs.iter().map(|pair| source.columns_of(*pair)).unzip();
    let sines = source.entries(&positions, &sines)?;
    let cosines = source.entries(&positions, &cosines)?;
    // Far enough for the fast pairs to be out of step, near enough to see the slow ones move.
    let shown = positions.len().saturating_sub(1).min(12);
    let positive = sines[shown * pairs.len()..(shown + 1) * pairs.len()]
        .iter()
        .filter(|sine| **sine >= 0.0)
        .count();
    Ok(Figure {
        name: entry.name,
        title: entry.title.to_owned(),
        note: format!(
            "{}; blue: sine above zero, red: below",
            source.describe_pairs(MOST_FRAMES, MOST_PAIRS)
        ),
        facts: vec![
            Fact::new("circles", pairs.len() as f64),
            Fact::new(
                format!("sines above zero at position {}", positions[shown]),
                positive as f64,
            ),
        ],
        panels: vec![Panel {
            title: None,
            x: Axis::linear("pair", (0.0, pairs.len() as f64)),
            y: Axis::linear("sine", (-1.0, 1.0)),
            content: Content::Rings(Rings {
                positions: positions.into_iter().map(u64::from).collect(),
                pairs: pairs.len(),
                pair_step: pairs.get(1).copied().unwrap_or(1),
                sines,
                cosines,
                shown,
            }),
        }],
        shape: Shape {
            width: 860,
            columns: 1,
            aspect: 0.42,
        },
    })
}
