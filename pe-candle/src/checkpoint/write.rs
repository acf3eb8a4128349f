//! From a table to a file.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;

use candle_core::{Device, Error, Result, Storage, Tensor, WithDType};
use pe_core::{Element, Table};
use safetensors::tensor::{Metadata, TensorInfo};

use super::file::message;

use super::file::blocks::RowBlocks;
use super::file::element::{encode, with_element};
use super::file::header::METADATA;
use super::file::message::reason;
use super::file::read::DEFAULT_TENSOR;
use super::file::replace::replace;
use super::scheme::METADATA_KEY;
use super::spec::TableSpec;

/// Bytes converted at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// How a table is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaveOptions {
    /// The tensor's name; [`DEFAULT_TENSOR`] by default.
    pub tensor_name: String,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self {
            tensor_name: DEFAULT_TENSOR.to_owned(),
        }
    }
}

/// Saves a tensor of shape `[rows, d_model]` with its specification.
///
/// The file is written beside its place, synced to disk and renamed: whoever opens
/// the name gets the old file or the new one, whole. It keeps the mode of the file it
/// replaces (and else has that of any new file); a symbolic link stays, and its target
/// is written. Equal input gives equal bytes.
///
/// On errors nothing is left behind. A process that is killed while it writes may, on some file
/// systems, leave a file `.pe-*.tmp` beside `path`, as [`replace`](crate::checkpoint::replace())
/// says; it can be removed. `path` itself is whole even then.
///
/// The entries are not compared with the specification here; [`load`](crate::checkpoint::load) does that.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::{DType, Device, Tensor};
/// use pe_candle::checkpoint::{self, TableSpec};
/// use pe_candle::{Sinusoidal, SinusoidalConfig};
///
/// let spec = TableSpec::new(SinusoidalConfig::new(8), 0, 3, DType::F32);
/// let entries = Sinusoidal::new(spec.config)?.table::<f32>(spec.positions())?.into_vec();
/// let table = Tensor::from_vec(entries, (3, 8), &Device::Cpu)?;
/// checkpoint::save(&path, &table, &spec)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A tensor whose shape or type differs from the specification's; a specification
/// that is not valid; a path that stands for anything but a regular file or nothing;
/// whatever the file system refuses. The old file, if any, is then as it was.
pub fn save<P: AsRef<Path>>(path: P, table: &Tensor, spec: &TableSpec) -> Result<()> {
    SaveOptions::default().save(path, table, spec)
}

/// Saves a table of pe-core with its specification, without a copy: as [`save`].
///
/// # Errors
/// As [`save`].
pub fn save_table<T: Element, P: AsRef<Path>>(
    path: P,
    table: &Table<T>,
    spec: &TableSpec,
) -> Result<()> {
    SaveOptions::default().save_table(path, table, spec)
}

/// Computes the table of a specification and saves it: as [`save`], with the same bytes,
/// but the table is never in memory as a whole. As there, a process that is killed may leave
/// a file `.pe-*.tmp` beside `path`, and `path` itself is whole.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::checkpoint::{self, TableSpec};
/// use pe_candle::SinusoidalConfig;
///
/// let spec = TableSpec::new(SinusoidalConfig::new(512), 0, 5000, DType::BF16);
/// checkpoint::export(&path, &spec)?;
/// assert!(checkpoint::compare(&path, None, &spec)?.is_right());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`save`].
pub fn export<P: AsRef<Path>>(path: P, spec: &TableSpec) -> Result<()> {
    SaveOptions::default().export(path, spec)
}

impl SaveOptions {
    /// [`save`] with these options.
    ///
    /// # Errors
    /// As [`save`].
    pub fn save<P: AsRef<Path>>(&self, path: P, table: &Tensor, spec: &TableSpec) -> Result<()> {
        let path = path.as_ref();
        if table.dims() != [spec.rows, spec.config.d_model] {
            let (found, wanted) = (table.dims(), [spec.rows, spec.config.d_model]);
            let reason = format!("the tensor has shape {found:?}, the specification {wanted:?}");
            return Err(error(path, &reason));
        }
        if table.dtype() != spec.dtype {
            let (found, wanted) = (table.dtype().as_str(), spec.dtype.as_str());
            let reason = format!("the tensor has dtype {found}, the specification {wanted}");
            return Err(error(path, &reason));
        }
        // Neither copies a contiguous tensor on the CPU.
        let table = table.to_device(&Device::Cpu)?.contiguous()?;
        with_element!(spec.dtype, T => self.save_cpu::<T>(path, &table, spec))
    }

