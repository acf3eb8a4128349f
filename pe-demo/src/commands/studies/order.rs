//! Does the encoder know the order of the words?

use candle_core::Result;
use serde::Serialize;

use super::{Section, max_difference, rows};
use crate::encoder::mask::Sight;
use crate::encoder::{Batch, Encoder, Mode, Scheme};
use crate::terminal::color::Style;
use crate::terminal::numbers::difference;
use crate::terminal::page::Page;
use crate::terminal::width::prose;
use crate::text::tokenizer::Sentence;

/// The same tokens in two orders, encoded without positions and with them.
///
/// Self-attention treats its input as a set: without positions, permuting the tokens
/// permutes the output vectors and changes nothing else. The encoding breaks that.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Order {
    /// The sentence, counted from 0.
    pub sentence: usize,
    /// The sentence that consists of the same tokens in another order; if there is none, the
    /// first one in reverse order is used.
    pub permutation: Option<usize>,
    /// Largest difference between the vectors of the same token in both orders, without positions.
    pub without: f64,
    /// The same with the encoder's own scheme.
    pub with: f64,
    /// Largest difference between the means of all vectors, without positions.
    pub mean_without: f64,
    /// The same with the encoder's own scheme.
    pub mean_with: f64,
    /// Whether tokens saw only what came before them. Then the mask gives the order away.
    pub causal: bool,
    /// The encoder's scheme. With [`Scheme::None`] both measures are without positions.
    pub scheme: Scheme,
}

impl Order {
    /// Compares two orders of the first sentence that has any; `None` if none has.
    ///
    /// # Errors
    /// Returns the errors of the encoder.
    pub fn of(encoder: &Encoder, sentences: &[Sentence], sight: Sight) -> Result<Option<Self>> {
        let ids: Vec<Vec<u32>> = sentences.iter().map(Sentence::ids).collect();
        let Some((sentence, permutation)) = pair(&ids).or_else(|| {
            let first = sentences.iter().position(can_be_reversed)?;
            Some((first, None))
        }) else {
            return Ok(None);
        };
        let first = &ids[sentence];
        let second = match permutation {
            Some(other) => ids[other].clone(),
            None => reversed(&sentences[sentence]),
        };

        let batch = Batch::new(&[first, &second], 0, encoder.device())?;
        let compare = |scheme| -> Result<(f64, f64)> {
            let config = encoder.config();
            let encoder = encoder.variant(scheme, config.norm, config.residual);
            let output = encoder.forward(&batch, sight, Mode::Eval)?;
            let left = rows(output.last()?, 0)?;
            let right = rows(output.last()?, 1)?;
            let tokens = max_difference(&left, &right, same_tokens(first, &second));
            let means = max_difference(&[mean(&left)], &[mean(&right)], [(0, 0)]);
            Ok((tokens, means))
        };
        let (without, mean_without) = compare(Scheme::None)?;
        let (with, mean_with) = compare(encoder.config().scheme)?;
        Ok(Some(Self {
            sentence,
            permutation,
            without,
            with,
            mean_without,
            mean_with,
            causal: sight == Sight::Past,
            scheme: encoder.config().scheme,
        }))
    }
}

impl Section for Order {
    fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        page.heading("Word order, without and with positions");
        let text = |index: usize| prose(&sentences[index].text, 200);
        page.wrap("  A  ", &text(self.sentence));
        match self.permutation {
            Some(other) => page.wrap("  B  ", &text(other)),
            None => page.line("  B  the tokens of A in reverse order"),
        }
        page.line("");
        page.paragraph(
            "An encoder turns each token, a word or a piece of one, into a vector. A and B have the same \
             tokens. How different are their vectors?",
        );
        page.line("");
        page.line(format!(
            "  {:<46}  without  {:>9}",
            "largest difference in",
            self.scheme.beside_without()
        ));
        let mut line = |what: &str, without, with| {
            let with = match self.scheme {
                Scheme::None => String::new(),
                _ => format!("{:>9}", difference(with)),
            };
            let without = format!("{:>9}", difference(without));
            let (without, with) = (
                page.styled(&without, Style::Yellow),
                page.styled(&with, Style::Green),
            );
            page.line(format!("  {what:<46}{without}  {with}"));
        };
        line("the vectors of the same token", self.without, self.with);
        line("the mean of all vectors", self.mean_without, self.mean_with);
        page.line("");
        page.paragraph(match (self.causal, self.scheme) {
            (true, Scheme::None) => {
                "With the look-ahead mask a token sees only what came before it, and that tells \
                 the order even without positions."
            }
            (false, Scheme::None) => {
                "Without positions, A and B are the same bag of words: only rounding differs."
            }
            (true, _) => {
                "With the look-ahead mask a token sees only what came before it, and that tells \
                 the order even without the encoding."
            }
            (false, _) => {
                "Without positions, A and B are the same bag of words: only rounding differs. With \
                 positions they are two sentences."
            }
        });
        page.line("");
        let how = self.scheme.how();
        page.paragraph(&format!(
            "Why? Attention makes each vector a weighted sum over those of all tokens, and a sum has no order: \
             permuting the words permutes the vectors and nothing else. {how}"
        ));
    }
}

/// Finds the first two sentences that consist of the same tokens in different orders.
fn pair(ids: &[Vec<u32>]) -> Option<(usize, Option<usize>)> {
    let sorted: Vec<Vec<u32>> = ids
        .iter()
        .map(|ids| {
            let mut ids = ids.clone();
            ids.sort_unstable();
            ids
        })
        .collect();
    let mut seen = std::collections::HashMap::new();
    for (index, key) in sorted.iter().enumerate() {
        let first = *seen.entry(key).or_insert(index);
        if ids[first] != ids[index] {
            return Some((first, Some(index)));
        }
    }
    None
}

fn can_be_reversed(sentence: &Sentence) -> bool {
    reversed(sentence) != sentence.ids()
}

/// Returns the tokens in reverse order. The tokens around the sentence keep their places.
fn reversed(sentence: &Sentence) -> Vec<u32> {
    let mut words = sentence
        .tokens
        .iter()
        .rev()
        .filter(|token| !token.special)
        .map(|token| token.id);
    sentence
        .tokens
        .iter()
        .map(|token| match token.special {
            true => token.id,
            false => words.next().unwrap_or(token.id),
        })
        .collect()
}

/// Returns the places (in the first, in the second) of each token. The n-th of equal tokens goes with the n-th.
fn same_tokens(first: &[u32], second: &[u32]) -> Vec<(usize, usize)> {
    let sorted = |ids: &[u32]| {
        let mut places: Vec<usize> = (0..ids.len()).collect();
        places.sort_by_key(|place| ids[*place]);
        places
    };
    sorted(first).into_iter().zip(sorted(second)).collect()
}

fn mean(rows: &[Vec<f32>]) -> Vec<f32> {
    let mut sums = vec![0.0_f64; rows.first().map_or(0, Vec::len)];
    for row in rows {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    let count = rows.len().max(1) as f64;
    sums.into_iter().map(|sum| (sum / count) as f32).collect()
}
