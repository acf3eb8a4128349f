//! What a safetensors file holds.

use std::path::{Path, PathBuf};

use candle_core::Result;

use super::file::header::Limits;
use super::file::message::reason;
use super::file::read::TableFile;
use super::rotary::{RotarySpec, fits};
use super::scheme::{METADATA_KEY, Scheme, scheme_of};
use super::spec::{TableSpec, agree};

/// Any safetensors file, as its header describes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Its tensors, in the order of their bytes.
    pub tensors: Vec<TensorReport>,
    /// Its metadata, in the order of the file.
    pub metadata: Vec<(String, String)>,
    /// The specification among the metadata.
    pub spec: SpecStatus,
    /// The name of the tensor that [`load`](crate::checkpoint::load) would take, or why
    /// it would take none (of a rotary table it takes none).
    pub table: std::result::Result<String, String>,
}

/// One tensor of a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TensorReport {
    /// Its name.
    pub name: String,
    /// Its element type, as the file spells it: `F32`, `I64`, `F8_E4M3` ...
    pub dtype: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its size.
    pub bytes: u64,
}

/// The specification in a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SpecStatus {
    /// There is none.
    Absent,
    /// There is one, and the table has the shape and type it says. Whether the
    /// entries are right, [`compare`](crate::checkpoint::compare) tells.
    Valid(TableSpec),
    /// There is one of a rotary table, and its three tensors have the shapes and types it says.
    /// Whether the entries are right, [`compare_rotary`](crate::checkpoint::compare_rotary)
    /// tells.
    Rotary(RotarySpec),
    /// There is one that cannot be read or does not fit the table, and why.
    Invalid(String),
}

/// Describes a safetensors file of any content: names, types, shapes, metadata, and the
/// specification if there is one. Only the header is read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::checkpoint::{self, SpecStatus, TableSpec};
/// use pe_candle::SinusoidalConfig;
///
/// let spec = TableSpec::new(SinusoidalConfig::new(16), 0, 4, DType::F16);
/// checkpoint::export(&path, &spec)?;
/// let report = checkpoint::inspect(&path)?;
/// assert_eq!(report.tensors[0].shape, [4, 16]);
/// assert_eq!(report.spec, SpecStatus::Valid(spec));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A file that cannot be read or is no well-formed safetensors file. A specification
/// that is not valid is no error here; the report says so.
pub fn inspect<P: AsRef<Path>>(path: P) -> Result<FileReport> {
    let file = TableFile::open(path.as_ref(), Limits::default())?;
    let table = file.table(None);
    let text = file
        .header
        .metadata
        .iter()
        .find(|(key, _)| key == METADATA_KEY);
    let additive = |text| {
        let spec = TableSpec::read_json(text)?;
        let table = table.as_ref().map_err(reason)?;
        agree(&spec, table)?;
        Ok(SpecStatus::Valid(spec))
    };
    let rotary = |text| {
        let spec = RotarySpec::read_json(text)?;
        fits(&spec, &file.header)?;
        Ok(SpecStatus::Rotary(spec))
    };
    let spec = match text {
        None => SpecStatus::Absent,
        Some((_, text)) => scheme_of(text)
            .and_then(|scheme| match scheme {
                Scheme::Sinusoidal => additive(text),
                Scheme::Rotary => rotary(text),
            })
            .unwrap_or_else(SpecStatus::Invalid),
    };
    let table = table
        .map(|table| table.tensor.name)
        .map_err(|error| reason(&error));
    let tensors = file.header.tensors.into_iter();
    Ok(FileReport {
        path: file.path,
        bytes: file.bytes,
        tensors: tensors
            .map(|tensor| TensorReport {
                name: tensor.name,
                dtype: tensor.dtype.to_string(),
                shape: tensor.shape,
                bytes: tensor.bytes,
            })
            .collect(),
        metadata: file.header.metadata,
        spec,
        table,
    })
}
