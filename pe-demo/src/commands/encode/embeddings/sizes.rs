//! How long vectors are.

use anyhow::Result;
use candle_core::Tensor;
use serde::Serialize;

use super::Given;
use crate::encoder::{Encoder, Scheme};
use crate::terminal::page::{Page, clean, thousands};

/// How long the vectors of words and positions are.
#[derive(Debug, Serialize)]
pub(in crate::commands::encode) struct Sizes {
    words: Lengths,
    /// Null where positions are not added.
    positions: Option<Lengths>,
    /// The mean length of a word's vector over that of a position's.
    ratio: Option<f64>,
}

/// Euclidean lengths of the vectors that are not zero.
#[derive(Debug, Serialize)]
struct Lengths {
    tensor: String,
    /// The type in the file; null where there is none.
    dtype: Option<String>,
    vectors: usize,
    width: usize,
    zeros: usize,
    mean: f64,
    min: f64,
    max: f64,
}

impl Sizes {
    /// Of an encoder with the vectors given, and its table as long as `rows`.
    pub(in crate::commands::encode) fn of(
        encoder: &Encoder,
        given: &Given,
        rows: usize,
    ) -> Result<Self> {
        let words = &given.words;
        let words = Lengths::of(&words.vectors, &words.tensor, Some(&words.dtype))?;
        let positions = match (&given.positions, encoder.config().scheme) {
            (Some(given), _) => Some(Lengths::of(
                &given.vectors,
                &given.tensor,
                Some(&given.dtype),
            )?),
            (None, Scheme::Sinusoidal) => {
                let table = encoder.position().encoding(0, rows)?;
                Some(Lengths::of(&table, "sines and cosines", None)?)
            }
            (None, Scheme::None | Scheme::Rotary | Scheme::Learned) => None,
        };
        let ratio = positions
            .as_ref()
            .map(|positions| words.mean / positions.mean);
        Ok(Self {
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            words,
            positions,
        })
    }

    pub(in crate::commands::encode) fn print(&self, page: &mut Page) {
        page.heading("How long the vectors are");
        page.line(format!(
            "  {:<10} {:>9} {:>6}  {:>9} {:>9} {:>9}",
            "", "vectors", "width", "mean", "min", "max"
        ));
        for (name, lengths) in [
            ("words", Some(&self.words)),
            ("positions", self.positions.as_ref()),
        ] {
            let Some(l) = lengths else { continue };
            page.line(format!(
                "  {name:<10} {:>9} {:>6}  {:>9} {:>9} {:>9}",
                thousands(l.vectors as u64),
                l.width,
                number(l.mean),
                number(l.min),
                number(l.max)
            ));
        }
        page.line("");
        for (name, lengths) in [
            ("words", Some(&self.words)),
            ("positions", self.positions.as_ref()),
        ] {
            let Some(lengths) = lengths else { continue };
            let dtype = lengths
                .dtype
                .as_ref()
                .map_or(String::new(), |dtype| format!(", {dtype}"));
            let zeros = match lengths.zeros {
                0 => String::new(),
                zeros => format!(", {} of them zero and not counted", thousands(zeros as u64)),
            };
            page.wrap(
                &format!("  {name}: "),
                &format!("{}{dtype}{zeros}", clean(&lengths.tensor, 200)),
            );
        }
        page.line("");
        match self.ratio {
            Some(ratio) if ratio >= 1.0 => page.paragraph(&format!(
                "A word's vector is {} times as long as a position's, in the mean.",
                number(ratio)
            )),
            Some(ratio) => page.paragraph(&format!(
                "A position's vector is {} times as long as a word's, in the mean: added as they \
                 are, positions drown the words. The paper multiplies the words' vectors by the \
                 root of d_model first, {} here; trained encoders of this kind normalize the sum \
                 instead.",
                number(1.0 / ratio),
                number((self.words.width as f64).sqrt())
            )),
            None => page.paragraph("No vectors of positions are added in this encoder."),
        }
        page.paragraph(
            "Only these vectors are the checkpoint's: the layers' weights come from the seed, and \
             are not trained.",
        );
    }
}

impl Lengths {
    fn of(vectors: &Tensor, tensor: &str, dtype: Option<&str>) -> Result<Self> {
        /// Rows copied at a time.
        const BLOCK: usize = 1024;
        let (rows, width) = vectors.dims2()?;
        let (mut zeros, mut sum) = (0, 0.0);
        let (mut min, mut max) = (f64::INFINITY, 0.0_f64);
        for start in (0..rows).step_by(BLOCK) {
            let block = vectors.narrow(0, start, BLOCK.min(rows - start))?;
            for row in block.flatten_all()?.to_vec1::<f32>()?.chunks_exact(width) {
                let squares = row.iter().map(|x| f64::from(*x) * f64::from(*x));
                let length = squares.sum::<f64>().sqrt();
                if length == 0.0 {
                    zeros += 1;
                    continue;
                }
                sum += length;
                min = min.min(length);
                max = max.max(length);
            }
        }
        let counted = rows - zeros;
        Ok(Self {
            tensor: tensor.to_owned(),
            dtype: dtype.map(str::to_owned),
            vectors: rows,
            width,
            zeros,
            mean: if counted == 0 {
                0.0
            } else {
                sum / counted as f64
            },
            min: if counted == 0 { 0.0 } else { min },
            max,
        })
    }
}

/// A length with three digits or more: `1.23e-2`, `1.41`, `19.6`, `1234`.
fn number(value: f64) -> String {
    match value {
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        0.1.. => format!("{value:.3}"),
        _ if value == 0.0 => "0".to_owned(),
        _ => format!("{value:.2e}"),
    }
}
