//! Whether the entries of a rotary table are those of its specification.

use std::fmt;
use std::path::Path;

use candle_core::{DType, Result};
use pe_core::{Element, RotaryFrequencies};

use super::write::inv_freq_bytes;
use super::{COS_TENSOR, INV_FREQ_TENSOR, RotarySpec, SIN_TENSOR, fits, inv_freq_dtype};
use crate::checkpoint::file::blocks::{RowBlocks, row_and_column};
use crate::checkpoint::file::element::{elements, encode, ulps, with_element};
use crate::checkpoint::file::header::{Limits, TensorInfo};
use crate::checkpoint::file::message::reason;
use crate::checkpoint::file::read::TableFile;
use crate::checkpoint::verify::Verify;
use crate::checkpoint::verify::{larger, rows_of, sampled};

/// What a comparison of a rotary table found.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct RotaryComparison {
    /// The entries compared, of all three tensors.
    pub entries: u64,
    /// Those that differ by a bit, the sign of a zero included.
    pub wrong: u64,
    /// The first of them: frequencies, then by position and pair, cosines before sines.
    pub first_wrong: Option<WrongRotaryEntry>,
    /// The largest distance in units in the last place; `u64::MAX` if there is a NaN.
    pub max_ulps: u64,
    /// The largest absolute difference; NaN if there is a NaN.
    pub max_difference: f64,
}

/// An entry that is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct WrongRotaryEntry {
    /// The tensor: `cos`, `sin` or `inv_freq`.
    pub tensor: &'static str,
    /// The row, counted from 0, and the position that it stands for; `None` in `inv_freq`.
    pub row: Option<(usize, u64)>,
    /// The pair, counted from 0: the column of `cos` and `sin`.
    pub pair: usize,
    /// The entry in the file.
    pub found: f64,
    /// The entry that the specification gives.
    pub expected: f64,
    /// The distance in units in the last place; `u64::MAX` if `found` is NaN, 0 if only the
    /// sign of a zero differs.
    pub ulps: u64,
}

impl RotaryComparison {
    /// Whether no entry is wrong.
    pub fn is_right(&self) -> bool {
        self.wrong == 0
    }

    /// Compares elements as bytes; `place` says where an element stands.
    fn bytes<T: Element>(
        &mut self,
        found: &[u8],
        expected: &[u8],
        place: impl Fn(usize) -> (&'static str, Option<(usize, u64)>, usize),
    ) {
        let entries = elements::<T>(expected).len();
        self.entries = self.entries.saturating_add(entries as u64);
        if found == expected {
            return;
        }
        let pairs = elements::<T>(found).zip(elements::<T>(expected));
        for (at, (found, expected)) in pairs.enumerate() {
            if found.pattern() == expected.pattern() {
                continue;
            }
            let (tensor, row, pair) = place(at);
            let wrong = WrongRotaryEntry {
                tensor,
                row,
                pair,
                found: found.to_f64(),
                expected: expected.to_f64(),
                ulps: ulps(found, expected),
            };
            let difference = (wrong.found - wrong.expected).abs();
            self.max_difference = larger(self.max_difference, difference);
            self.max_ulps = self.max_ulps.max(wrong.ulps);
            self.wrong = self.wrong.saturating_add(1);
            self.first_wrong.get_or_insert(wrong);
        }
    }
}

impl fmt::Display for RotaryComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, wrong, .. } = self;
        match &self.first_wrong {
            None => write!(f, "all {entries} entries are right"),
            Some(first) => write!(
                f,
                "{wrong} of {entries} entries are wrong, the first {first}"
            ),
        }
    }
}

impl fmt::Display for WrongRotaryEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tensor, pair, .. } = self;
        write!(f, "in {tensor} at ")?;
        if let Some((row, position)) = self.row {
            write!(f, "row {row} (position {position}), ")?;
        }
        let (found, expected) = (self.found, self.expected);
        write!(f, "pair {pair}: {found:?} where {expected:?} is right")
    }
}

/// Compares the rotary table in a file with the numbers that a specification gives, block by
/// block: no second table is held in memory. All three tensors are compared.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("rotary.safetensors");
/// use candle_core::DType;
/// use pe_candle::checkpoint::{self, RotarySpec};
/// use pe_candle::{RotaryConfig, RotaryRecipe};
///
/// let exact = RotarySpec::new(RotaryConfig::new(64), 0, 512, DType::F32)?;
/// let mut reference = exact.clone();
/// reference.config.recipe = RotaryRecipe::HfF32;
/// checkpoint::export_rotary(&path, &reference)?;
/// assert!(checkpoint::compare_rotary(&path, &reference)?.is_right());
/// let comparison = checkpoint::compare_rotary(&path, &exact)?;
/// assert!(comparison.wrong > comparison.entries / 3);
/// assert!(comparison.max_difference < 1e-4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be read; tensors that are missing or whose shapes or types differ from
/// the specification's; a specification that is not valid.
pub fn compare_rotary<P: AsRef<Path>>(path: P, spec: &RotarySpec) -> Result<RotaryComparison> {
    let mut file = TableFile::open(path.as_ref(), Limits::default())?;
    let frequencies = spec.check().map_err(|error| file.error(reason(&error)))?;
    if let Err(reason) = fits(spec, &file.header) {
        return Err(file.error(reason));
    }
    let mut checker = Checker::new(spec, &frequencies, Verify::All);
    let inv_freq = tensor(&file, INV_FREQ_TENSOR)?;
    let mut bytes = vec![0; inv_freq.bytes as usize];
    file.read_at(&inv_freq, 0, &mut bytes)?;
    checker.inv_freq(&bytes);
    with_element!(spec.dtype, T => {
        blocks(&mut file, spec, size_of::<T>(), |row, cos, sin| checker.rows::<T>(row, cos, sin))
    })?;
    Ok(checker.comparison)
}

