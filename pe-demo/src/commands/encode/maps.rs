//! Attention maps in blocks.

use candle_core::Result;
use serde::Serialize;

use crate::chart::{Axis, Colors, Content, Figure, Map, Panel, Shape};
use crate::encoder::mask::Sight;
use crate::encoder::{Batch, Encoder, Mode};
use crate::terminal::page::{Page, columns, pad, prose};
use crate::text::tokenizer::Sentence;

/// The most tokens of a sentence whose maps are shown.
const MAX_TOKENS: usize = 24;

/// The most sentences whose maps are shown.
const MAX_SENTENCES: usize = 2;

/// From no attention to all of it: shares of 0, 1/8, 1/4, 1/2 and 3/4 and more.
const BLOCKS: [(f32, &str); 5] = [
    (0.75, "██"),
    (0.5, "▓▓"),
    (0.25, "▒▒"),
    (0.125, "░░"),
    (0.0, " ·"),
];

/// Where each token of a sentence looks, in every layer and head.
#[derive(Debug, Serialize)]
pub(super) struct Maps {
    /// The sentence, counted from 0.
    pub(super) sentence: usize,
    /// Layer, head, query, key.
    pub(super) weights: Vec<Vec<Vec<Vec<f32>>>>,
}

impl Maps {
    /// Of the first sentences that are short enough.
    pub(super) fn of(encoder: &Encoder, sentences: &[Sentence], sight: Sight) -> Result<Vec<Self>> {
        let short = sentences.iter().enumerate();
        let short = short.filter(|(_, sentence)| sentence.tokens.len() <= MAX_TOKENS);
        let mut maps = Vec::new();
        for (index, sentence) in short.take(MAX_SENTENCES) {
            let batch = Batch::new(&[&sentence.ids()], 0, encoder.device())?;
            let output = encoder.forward(&batch, sight, Mode::Eval)?;
            let layers = output.attention.iter();
            maps.push(Self {
                sentence: index,
                weights: layers
                    .map(|layer| layer.get(0)?.to_vec3())
                    .collect::<Result<_>>()?,
            });
        }
        Ok(maps)
    }

    /// The same as a figure: a panel for each layer and head.
    pub(super) fn figure(&self, sentences: &[Sentence]) -> Figure {
        let tokens = &sentences[self.sentence].tokens;
        let places: Vec<f64> = (0..tokens.len()).map(|place| place as f64).collect();
        let names = tokens.iter().enumerate();
        let names: Vec<String> = names
            .map(|(place, token)| format!("{place} {}", prose(&token.token, 16)))
            .collect();
        let mut panels = Vec::new();
        for (layer, heads) in self.weights.iter().enumerate() {
            for (head, weights) in heads.iter().enumerate() {
                let values = weights.iter().flatten().copied().map(f64::from);
                panels.push(Panel {
                    title: Some(format!("layer {} head {}", layer + 1, head + 1)),
                    x: Axis::of_cells("is looked at", &places),
                    y: Axis::of_cells("looks", &places).backward(),
                    content: Content::Map(Map {
                        label: "share of attention".to_owned(),
                        columns: places.clone(),
                        rows: places.clone(),
                        values: values.collect(),
                        colors: Colors::Sequential,
                        range: (0.0, 1.0),
                        ticks: vec![0.0, 0.25, 0.5, 0.75, 1.0],
                    }),
                });
            }
        }
        Figure {
            name: "attention",
            title: "Where the tokens look".to_owned(),
            note: names.join(", "),
            facts: Vec::new(),
            shape: Shape {
                width: 1000,
                columns: self.weights.first().map_or(1, Vec::len).clamp(1, 4),
                aspect: 1.05,
            },
            panels,
        }
    }

    /// Maps side by side as far as they fit.
    pub(super) fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        let tokens = &sentences[self.sentence].tokens;
        let names: Vec<String> = tokens.iter().map(|token| prose(&token.token, 10)).collect();
        let label = names.iter().map(|name| columns(name)).max().unwrap_or(0);
        let width = 2 * tokens.len();
        let beside = ((crate::terminal::page::WIDTH - label - 2) / (width + 2)).max(1);
        page.line("");
        page.wrap(
            &format!("{:>3}  ", self.sentence + 1),
            &prose(&sentences[self.sentence].text, 200),
        );
        for (layer, heads) in self.weights.iter().enumerate() {
            for (row, heads) in heads.chunks(beside).enumerate() {
                let title =
                    |at: usize| format!("layer {} head {}", layer + 1, row * beside + at + 1);
                let titles: Vec<String> =
                    (0..heads.len()).map(|at| pad(&title(at), width)).collect();
                page.line("");
                page.line(format!("  {}{}", " ".repeat(label), join(&titles)));
                for (query, name) in names.iter().enumerate() {
                    let cells = |head: &Vec<Vec<f32>>| {
                        let row = head.get(query).map(Vec::as_slice).unwrap_or_default();
                        row.iter().map(|weight| block(*weight)).collect::<String>()
                    };
                    let rows: Vec<String> = heads.iter().map(cells).collect();
                    page.line(format!("  {}{}", pad(name, label), join(&rows)));
                }
            }
        }
    }
}

fn join(parts: &[String]) -> String {
    parts.iter().map(|part| format!("  {part}")).collect()
}

fn block(weight: f32) -> &'static str {
    let found = BLOCKS.iter().find(|(least, _)| weight >= *least);
    found.map_or("??", |(_, block)| block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_with_the_weight() {
        let shown: Vec<&str> = [0.0, 0.1, 0.13, 0.3, 0.6, 1.0].map(block).to_vec();
        assert_eq!(shown, [" ·", " ·", "░░", "▒▒", "▓▓", "██"]);
        assert_eq!(block(f32::NAN), "??");
    }
}
