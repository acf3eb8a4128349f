//! Attention weights as maps of blocks, and as a figure.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;

use crate::chart::{self, Axis, Colors, Content, Figure, Format, Panel, Shape, Theme};
use crate::commands::studies::Section;
use crate::encoder::mask::Sight;
use crate::encoder::{Batch, Encoder, Mode};
use crate::sources::write::write;
use crate::terminal::page::Page;
use crate::terminal::width::{WIDTH, clean_path, columns, pad, prose};
use crate::text::tokenizer::Sentence;

/// Maximum number of tokens of a sentence with maps.
const MAX_TOKENS: usize = 24;

/// Maximum number of sentences with maps.
const MAX_SENTENCES: usize = 2;

/// Shades from no attention to all of it: shares of 0, 1/8, 1/4, 1/2 and 3/4 and more.
const BLOCKS: [(f32, &str); 5] = [
    (0.75, "██"),
    (0.5, "▓▓"),
    (0.25, "▒▒"),
    (0.125, "░░"),
    (0.0, " ·"),
];

/// The attention weights of some sentences.
#[derive(Debug, Default, Serialize)]
pub(super) struct Maps {
    #[serde(rename = "attention", skip_serializing_if = "Vec::is_empty")]
    all: Vec<Map>,
    /// The figure of the first of them.
    #[serde(rename = "attention_file", skip_serializing_if = "Option::is_none")]
    file: Option<PathBuf>,
}

/// The attention weights of a sentence, in every layer and head.
#[derive(Debug, Serialize)]
struct Map {
    /// The sentence, counted from 0.
    sentence: usize,
    /// Layer, head, query, key.
    weights: Vec<Vec<Vec<Vec<f32>>>>,
}

impl Maps {
    /// Encodes the first sentences that are short enough.
    pub(super) fn of(encoder: &Encoder, sentences: &[Sentence], sight: Sight) -> Result<Self> {
        let short = sentences.iter().enumerate();
        let short = short.filter(|(_, sentence)| sentence.tokens.len() <= MAX_TOKENS);
        let mut all = Vec::new();
        for (index, sentence) in short.take(MAX_SENTENCES) {
            let batch = Batch::new(&[&sentence.ids()], 0, encoder.device())?;
            let output = encoder.forward(&batch, sight, Mode::Eval)?;
            let layers = output.attention.iter();
            all.push(Map {
                sentence: index,
                weights: layers
                    .map(|layer| layer.get(0)?.to_vec3())
                    .collect::<candle_core::Result<_>>()?,
            });
        }
        Ok(Self { all, file: None })
    }

    /// Writes a figure of the first sentence's maps.
    pub(super) fn draw(&mut self, file: &Path, sentences: &[Sentence]) -> Result<()> {
        let Some(first) = self.all.first() else {
            bail!("no sentence is short enough for a map of attention");
        };
        let figure = first.figure(sentences);
        let format = Format::of(file).unwrap_or(Format::Svg);
        let picture = chart::picture(&figure, format, Theme::Light, "")?;
        write(file, &picture.bytes)?;
        self.file = Some(file.to_owned());
        Ok(())
    }
}

impl Section for Maps {
    fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        if self.all.is_empty() {
            return;
        }
        page.heading("Attention weights");
        page.paragraph(
            "Rows: queries, columns: keys in the same order. █ 3/4 of the attention or more, \
             ▓ 1/2, ▒ 1/4, ░ 1/8, · less.",
        );
        for map in &self.all {
            map.print(page, sentences);
        }
        if let Some(file) = &self.file {
            page.line("");
            page.wrap("the first of them as a figure: ", &clean_path(file));
        }
    }
}

impl Map {
    /// Returns the maps as a figure: a panel for each layer and head.
    fn figure(&self, sentences: &[Sentence]) -> Figure {
        let tokens = &sentences[self.sentence].tokens;
        let places: Vec<f64> = (0..tokens.len()).map(|place| place as f64).collect();
        let names: Vec<String> = tokens.iter().map(|token| prose(&token.token, 16)).collect();
        // Words are as high as their rows, and stay legible.
        let beside = match tokens.len() {
            ..=12 => 4,
            _ => 2,
        };
        let mut panels = Vec::new();
        for (layer, heads) in self.weights.iter().enumerate() {
            for (head, weights) in heads.iter().enumerate() {
                let values = weights.iter().flatten().copied().map(f64::from);
                panels.push(Panel {
                    title: Some(format!("layer {} head {}", layer + 1, head + 1)),
                    x: Axis::of_cells("key", &places).with_names(names.clone()),
                    y: Axis::of_cells("query", &places)
                        .with_names(names.clone())
                        .backward(),
                    content: Content::Map(chart::Map {
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
            title: "Attention weights".to_owned(),
            note: format!(
                "{}; each row is a query, and shares its attention among the keys",
                prose(&sentences[self.sentence].text, 120)
            ),
            facts: Vec::new(),
            shape: Shape {
                width: 1000,
                columns: self.weights.first().map_or(1, Vec::len).clamp(1, beside),
                aspect: 1.08,
            },
            panels,
        }
    }

    /// Prints the maps next to each other as far as they fit.
    fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        let tokens = &sentences[self.sentence].tokens;
        let names: Vec<String> = tokens.iter().map(|token| prose(&token.token, 10)).collect();
        let label = names.iter().map(|name| columns(name)).max().unwrap_or(0);
        let width = 2 * tokens.len();
        let beside = ((WIDTH - label - 2) / (width + 2)).max(1);
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
