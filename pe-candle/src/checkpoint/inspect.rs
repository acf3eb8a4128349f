//! Description of a safetensors file.

use std::path::{Path, PathBuf};

use candle_core::Result;

use super::file::limits::Limits;
use super::file::read::TableFile;
use super::scheme::METADATA_KEY;
use super::schemes::AnySpec;

/// Description of any safetensors file, by its header.
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
    /// The name of the tensor that [`load`](crate::checkpoint::load) would load, or the reason why it
    /// would load none.
    pub table: std::result::Result<String, String>,
}

/// Description of one tensor of a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TensorReport {
    /// Its name.
    pub name: String,
    /// Its element type, spelled as in the file: `F32`, `I64`, `F8_E4M3` ...
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
    /// The file has none.
    Absent,
    /// The tensors have the shapes and types that the specification states. Whether the entries are
    /// right, [`compare`](crate::checkpoint::compare) shows.
    Valid(AnySpec),
    /// The specification cannot be read, or the tensors differ from it, with the reason.
    Invalid(String),
}

/// Describes a safetensors file of any content: names, types, shapes, metadata, and the specification, if
/// the file has one. Only the header is read.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::SinusoidalConfig;
/// use pe_candle::checkpoint::{self, AnySpec, SinusoidalSpec, SpecStatus};
///
/// let spec = SinusoidalSpec::new(SinusoidalConfig::new(16), 0, 4, DType::F16)?;
/// checkpoint::export(&path, &spec)?;
/// let report = checkpoint::inspect(&path)?;
/// assert_eq!(report.tensors[0].shape, [4, 16]);
/// assert_eq!(report.spec, SpecStatus::Valid(AnySpec::Sinusoidal(spec)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the file cannot be read or is not a well-formed safetensors file. An invalid
/// specification is not an error here, but part of the report.
pub fn inspect<P: AsRef<Path>>(path: P) -> Result<FileReport> {
    let file = TableFile::open(path.as_ref(), Limits::default())?;
    let spec = match file.header.metadata(METADATA_KEY).map(AnySpec::read_json) {
        None => SpecStatus::Absent,
        Some(spec) => spec
            .and_then(|spec| spec.check_tensors(&file).map(|()| spec))
            .map_or_else(SpecStatus::Invalid, SpecStatus::Valid),
    };
    let table = file.table(None).map(|table| table.tensor.name);
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
