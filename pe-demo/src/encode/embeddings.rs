//! Word and position vectors of real checkpoints, and how long they are.

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Tensor};
use pe_candle::checkpoint::{self, Limits, LoadOptions, TensorReport, Verify};
use serde::Serialize;

use crate::cli::{EncodeArgs, SAME};
use crate::encoder::{Encoder, MAX_PARAMETERS, Scheme};
use crate::fetch;
use crate::log::Log;
use crate::origin::Origin;
use crate::page::{Page, clean, thousands};

/// The name that checkpoints of one file have on the hub.
pub(super) const FILE: &str = "model.safetensors";

/// What the names of the tensors end in, in BERT, DistilBERT, RoBERTa and their kin.
const WORDS: &str = "embeddings.word_embeddings.weight";
const POSITIONS: &str = "embeddings.position_embeddings.weight";

/// The largest file that is fetched.
const MAX_BYTES: u64 = 16 << 30;

/// The types that such vectors have.
const TYPES: [&str; 4] = ["F32", "F16", "BF16", "F64"];

/// Vectors taken from a checkpoint.
pub(super) struct Given {
    pub(super) words: Vectors,
    pub(super) positions: Option<Vectors>,
}

/// A matrix of vectors, one per row.
pub(super) struct Vectors {
    pub(super) vectors: Tensor,
    pub(super) rows: usize,
    pub(super) width: usize,
    pub(super) tensor: String,
    /// The type in the file.
    dtype: String,
}

impl Given {
    /// Reads what `--embeddings` and `--position-embeddings` name; the words' origin too.
    pub(super) fn load(args: &EncodeArgs, name: &str, log: &mut Log<'_>) -> Result<(Self, Origin)> {
        let here = || "--embeddings";
        let (origin, tensor) = Origin::parse_tensor(name, FILE).with_context(here)?;
        let words = Vectors::read(&origin, tensor.as_deref(), WORDS, log).with_context(here)?;
        let (width, heads) = (words.width, args.heads);
        ensure!(
            width.is_multiple_of(2) && width.is_multiple_of(heads),
            "--embeddings: vectors of width {width} (it must be even, and shared evenly by \
             --heads {heads})"
        );
        ensure!(
            Scheme::from(args.scheme) != Scheme::Rotary || (width / heads).is_multiple_of(2),
            "--embeddings: vectors of width {width} by --heads {heads} make heads of width {}: \
             rotary positions turn pairs",
            width / heads
        );
        let positions = match args.position_embeddings.as_deref() {
            None => None,
            Some(name) => {
                let here = || "--position-embeddings";
                let (origin, tensor) = match name {
                    SAME => (origin.clone(), None),
                    _ => Origin::parse_tensor(name, FILE).with_context(here)?,
                };
                let all = Vectors::read(&origin, tensor.as_deref(), POSITIONS, log);
                Some(
                    all.and_then(|all| all.after(args.position_offset, width))
                        .with_context(here)?,
                )
            }
        };
        Ok((Self { words, positions }, origin))
    }
}

impl Vectors {
    /// Reads one tensor of a checkpoint, and nothing else of it but the header.
    fn read(
        origin: &Origin,
        tensor: Option<&str>,
        ending: &str,
        log: &mut Log<'_>,
    ) -> Result<Self> {
        let path = fetch::local(origin, MAX_BYTES, log)?;
        let report = checkpoint::inspect(&path)?;
        let file = path.display();
        let found = match tensor {
            Some(name) => report.tensors.iter().find(|entry| entry.name == name),
            None => by_ending(&report.tensors, ending).with_context(|| file.to_string())?,
        };
        let Some(found) = found else {
            let (what, name) = match tensor {
                Some(name) => ("no tensor", clean(name, 200)),
                None => ("no tensor whose name ends in", ending.to_owned()),
            };
            bail!("{file}: {what} {name}; {}", matrices(&report.tensors));
        };
        let name = clean(&found.name, 200);
        let [rows, width] = found.shape[..] else {
            bail!(
                "{file}: tensor {name} has shape {:?}, not [rows, width]",
                found.shape
            );
        };
        ensure!(
            TYPES.contains(&found.dtype.as_str()),
            "{file}: tensor {name} has type {}, not one of {}",
            found.dtype,
            TYPES.join(", ")
        );
        ensure!(
            rows > 0 && (rows as u64).saturating_mul(width as u64) <= MAX_PARAMETERS,
            "{file}: tensor {name} has {rows} x {width} entries, outside 1..={MAX_PARAMETERS}"
        );
        let options = LoadOptions {
            tensor_name: Some(found.name.clone()),
            dtype: Some(DType::F32),
            verify: Verify::None,
            limits: Limits {
                table_bytes: MAX_PARAMETERS * 8,
                ..Limits::default()
            },
            ..LoadOptions::default()
        };
        let vectors = options.load(&path)?.tensor;
        log.detail(format!(
            "{file}: read {name} {} [{rows}, {width}]",
            found.dtype
        ));
        Ok(Self {
            vectors,
            rows,
            width,
            tensor: found.name.clone(),
            dtype: found.dtype.to_lowercase(),
        })
    }

    /// The rows from one on, of a width that must be the words'.
    fn after(mut self, first: usize, width: usize) -> Result<Self> {
        let (name, rows) = (clean(&self.tensor, 200), self.rows);
        ensure!(
            self.width == width,
            "{name} has width {}, the words' vectors have {width}",
            self.width
        );
        ensure!(
            first < rows,
            "{name} has {rows} rows, --position-offset is {first}"
        );
        self.vectors = self.vectors.narrow(0, first, rows - first)?.contiguous()?;
        self.rows = rows - first;
        Ok(self)
    }
}

/// The tensor of that name, whatever stands before it.
fn by_ending<'a>(tensors: &'a [TensorReport], ending: &str) -> Result<Option<&'a TensorReport>> {
    let named = |entry: &&TensorReport| {
        let before = entry.name.strip_suffix(ending);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    let found: Vec<&TensorReport> = tensors.iter().filter(named).collect();
    match found[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => {
            let names: Vec<String> = found.iter().map(|entry| clean(&entry.name, 100)).collect();
            bail!(
                "{} tensors have names that end in {ending}: {}; name one of them after a colon",
                names.len(),
                names.join(", ")
            )
        }
    }
}

/// Some of the tensors that could be meant.
fn matrices(tensors: &[TensorReport]) -> String {
    const SHOWN: usize = 8;
    let all: Vec<&TensorReport> = tensors
        .iter()
        .filter(|entry| entry.shape.len() == 2)
        .collect();
    if all.is_empty() {
        return "the file has no matrices".to_owned();
    }
    let mut names: Vec<String> = all
        .iter()
        .take(SHOWN)
        .map(|entry| clean(&entry.name, 80))
        .collect();
    if all.len() > SHOWN {
        names.push(format!("and {} more", all.len() - SHOWN));
    }
    format!("its matrices are {}", names.join(", "))
}

/// How long the vectors of words and positions are.
#[derive(Debug, Serialize)]
pub(super) struct Sizes {
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
    pub(super) fn of(encoder: &Encoder, given: &Given, rows: usize) -> Result<Self> {
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

    pub(super) fn print(&self, page: &mut Page) {
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
                 root of d_model first, {} here; trained encoders of this kind normalise the sum \
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
