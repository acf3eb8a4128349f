//! The share of the encoding that each layer retains.

use candle_core::Result;
use serde::Serialize;

use super::{Section, rows};
use crate::encoder::mask::Sight;
use crate::encoder::{Batch, Encoder, EncoderOutput, Mode, Residual, Scheme};
use crate::terminal::page::Page;
use crate::text::tokenizer::Sentence;

/// The trace that the encoding leaves in the vectors of each layer.
///
/// The encoding is added once, before the first layer. Residual connections carry it on. Without
/// them it is gone after a layer or two.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trace {
    /// Run with residual connections: the input of the first layer, then the output of each layer.
    pub residual: Vec<Stage>,
    /// The same weights without residual connections.
    pub no_residual: Vec<Stage>,
    /// The number of positions among which a token's own is looked for.
    pub candidates: usize,
    /// The number of tokens.
    pub tokens: usize,
}

/// The trace at one depth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stage {
    /// Correlation between the change that the encoding makes in the vectors (those with it
    /// less those without it) and the encoding itself, over all tokens and
    /// columns, each column's mean over the tokens removed from both.
    pub correlation: f64,
    /// Tokens whose own position has, of all positions, the encoding with the largest dot product
    /// with their vector (of the run with the encoding, column means removed).
    pub read_back: usize,
}

impl Trace {
    /// Encodes all sentences with and without the encoding, and with and without residual
    /// connections.
    ///
    /// # Errors
    /// Returns the errors of the encoder.
    pub fn of(encoder: &Encoder, batches: &[&[Sentence]], sight: Sight) -> Result<Self> {
        let lengths = || batches.iter().copied().flatten().map(|s| s.tokens.len());
        let candidates = lengths().max().unwrap_or(0);
        let table = encoder
            .position()
            .encoding(0, candidates)?
            .to_vec2::<f32>()?;
        let measure = |residual| -> Result<Vec<Stage>> {
            let norm = encoder.config().norm;
            let with = encoder.variant(Scheme::Sinusoidal, norm, residual);
            let without = encoder.variant(Scheme::None, norm, residual);
            let mut stages = vec![Vectors::default(); encoder.config().layers + 1];
            for sentences in batches {
                let ids: Vec<Vec<u32>> = sentences.iter().map(Sentence::ids).collect();
                let ids: Vec<&[u32]> = ids.iter().map(Vec::as_slice).collect();
                let batch = Batch::new(&ids, 0, encoder.device())?;
                let with = with.forward(&batch, sight, Mode::Eval)?;
                let without = without.forward(&batch, sight, Mode::Eval)?;
                for (depth, stage) in stages.iter_mut().enumerate() {
                    stage.add(&with, &without, depth, batch.lengths())?;
                }
            }
            Ok(stages
                .into_iter()
                .map(|stage| stage.finish(&table))
                .collect())
        };
        Ok(Self {
            residual: measure(Residual::Added)?,
            no_residual: measure(Residual::Omitted)?,
            candidates,
            tokens: lengths().sum(),
        })
    }
}

impl Section for Trace {
    fn print(&self, page: &mut Page, _: &[Sentence]) {
        page.heading("Encoding retained per layer");
        page.paragraph(
            "The encoding is added once, before the first layer. Residual connections, which add the input of \
             a layer to its output, carry it on. The control is the same encoder without them.",
        );
        page.line("");
        page.line("                             with residuals       control: without them");
        page.line("                          correlation  read back  correlation  read back");
        let percent = |count: usize| 100.0 * count as f64 / self.tokens.max(1) as f64;
        for (depth, (with, without)) in self.residual.iter().zip(&self.no_residual).enumerate() {
            let name = match depth {
                0 => "embedding + encoding".to_owned(),
                depth => format!("after layer {depth}"),
            };
            page.line(format!(
                "  {name:<22}  {:>11.3}  {:>7.0} %  {:>11.3}  {:>7.0} %",
                with.correlation,
                percent(with.read_back),
                without.correlation,
                percent(without.read_back)
            ));
        }
        page.line("");
        page.wrap(
            "correlation: ",
            "between the change that the encoding makes in the vectors and the encoding itself \
             (the mean of each column removed); 1 is all of it, 0 none.",
        );
        page.wrap(
            "read back: ",
            &format!(
                "of {} tokens, those whose position is that of the encoding most like their \
                 vector, out of {} positions. Control: guessing gives {:.0} %.",
                self.tokens,
                self.candidates,
                100.0 / self.candidates.max(1) as f64
            ),
        );
    }
}

/// The tokens' vectors at one depth.
#[derive(Debug, Clone, Default)]
struct Vectors {
    /// Position and vector of each token in the run with the encoding.
    tokens: Vec<(usize, Vec<f32>)>,
    /// Change of each token by the encoding.
    changes: Vec<Vec<f32>>,
}

impl Vectors {
    fn add(
        &mut self,
        with: &EncoderOutput,
        without: &EncoderOutput,
        depth: usize,
        lengths: &[usize],
    ) -> Result<()> {
        let change = (&with.hidden[depth] - &without.hidden[depth])?;
        for (sentence, len) in lengths.iter().enumerate() {
            let vectors = rows(&with.hidden[depth], sentence)?;
            self.tokens
                .extend(vectors.into_iter().take(*len).enumerate());
            self.changes
                .extend(rows(&change, sentence)?.into_iter().take(*len));
        }
        Ok(())
    }

    fn finish(self, table: &[Vec<f32>]) -> Stage {
        let encodings: Vec<&[f32]> = self
            .tokens
            .iter()
            .map(|(position, _)| table[*position].as_slice())
            .collect();
        let changes: Vec<&[f32]> = self.changes.iter().map(Vec::as_slice).collect();
        let vectors: Vec<&[f32]> = self.tokens.iter().map(|(_, v)| v.as_slice()).collect();
        let (change, encoding) = (centered(&changes), centered(&encodings));
        let correlation =
            dot(&change, &encoding) / (dot(&change, &change) * dot(&encoding, &encoding)).sqrt();

        let width = table.first().map_or(1, Vec::len).max(1);
        let vectors = centered(&vectors);
        let read_back = vectors
            .chunks_exact(width)
            .zip(&self.tokens)
            .filter(|(vector, (position, _))| nearest(vector, table) == *position)
            .count();
        Stage {
            correlation: if correlation.is_finite() {
                correlation
            } else {
                0.0
            },
            read_back,
        }
    }
}

/// Returns the position with the encoding that has the largest dot product with the vector. All encodings are
/// equally long, so this is also the nearest one.
fn nearest(vector: &[f64], table: &[Vec<f32>]) -> usize {
    let mut best = (f64::NEG_INFINITY, 0);
    for (position, row) in table.iter().enumerate() {
        let product = vector.iter().zip(row).map(|(a, b)| a * f64::from(*b)).sum();
        if product > best.0 {
            best = (product, position);
        }
    }
    best.1
}

/// Returns all rows, one after another, with each column's mean removed.
fn centered(rows: &[&[f32]]) -> Vec<f64> {
    let width = rows.first().map_or(0, |row| row.len());
    let mut means = vec![0.0_f64; width];
    for row in rows {
        for (mean, value) in means.iter_mut().zip(*row) {
            *mean += f64::from(*value) / rows.len() as f64;
        }
    }
    let entries = rows.iter().flat_map(|row| row.iter().zip(&means));
    entries
        .map(|(value, mean)| f64::from(*value) - mean)
        .collect()
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}
