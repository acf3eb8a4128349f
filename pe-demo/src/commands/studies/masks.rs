//! The effect of the masks.

use candle_core::{Result, Tensor};
use serde::Serialize;

use super::{Section, max_difference, rows};
use crate::encoder::mask::Sight;
use crate::encoder::{Batch, Encoder, Mode};
use crate::terminal::numbers::difference;
use crate::terminal::page::Page;
use crate::terminal::width::{clean, columns, pad, pad_left, prose};
use crate::text::tokenizer::Sentence;

/// The most tokens that get a map of weights.
const MAP_TOKENS: usize = 10;

/// The most filling shown next to a map.
const MAP_PADDING: usize = 2;

/// The most columns of a map, filling included: with their labels they fit a page.
const MAP_COLUMNS: usize = 11;

/// Attention under the padding mask and the look-ahead mask.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Masks {
    /// The shortest sentence, counted from 0.
    pub sentence: usize,
    /// Its length with padding: that of the longest sentence, at least two more than its own.
    pub padded_len: usize,
    /// Largest deviation of a row of weights from the sum 1.
    pub max_sum_error: f64,
    /// Largest weight that a token gives to padding.
    pub max_padding_weight: f64,
    /// Largest change that padding makes in the vectors of real tokens.
    pub padding_effect: f64,
    /// Largest weight that a token gives to a later one, under the look-ahead mask.
    pub max_future_weight: f64,
    /// Largest change in the vectors of all other tokens if the last one is taken away, under
    /// the look-ahead mask.
    pub future_effect: f64,
    /// Weights of the first layer's first head for the sentence, under both masks.
    pub map: Vec<Vec<f32>>,
}

impl Masks {
    /// Looks at the shortest sentence; `None` if there are none.
    ///
    /// # Errors
    /// Returns the errors of the encoder.
    pub fn of(encoder: &Encoder, sentences: &[Sentence]) -> Result<Option<Self>> {
        let lengths = sentences.iter().map(|sentence| sentence.tokens.len());
        let Some((sentence, len)) = lengths.clone().enumerate().min_by_key(|(_, len)| *len) else {
            return Ok(None);
        };
        let rows_of_table = encoder.config().position.max_seq_len;
        let longest = lengths.max().unwrap_or(len);
        let padded_len = longest.max(len + MAP_PADDING).min(rows_of_table).max(len);
        let ids = sentences[sentence].ids();
        let run = |ids: &[u32], min_len, sight| {
            let batch = Batch::new(&[ids], min_len, encoder.device())?;
            encoder.forward(&batch, sight, Mode::Eval)
        };
        let all = || (0..len).map(|row| (row, row));

        let alone = run(&ids, 0, Sight::Whole)?;
        let padded = run(&ids, padded_len, Sight::Whole)?;
        let padding_effect =
            max_difference(&rows(alone.last()?, 0)?, &rows(padded.last()?, 0)?, all());

        let past = run(&ids, padded_len, Sight::Past)?;
        let shorter = run(&ids[..len - 1], padded_len, Sight::Past)?;
        let future_effect = max_difference(
            &rows(past.last()?, 0)?,
            &rows(shorter.last()?, 0)?,
            all().take(len - 1),
        );

        let mut masks = Self {
            sentence,
            padded_len,
            max_sum_error: 0.0,
            max_padding_weight: 0.0,
            padding_effect,
            max_future_weight: 0.0,
            future_effect,
            map: Vec::new(),
        };
        for weights in padded.attention.iter().chain(&past.attention) {
            masks.look_at(weights, len)?;
        }
        for weights in &past.attention {
            for head in heads(weights)? {
                for (query, row) in head.iter().enumerate() {
                    let future = row.iter().skip(query + 1).copied().map(f64::from);
                    masks.max_future_weight = future.fold(masks.max_future_weight, f64::max);
                }
            }
        }
        if let Some(first) = past.attention.first().map(heads).transpose()?
            && let Some(head) = first.into_iter().next()
        {
            masks.map = head.into_iter().take(len).collect();
        }
        Ok(Some(masks))
    }

    fn look_at(&mut self, weights: &Tensor, len: usize) -> Result<()> {
        for head in heads(weights)? {
            for row in head.iter().take(len) {
                let sum: f64 = row.iter().copied().map(f64::from).sum();
                self.max_sum_error = self.max_sum_error.max((sum - 1.0).abs());
                let padding = row.iter().skip(len).copied().map(f64::from);
                self.max_padding_weight = padding.fold(self.max_padding_weight, f64::max);
            }
        }
        Ok(())
    }
}

impl Section for Masks {
    fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        page.heading("Masked attention");
        let tokens = &sentences[self.sentence].tokens;
        let shown = tokens.len().min(MAP_TOKENS);
        let padding = (self.padded_len - tokens.len()).min(MAP_PADDING);
        page.paragraph(&format!(
            "Controls: masks must hide what they are for. Each token, a row, spreads a weight of 1 over the \
             tokens that it sees, the columns. The padding mask hides [PAD], which fills short sentences up, \
             and the look-ahead mask hides later tokens. Weights of the first head in sentence {}{} under both:",
            self.sentence + 1,
            match tokens.len() {
                len if len > shown => format!(" (its first {shown} tokens)"),
                _ => String::new(),
            }
        ));
        page.line("");
        let mut names: Vec<String> = tokens[..shown]
            .iter()
            .map(|token| prose(&token.token, 10))
            .collect();
        let label = names.iter().map(|name| columns(name)).max();
        let label = label.unwrap_or(0);
        if shown == tokens.len() {
            let padding = padding.min(MAP_COLUMNS - shown);
            names.extend(vec!["[PAD]".to_owned(); padding]);
        }
        let header: String = names
            .iter()
            .map(|name| format!(" {}", pad_left(&clean(name, 5), 5)))
            .collect();
        page.line(format!("  {} {header}", pad("", label)));
        for (name, row) in names.iter().zip(&self.map).take(shown) {
            let cells: String = row
                .iter()
                .take(names.len())
                .map(|weight| match weight {
                    0.0 => format!(" {:>5}", "-"),
                    weight => format!(" {weight:>5.2}"),
                })
                .collect();
            page.line(format!("  {} {cells}", pad(name, label)));
        }
        page.line("");
        let mut line = |what: &str, value: f64| {
            page.line(format!("  {what:<62}{:>8}", difference(value)));
        };
        line("rows of weights add up to 1, within", self.max_sum_error);
        line("largest weight on padding", self.max_padding_weight);
        line("padding changes the other vectors by", self.padding_effect);
        line("largest weight on a later token", self.max_future_weight);
        line(
            "the last token changes the earlier vectors by",
            self.future_effect,
        );
    }
}

/// Returns the weights of a batch of one sentence: head, query, key.
fn heads(weights: &Tensor) -> Result<Vec<Vec<Vec<f32>>>> {
    weights.get(0)?.to_vec3()
}
