//! The norms of embeddings.

use anyhow::Result;
use candle_core::Tensor;
use serde::Serialize;

use super::{Embeddings, Vectors};
use crate::commands::studies::Section;
use crate::encoder::{Adds, Encoder};
use crate::terminal::numbers::{thousands, three_digits};
use crate::terminal::page::Page;
use crate::terminal::width::clean;
use crate::text::tokenizer::Sentence;

/// The norms of token and position embeddings.
#[derive(Debug, Serialize)]
pub(in crate::commands::encode) struct Norms {
    words: Lengths,
    /// Null if positions are not added.
    positions: Option<Lengths>,
    /// The mean norm of token embeddings over that of position embeddings.
    ratio: Option<f64>,
}

/// Euclidean norms of the vectors that are not zero.
#[derive(Debug, Serialize)]
struct Lengths {
    tensor: String,
    /// The type in the file; null if there is none.
    dtype: Option<String>,
    vectors: usize,
    width: usize,
    zeros: usize,
    mean: f64,
    min: f64,
    max: f64,
}

impl Norms {
    /// Measures pretrained embeddings, and the first `rows` rows of the encoder's own table if that
    /// is added to them.
    pub(in crate::commands::encode) fn of(
        encoder: &Encoder,
        pretrained: &Embeddings,
        rows: usize,
    ) -> Result<Self> {
        let of = |all: &Vectors| Lengths::of(&all.vectors, &all.tensor, Some(&all.dtype));
        let words = of(&pretrained.tokens)?;
        let positions = match (&pretrained.positions, encoder.config().scheme.adds()) {
            (Some(positions), _) => Some(of(positions)?),
            (None, Adds::Sinusoids) => {
                let table = encoder.position().encoding(0, rows)?;
                Some(Lengths::of(&table, "sines and cosines", None)?)
            }
            (None, Adds::Nothing | Adds::TrainedRows) => None,
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

    /// Returns the measurements by name.
    fn named(&self) -> impl Iterator<Item = (&'static str, &Lengths)> {
        let positions = self.positions.iter().map(|lengths| ("positions", lengths));
        std::iter::once(("words", &self.words)).chain(positions)
    }

    fn print_table(&self, page: &mut Page) {
        page.line(format!(
            "  {:<10} {:>9} {:>6}  {:>9} {:>9} {:>9}",
            "", "vectors", "width", "mean", "min", "max"
        ));
        for (name, lengths) in self.named() {
            page.line(format!(
                "  {name:<10} {:>9} {:>6}  {:>9} {:>9} {:>9}",
                thousands(lengths.vectors as u64),
                lengths.width,
                three_digits(lengths.mean),
                three_digits(lengths.min),
                three_digits(lengths.max)
            ));
        }
    }

    fn print_origins(&self, page: &mut Page) {
        for (name, lengths) in self.named() {
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
    }

    fn print_ratio(&self, page: &mut Page) {
        match self.ratio {
            Some(ratio) if ratio >= 1.0 => page.paragraph(&format!(
                "A word's vector is {} times as long as a position's, in the mean.",
                three_digits(ratio)
            )),
            Some(ratio) => page.paragraph(&format!(
                "A position's vector is {} times as long as a word's, in the mean: added as they \
                 are, positions drown the words. The paper multiplies the words' vectors by the \
                 root of d_model first, {} here; trained encoders of this kind normalize the sum \
                 instead.",
                three_digits(1.0 / ratio),
                three_digits((self.words.width as f64).sqrt())
            )),
            None => page.paragraph("No vectors of positions are added in this encoder."),
        }
    }
}

impl Section for Norms {
    fn print(&self, page: &mut Page, _: &[Sentence]) {
        page.heading("Norms of the vectors");
        self.print_table(page);
        page.line("");
        self.print_origins(page);
        page.line("");
        self.print_ratio(page);
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