/// A tensor that is there, as the caller has seen.
pub(super) fn tensor(file: &TableFile, name: &str) -> Result<TensorInfo> {
    let found = file.header.tensor(name).cloned();
    found.ok_or_else(|| file.error(format!("no tensor {name:?}")))
}

/// Reads cosines and sines in blocks of the same rows, in order: `each` gets the number of the
/// block's first row and the two tensors' bytes.
pub(super) fn blocks(
    file: &mut TableFile,
    spec: &RotarySpec,
    element_bytes: usize,
    mut each: impl FnMut(usize, &[u8], &[u8]) -> Result<()>,
) -> Result<()> {
    let (cos, sin) = (tensor(file, COS_TENSOR)?, tensor(file, SIN_TENSOR)?);
    let pairs = spec.config.rotary_dim / 2;
    let blocks = RowBlocks::new(spec.rows, pairs, element_bytes).map_err(|e| file.error(e))?;
    let mut raw = [Vec::new(), Vec::new()];
    for block in blocks {
        for (raw, tensor) in raw.iter_mut().zip([&cos, &sin]) {
            raw.resize(block.bytes.len(), 0);
            file.read_at(tensor, block.bytes.start as u64, raw)?;
        }
        let [cos, sin] = &raw;
        each(block.row, cos, sin)?;
    }
    Ok(())
}

/// Compares the parts of a file as they come.
pub(super) struct Checker<'a> {
    spec: &'a RotarySpec,
    frequencies: &'a RotaryFrequencies,
    verify: Verify,
    expected: Vec<u8>,
    pub(super) comparison: RotaryComparison,
}

impl<'a> Checker<'a> {
    pub(super) fn new(
        spec: &'a RotarySpec,
        frequencies: &'a RotaryFrequencies,
        verify: Verify,
    ) -> Self {
        Self {
            spec,
            frequencies,
            verify,
            expected: Vec::new(),
            comparison: RotaryComparison::default(),
        }
    }

    pub(super) fn inv_freq(&mut self, found: &[u8]) {
        if self.verify == Verify::None {
            return;
        }
        let expected = inv_freq_bytes(self.spec, self.frequencies);
        let place = |pair| (INV_FREQ_TENSOR, None, pair);
        let comparison = &mut self.comparison;
        match inv_freq_dtype(self.spec.dtype) {
            DType::F64 => comparison.bytes::<f64>(found, &expected, place),
            _ => comparison.bytes::<f32>(found, &expected, place),
        }
    }

    /// Compares whole rows from number `row` on.
    pub(super) fn rows<T: Element>(&mut self, row: usize, cos: &[u8], sin: &[u8]) -> Result<()> {
        match self.verify {
            Verify::None => Ok(()),
            Verify::All => self.all::<T>(row, cos, sin),
            Verify::Sample => {
                let pairs = self.frequencies.pairs();
                let rows = rows_of::<T>(cos, pairs)?.zip(rows_of::<T>(sin, pairs)?);
                for (row, (cos, sin)) in (row..).zip(rows) {
                    if sampled(row, self.spec.rows) {
                        self.all::<T>(row, cos, sin)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn all<T: Element>(&mut self, first_row: usize, cos: &[u8], sin: &[u8]) -> Result<()> {
        let pairs = self.frequencies.pairs();
        let mut expected_cos = vec![T::default(); elements::<T>(cos).len()];
        let mut expected_sin = expected_cos.clone();
        let spec = self.spec;
        self.frequencies.fill(
            spec.position(first_row),
            &mut expected_cos,
            &mut expected_sin,
        )?;
        let mut earlier = self.comparison.first_wrong;
        for (tensor, found, expected) in [
            (COS_TENSOR, cos, &expected_cos),
            (SIN_TENSOR, sin, &expected_sin),
        ] {
            self.expected.clear();
            encode(expected, &mut self.expected);
            self.comparison.first_wrong = None;
            self.comparison.bytes::<T>(found, &self.expected, |at| {
                let (row, pair) = row_and_column(at, pairs);
                let row = first_row.saturating_add(row);
                (tensor, Some((row, spec.position(row))), pair)
            });
            // Within a block, sines may differ before cosines do.
            let place = |entry: &WrongRotaryEntry| (entry.row, entry.pair);
            earlier = match (earlier, self.comparison.first_wrong) {
                (Some(a), Some(b)) if place(&b) < place(&a) => Some(b),
                (a, b) => a.or(b),
            };
        }
        self.comparison.first_wrong = earlier;
        Ok(())
    }
}
