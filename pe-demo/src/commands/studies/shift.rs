//! Shifts that are the same rotation.

use candle_core::{Error, Result};
use pe_core::Sinusoidal;
use serde::Serialize;

use super::{Section, max_difference};
use crate::encoder::Encoder;
use crate::terminal::numbers::difference;
use crate::terminal::page::Page;
use crate::terminal::width::prose;
use crate::text::tokenizer::Sentence;

/// The step that the study prefers.
const STEPS: usize = 3;

/// The most pairs of tokens that are listed.
const LISTED: usize = 12;

/// Moving by k positions rotates each (sin, cos) pair of an encoding by one angle, wherever the move
/// starts: PE(p + k) = R(k) PE(p) with `[[c, s], [-s, c]]` on each pair.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SameShift {
    /// The sentence, counted from 0.
    pub sentence: usize,
    /// k, the number of positions.
    pub steps: usize,
    /// The places of three tokens, `steps` apart.
    pub positions: [usize; 3],
    /// The rotations of a few pairs.
    pub rotations: Vec<Rotation>,
    /// The rotation applied to the table's rows.
    pub checks: Vec<Check>,
    /// Largest deviation over all pairs of tokens of the sentence that are `steps` apart.
    pub max_error: f64,
}

/// The rotation of one pair of columns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rotation {
    /// The pair, counted from 0.
    pub pair: usize,
    /// Positions per turn.
    pub wavelength: f64,
    /// The sine of the angle.
    pub sin: f64,
    /// The cosine of the angle.
    pub cos: f64,
}

/// One encoding moved and compared.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Check {
    /// The position with the encoding that is rotated.
    pub from: usize,
    /// The position with the encoding that the result is compared with.
    pub to: usize,
    /// max |R(k) PE(from) - PE(to)|.
    pub error: f64,
}

impl SameShift {
    /// Takes the first sentence that is long enough for two shifts by three; else the
    /// longest one, and a smaller shift. `None` if no sentence has three tokens.
    ///
    /// # Errors
    /// Returns the errors of the table.
    pub fn of(encoder: &Encoder, sentences: &[Sentence]) -> Result<Option<Self>> {
        let Some((sentence, start, steps)) = choose(sentences) else {
            return Ok(None);
        };
        let config = encoder.config().position.sinusoidal;
        let encoding = Sinusoidal::new(config).map_err(Error::wrap)?;
        let shift = encoding.shift(steps as i64).map_err(Error::wrap)?;
        let len = sentences[sentence].tokens.len();
        // The layer's table has these very numbers: both are exact.
        let table = encoding.table::<f32>(0..len as u64).map_err(Error::wrap)?;
        let table: Vec<Vec<f32>> = table.iter_rows().map(<[f32]>::to_vec).collect();
        let mut turned = table.clone();
        for row in &mut turned {
            shift.apply(row).map_err(Error::wrap)?;
        }
        let check = |from: usize, to: usize| Check {
            from,
            to,
            error: max_difference(&turned, &table, [(from, to)]),
        };
        let positions = [start, start + steps, start + 2 * steps];
        let mut checks = vec![
            check(positions[0], positions[1]),
            check(positions[1], positions[2]),
        ];
        if positions[1] + 1 < len {
            checks.push(check(positions[0], positions[1] + 1));
        }

        let wavelengths = encoding.wavelengths();
        let pairs = encoding.pairs();
        let mut some = vec![0, pairs / 8, pairs / 4, pairs / 2];
        some.dedup();
        let rotations = some
            .into_iter()
            .filter_map(|pair| {
                let (sin, cos) = *shift.rotations().get(pair)?;
                Some(Rotation {
                    pair,
                    wavelength: *wavelengths.get(pair)?,
                    sin,
                    cos,
                })
            })
            .collect();
        Ok(Some(Self {
            sentence,
            steps,
            positions,
            rotations,
            checks,
            max_error: max_difference(
                &turned,
                &table,
                (0..len - steps).map(|from| (from, from + steps)),
            ),
        }))
    }
}

impl Section for SameShift {
    fn print(&self, page: &mut Page, sentences: &[Sentence]) {
        let k = self.steps;
        let tokens = &sentences[self.sentence].tokens;
        let name = |position: usize| prose(&tokens[position].token, 16);
        page.heading("Shifts by one rotation");
        page.paragraph(&format!(
            "The encoding of position p, PE(p), consists of pairs of a sine and a cosine. Each pair has a \
             wavelength, the number of positions per turn. Moving on by {k} rotates each pair by an angle of its \
             own, wherever the move starts: R({k}) are these rotations, c and s their cosines and sines.",
        ));
        page.line("");
        let [a, b, c] = self.positions;
        page.wrap(
            "  ",
            &format!(
                "{} ({a}) -> {} ({b}) -> {} ({c}): each time {k} position{} on, by R({k})",
                name(a),
                name(b),
                name(c),
                if k == 1 { "" } else { "s" }
            ),
        );
        page.line("");
        page.line(format!(
            "  pair  wavelength   [ sin(p+{k}) ]   [ c  s ] [ sin(p) ]"
        ));
        page.line(format!(
            "                     [ cos(p+{k}) ] = [-s  c ] [ cos(p) ]"
        ));
        for rotation in &self.rotations {
            page.line(format!(
                "  {:>4}  {:>10.2}   c = {:>9.6}   s = {:>9.6}",
                rotation.pair, rotation.wavelength, rotation.cos, rotation.sin
            ));
        }
        page.line("");
        for check in &self.checks {
            page.line(format!(
                "  max |R({k}) PE({}) - PE({})| = {:<8}  {}",
                check.from,
                check.to,
                difference(check.error),
                if check.to == check.from + k {
                    "the same R"
                } else {
                    "control: one position too far"
                }
            ));
        }
        page.line("");
        let pairs = tokens.len() - k;
        let mut list: Vec<String> = (0..pairs.min(LISTED))
            .map(|from| format!("{} -> {}", name(from), name(from + k)))
            .collect();
        if pairs > LISTED {
            list.push(format!("and {} more", pairs - LISTED));
        }
        page.paragraph(&format!(
            "R({k}) holds for every pair of tokens {k} apart: {} (all within {}).",
            list.join(", "),
            difference(self.max_error)
        ));
    }
}

/// Returns a sentence, the place of its second word (or the last place that leaves room), and a
/// number of steps.
fn choose(sentences: &[Sentence]) -> Option<(usize, usize, usize)> {
    let start_of = |sentence: &Sentence| {
        let leading = sentence.tokens.iter().take_while(|token| token.special);
        leading.count() + 1
    };
    for (index, sentence) in sentences.iter().enumerate() {
        let start = start_of(sentence);
        if start + 2 * STEPS < sentence.tokens.len() {
            return Some((index, start, STEPS));
        }
    }
    // `max_by_key` would take the last of equally long ones.
    let (index, longest) = sentences
        .iter()
        .enumerate()
        .rev()
        .max_by_key(|(_, sentence)| sentence.tokens.len())?;
    let last = longest.tokens.len().checked_sub(1)?;
    let steps = (last / 2).min(STEPS);
    if steps == 0 {
        return None;
    }
    Some((index, start_of(longest).min(last - 2 * steps), steps))
}