    fn save_cpu<T: Element + WithDType>(
        &self,
        path: &Path,
        table: &Tensor,
        spec: &TableSpec,
    ) -> Result<()> {
        let (storage, layout) = table.storage_and_layout();
        let entries = match (&*storage, layout.contiguous_offsets()) {
            (Storage::Cpu(storage), Some((begin, end))) => storage.as_slice()?.get(begin..end),
            _ => None,
        };
        let Some(entries) = entries else {
            return Err(error(path, &"the tensor could not be brought to the CPU"));
        };
        self.write::<T>(path, spec, entries)
    }

    /// [`save_table`] with these options.
    ///
    /// # Errors
    /// As [`save`].
    pub fn save_table<T: Element, P: AsRef<Path>>(
        &self,
        path: P,
        table: &Table<T>,
        spec: &TableSpec,
    ) -> Result<()> {
        let path = path.as_ref();
        if (table.rows(), table.width()) != (spec.rows, spec.config.d_model) {
            let found = [table.rows(), table.width()];
            let wanted = [spec.rows, spec.config.d_model];
            let reason = format!("the table has shape {found:?}, the specification {wanted:?}");
            return Err(error(path, &reason));
        }
        if T::NAME != spec.dtype.as_str() {
            let (found, wanted) = (T::NAME, spec.dtype.as_str());
            let reason = format!("the table has dtype {found}, the specification {wanted}");
            return Err(error(path, &reason));
        }
        self.write(path, spec, table.as_slice())
    }

    fn write<T: Element>(&self, path: &Path, spec: &TableSpec, entries: &[T]) -> Result<()> {
        let header = self.header(path, spec)?;
        let mut bytes = Vec::with_capacity(BLOCK_BYTES);
        put(path, |out| {
            out.write_all(&header)?;
            for block in entries.chunks(const { BLOCK_BYTES / size_of::<T>() }) {
                bytes.clear();
                encode(block, &mut bytes);
                out.write_all(&bytes)?;
            }
            Ok(())
        })
    }

    /// [`export`] with these options.
    ///
    /// # Errors
    /// As [`save`].
    pub fn export<P: AsRef<Path>>(&self, path: P, spec: &TableSpec) -> Result<()> {
        let path = path.as_ref();
        with_element!(spec.dtype, T => self.export_as::<T>(path, spec))
    }

    fn export_as<T: Element>(&self, path: &Path, spec: &TableSpec) -> Result<()> {
        let header = self.header(path, spec)?;
        let encoding = spec.check()?;
        let blocks = RowBlocks::new(spec.rows, encoding.d_model(), size_of::<T>())
            .map_err(|reason| error(path, &reason))?;
        let (mut entries, mut bytes) = (Vec::new(), Vec::new());
        put(path, |out| {
            out.write_all(&header)?;
            for block in blocks {
                entries.resize(block.entries.len(), T::default());
                encoding
                    .fill(spec.position(block.row), &mut entries)
                    .map_err(io::Error::other)?;
                bytes.clear();
                encode(&entries, &mut bytes);
                out.write_all(&bytes)?;
            }
            Ok(())
        })
    }

    /// Everything before the entries: the header's length, the header, spaces up to
    /// a multiple of 8 bytes, as the safetensors crate writes them.
    fn header(&self, path: &Path, spec: &TableSpec) -> Result<Vec<u8>> {
        let name = &self.tensor_name;
        let of = |reason: &dyn std::fmt::Display| error(path, reason);
        if name.is_empty() || name == METADATA {
            return Err(of(&format!("a tensor cannot have the name {name:?}")));
        }
        let json = spec.to_json().map_err(|error| of(&reason(&error)))?;
        let Some(bytes) = spec.bytes().and_then(|bytes| usize::try_from(bytes).ok()) else {
            return Err(of(&"the table is too large for this machine"));
        };
        let info = TensorInfo {
            dtype: spec.dtype.into(),
            shape: vec![spec.rows, spec.config.d_model],
            data_offsets: (0, bytes),
        };
        header(json, vec![(name.clone(), info)]).map_err(|error| of(&error))
    }
}

/// An error about a file to be written.
pub(crate) fn error(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    message::error(format_args!("{}: {reason}", path.display()))
}

/// The bytes before the entries of a file with these tensors and this specification.
pub(crate) fn header(
    specification: String,
    tensors: Vec<(String, TensorInfo)>,
) -> std::result::Result<Vec<u8>, String> {
    let metadata = HashMap::from([(METADATA_KEY.to_owned(), specification)]);
    let metadata = Metadata::new(Some(metadata), tensors).map_err(|error| error.to_string())?;
    let mut text = serde_json::to_vec(&metadata).map_err(|error| error.to_string())?;
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.append(&mut text);
    Ok(header)
}

pub(crate) fn put(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    replace(path, write).map_err(|reason| error(path, &reason))
}
