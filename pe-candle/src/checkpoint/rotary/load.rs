//! From a file to tensors.

use std::path::Path;

use candle_core::{DType, Device, Result, Tensor, WithDType};
use pe_core::{Element, RotaryConfig, RotaryFrequencies};

use super::verify::{Checker, blocks, tensor};
use super::{COS_TENSOR, INV_FREQ_TENSOR, RotarySpec, SIN_TENSOR, fits, inv_freq_dtype};
use crate::checkpoint::file::blocks::row_and_column;
use crate::checkpoint::file::element::{elements, first_not_finite, with_element};
use crate::checkpoint::file::header::Limits;
use crate::checkpoint::file::message::reason;
use crate::checkpoint::file::read::{TableFile, reserve};
use crate::checkpoint::load::differences;
use crate::checkpoint::scheme::METADATA_KEY;
use crate::checkpoint::verify::Verify;

/// What a caller asks of a rotary table in a file. The default asks for what the file says.
#[derive(Debug, Clone)]
pub struct RotaryLoadOptions {
    /// The rotary embedding that the table must be made for.
    pub config: Option<RotaryConfig>,
    /// The position that the first row must be.
    pub start: Option<u64>,
    /// The device of the tensors returned; the CPU by default.
    pub device: Device,
    /// How many rows are compared with what they should be (and, unless none, the frequencies).
    pub verify: Verify,
    /// The largest sizes accepted; that of a table stands for all three tensors together.
    pub limits: Limits,
}

impl Default for RotaryLoadOptions {
    fn default() -> Self {
        Self {
            config: None,
            start: None,
            device: Device::Cpu,
            verify: Verify::default(),
            limits: Limits::default(),
        }
    }
}

/// A rotary table from a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadedRotary {
    /// The cosines, `[rows, rotary_dim/2]`, multiplied by the attention factor.
    pub cos: Tensor,
    /// The sines, likewise.
    pub sin: Tensor,
    /// Radians per position, `[rotary_dim/2]`; f32, or f64 beside tables of f64.
    pub inv_freq: Tensor,
    /// What cosines and sines have been multiplied by.
    pub attention_factor: f64,
    /// What the file says about itself.
    pub spec: RotarySpec,
}

/// Loads a rotary table that [`export_rotary`](crate::checkpoint::export_rotary) wrote. Every
/// entry is compared with what the specification gives; [`RotaryLoadOptions`] asks for more or
/// less.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("rotary.safetensors");
/// # use candle_core::{DType, Device, Tensor};
/// # use pe_candle::checkpoint::{self, RotarySpec};
/// # let spec = RotarySpec::new(pe_core::RotaryConfig::new(64), 0, 32, DType::F32)?;
/// # checkpoint::export_rotary(&path, &spec)?;
/// let rotary = checkpoint::load_rotary(&path, &Device::Cpu)?;
/// let q = Tensor::zeros((1, 8, 16, 64), DType::F32, &Device::Cpu)?;
/// let (cos, sin) = (rotary.cos.narrow(0, 0, 16)?, rotary.sin.narrow(0, 0, 16)?);
/// let q = candle_nn::rotary_emb::rope(&q, &cos, &sin)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is no well-formed safetensors file; no specification of a
/// rotary table in it, or one that is not valid or differs from the tensors' shapes, types or
/// entries; infinite or NaN entries. Messages name the file and the reason.
pub fn load_rotary<P: AsRef<Path>>(path: P, device: &Device) -> Result<LoadedRotary> {
    RotaryLoadOptions {
        device: device.clone(),
        ..RotaryLoadOptions::default()
    }
    .load(path)
}

impl RotaryLoadOptions {
    /// Loads the rotary table in a safetensors file, if it is what these options ask for.
    ///
    /// # Errors
    /// As [`load_rotary`]; and a specification that differs from what was asked for.
    pub fn load<P: AsRef<Path>>(&self, path: P) -> Result<LoadedRotary> {
        let mut file = TableFile::open(path.as_ref(), self.limits)?;
        let text = file
            .header
            .metadata
            .iter()
            .find(|(key, _)| key == METADATA_KEY);
        let spec = match text.map(|(_, text)| RotarySpec::read_json(text)) {
            Some(Ok(spec)) => spec,
            Some(Err(reason)) => return Err(file.error(format!("specification: {reason}"))),
            None => return Err(file.error("no specification of a rotary table")),
        };
        if let Some(reason) = self.refuse(&spec, &file) {
            return Err(file.error(reason));
        }
        let frequencies = spec.check().map_err(|error| file.error(reason(&error)))?;
        with_element!(spec.dtype, T => self.read::<T>(&mut file, spec, &frequencies))
    }

