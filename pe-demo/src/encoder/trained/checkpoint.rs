//! Weights in safetensors files.
//!
//! A file of weights has the best weights of a training. A file of a state has all that is
//! needed to continue. Neither has a table that can be computed. Both describe the model in
//! one JSON object under one metadata key.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::classifier::Classifier;
use super::description::{Best, Description};
use crate::sources::file;
use crate::sources::write::write;

/// The one metadata key.
const METADATA_KEY: &str = "pe_demo";

/// Version of the description below it.
const VERSION: u32 = 1;

/// The largest file that is read: the largest encoder, its moments and its best weights.
pub(crate) const MAX_BYTES: u64 = 4 << 30;

/// The most tokens that a sentence in training may have had.
const MAX_ROWS: usize = 4096;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    version: u32,
    model: Description,
    /// The steps done; only in a file of a state.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    best: Option<Best>,
}

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub(crate) model: Description,
    pub(crate) step: Option<u64>,
    pub(crate) best: Option<Best>,
    tensors: HashMap<String, Tensor>,
    name: String,
}

impl Checkpoint {
    /// Writes a file atomically: its name leads to the old content or to the new.
    pub(crate) fn write(
        path: &Path,
        model: &Description,
        step: Option<u64>,
        best: Option<Best>,
        tensors: &BTreeMap<String, Tensor>,
    ) -> Result<()> {
        let header = Header {
            version: VERSION,
            model: model.clone(),
            step,
            best,
        };
        let metadata = HashMap::from([(METADATA_KEY.to_owned(), serde_json::to_string(&header)?)]);
        let bytes = safetensors::serialize(tensors, Some(metadata))?;
        write(path, &bytes)
    }

    /// Reads a file of either kind.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, is not a safetensors file, or was not written by
    /// `pe-demo train`.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        // The library below trusts the header in places.
        let header = Self::header(path)?;
        let bytes = file::bytes(path, MAX_BYTES, "weights")?;
        let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu)
            .with_context(|| name.clone())?;
        Ok(Self {
            model: header.model,
            step: header.step,
            best: header.best,
            tensors,
            name,
        })
    }

    /// Reads the description in a file of either kind.
    fn header(path: &Path) -> Result<Header> {
        let name = path.display();
        let json = &Self::metadata(path)?;
        let version = serde_json::from_str::<Value>(json)
            .with_context(|| format!("{name}: metadata {METADATA_KEY}"))?["version"]
            .take();
        ensure!(
            version == VERSION,
            "{name}: version {version} of metadata {METADATA_KEY}, known is {VERSION}"
        );
        let header: Header = serde_json::from_str(json)
            .with_context(|| format!("{name}: metadata {METADATA_KEY}"))?;
        let rows = header.model.max_seq_len;
        ensure!(
            (1..=MAX_ROWS).contains(&rows),
            "{name}: max_seq_len {rows} is outside 1..={MAX_ROWS}"
        );
        Ok(header)
    }

    /// Checks that a file is of the model wanted, before its training resumes.
    pub(crate) fn check_resumable(path: &Path, wanted: &Description) -> Result<()> {
        let name = path.display().to_string();
        Self::header(path)?.model.check_same(wanted, &name)
    }

    /// Returns an error if a file exists that is not one of these, and that must not be replaced.
    pub(crate) fn check_replaceable(path: &Path) -> Result<()> {
        match path.exists() {
            true => Self::metadata(path).map(|_| ()),
            false => Ok(()),
        }
    }

    /// Reads the JSON object of a file of either kind. Checks the whole header.
    fn metadata(path: &Path) -> Result<String> {
        let report = pe_candle::checkpoint::inspect(path)?;
        let mut entries = report.metadata.into_iter();
        let entry = entries.find(|(key, _)| key == METADATA_KEY);
        let (_, json) = entry.with_context(|| {
            let name = path.display();
            format!("{name}: not written by pe-demo train (no metadata {METADATA_KEY})")
        })?;
        Ok(json)
    }

    /// Takes a tensor out, which must be f32 and have the shape given.
    pub(crate) fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let Some(tensor) = self.tensors.remove(name) else {
            bail!("{}: there is no tensor {name}", self.name);
        };
        ensure!(
            tensor.dtype() == DType::F32 && tensor.dims() == shape,
            "{}: tensor {name} is {} {:?}, not f32 {shape:?}",
            self.name,
            tensor.dtype().as_str(),
            tensor.dims()
        );
        Ok(tensor)
    }

    /// Takes out a list of rows of `width` numbers.
    pub(crate) fn take_rows(&mut self, name: &str, width: usize) -> Result<Vec<f32>> {
        let rows = match self.tensors.get(name) {
            Some(tensor) => tensor.dim(0).unwrap_or(0),
            None => 0,
        };
        Ok(self.take(name, &[rows, width])?.flatten_all()?.to_vec1()?)
    }

    /// Checks that every tensor was taken.
    pub(crate) fn finish(&self) -> Result<()> {
        match self.tensors.keys().min() {
            Some(name) => bail!("{}: tensor {name} does not belong here", self.name),
            None => Ok(()),
        }
    }

    /// Returns the model with the weights of this file on a device, and fixed tables of `rows` rows.
    ///
    /// # Errors
    /// Returns an error if the file is one of a state, or if weights are missing, left over, of another
    /// shape or type, or not finite.
    pub(crate) fn classifier(&self, rows: usize, device: &Device) -> Result<Classifier> {
        let name = &self.name;
        ensure!(
            self.step.is_none(),
            "{name}: the state of a training, not its weights (those are in the file without \
             .state)"
        );
        self.check_numbers()?;
        let vb = VarBuilder::from_tensors(self.tensors.clone(), DType::F32, device);
        let classifier = Classifier::new(&self.model, rows, &vb).with_context(|| name.clone())?;
        let weights: usize = self.tensors.values().map(Tensor::elem_count).sum();
        let wanted = classifier.weights();
        ensure!(
            weights as u64 == wanted,
            "{name}: {weights} weights, the model has {wanted}"
        );
        Ok(classifier)
    }

    /// Checks that all elements are f32, since others would be converted silently, and finite. The error
    /// names the first tensor by name.
    pub(crate) fn check_numbers(&self) -> Result<()> {
        let sorted: BTreeMap<&String, &Tensor> = self.tensors.iter().collect();
        for (tensor, values) in sorted {
            ensure!(
                values.dtype() == DType::F32,
                "{}: tensor {tensor} is {}, not f32",
                self.name,
                values.dtype().as_str()
            );
            let values = values.flatten_all()?.to_vec1::<f32>()?;
            if let Some((at, value)) = values.iter().enumerate().find(|(_, x)| !x.is_finite()) {
                bail!("{}: tensor {tensor} holds {value} at entry {at}", self.name);
            }
        }
        Ok(())
    }
}