    /// Why a file is not what was asked for, by its header alone.
    fn refuse(&self, spec: &RotarySpec, file: &TableFile) -> Option<String> {
        if let Err(reason) = fits(spec, &file.header) {
            return Some(reason);
        }
        if let Some(bytes) = spec
            .bytes()
            .filter(|bytes| *bytes > self.limits.table_bytes)
        {
            let limit = self.limits.table_bytes;
            return Some(format!(
                "{bytes} bytes of table, above the limit of {limit}"
            ));
        }
        if let Some(start) = self.start.filter(|start| *start != spec.start) {
            return Some(format!(
                "the specification has start {}, {start} was asked for",
                spec.start
            ));
        }
        let config = self
            .config
            .as_ref()
            .filter(|config| **config != spec.config)?;
        Some(differences(&spec.config, config))
    }

    fn read<T: Element + WithDType>(
        &self,
        file: &mut TableFile,
        spec: RotarySpec,
        frequencies: &RotaryFrequencies,
    ) -> Result<LoadedRotary> {
        let pairs = frequencies.pairs();
        let mut checker = Checker::new(&spec, frequencies, self.verify);
        let info = tensor(file, INV_FREQ_TENSOR)?;
        let mut bytes = vec![0; info.bytes as usize];
        file.read_at(&info, 0, &mut bytes)?;
        checker.inv_freq(&bytes);
        let inv_freq = match inv_freq_dtype(spec.dtype) {
            DType::F64 => self.one_row::<f64>(file, &bytes)?,
            _ => self.one_row::<f32>(file, &bytes)?,
        };
        let (mut cos, mut sin): (Vec<T>, Vec<T>) = (Vec::new(), Vec::new());
        for (entries, name) in [(&mut cos, COS_TENSOR), (&mut sin, SIN_TENSOR)] {
            // Each of the two tensors has so many: their bytes are in the file.
            let count = spec.rows.saturating_mul(pairs);
            reserve(entries, count).map_err(|e| file.error_of(name, e))?;
        }
        blocks(file, &spec, size_of::<T>(), |row, cos_bytes, sin_bytes| {
            cos.extend(elements::<T>(cos_bytes));
            sin.extend(elements::<T>(sin_bytes));
            checker.rows::<T>(row, cos_bytes, sin_bytes)
        })?;
        let comparison = checker.comparison;
        if !comparison.is_right() {
            return Err(file.error(format!("by the file's own specification, {comparison}")));
        }
        for (entries, name) in [(&cos, COS_TENSOR), (&sin, SIN_TENSOR)] {
            finite(file, name, entries, pairs)?;
        }
        let shape = (spec.rows, pairs);
        Ok(LoadedRotary {
            cos: Tensor::from_vec(cos, shape, &self.device)?,
            sin: Tensor::from_vec(sin, shape, &self.device)?,
            inv_freq,
            attention_factor: frequencies.attention_factor(),
            spec,
        })
    }

    fn one_row<T: Element + WithDType>(&self, file: &TableFile, bytes: &[u8]) -> Result<Tensor> {
        let entries: Vec<T> = elements(bytes).collect();
        finite(file, INV_FREQ_TENSOR, &entries, entries.len())?;
        let count = entries.len();
        Tensor::from_vec(entries, count, &self.device)
    }
}

fn finite<T: Element>(file: &TableFile, name: &str, entries: &[T], width: usize) -> Result<()> {
    let Some(at) = first_not_finite(entries) else {
        return Ok(());
    };
    let (row, pair) = row_and_column(at, width);
    let value = entries.get(at).map_or(f64::NAN, |entry| entry.to_f64());
    let reason = format!("the entry at row {row}, pair {pair} is {value:?}");
    Err(file.error_of(name, reason))
}
