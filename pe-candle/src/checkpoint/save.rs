//! Saving of tables in files, and export of computed ones.

pub(super) mod pairs;
pub(super) mod resize;
mod stream;

use std::collections::HashMap;
use std::io::SeekFrom;
use std::path::Path;

use candle_core::{Error, Result};
use pe_core::Element;
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use super::file::blocks::RowBlocks;
use super::file::element::{encode, with_element};
use super::file::header::METADATA;
use super::file::message::{self, reason};
use super::file::replace::{NewFile, replace};
use super::scheme::{METADATA_KEY, Scheme};
use super::spec::Spec;
use super::values::{Values, View};

/// Options for saving and exporting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SaveOptions {
    /// Names of the tensors, in the order of the scheme. Defaults to `pe`, or `cos`, `sin`, and
    /// `inv_freq`.
    pub tensor_names: Vec<String>,
}

/// Saves tables with their specification: a tensor, a [`Table`](pe_core::Table), or the
/// [`CosSin`](pe_core::CosSin) of a rotary embedding, without a copy.
///
/// The file is written next to its place, synced to disk, and renamed: a reader of the name sees the
/// old file or the new one, complete. It keeps the mode of the file that it replaces, or else has the
/// mode of any new file. A symbolic link stays, and its target is written. Equal input gives equal
/// bytes.
///
/// After an error nothing is left behind. A killed process may, on some file systems, leave a file
/// `.pe-*.tmp` next to `path`, which nothing reads and which can be removed. `path` itself is complete
/// even then.
///
/// The entries are not compared with the specification here. [`load`](crate::checkpoint::load) compares
/// them.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::SinusoidalConfig;
/// use pe_candle::checkpoint::{self, SinusoidalSpec};
///
/// let spec = SinusoidalSpec::new(SinusoidalConfig::new(8), 0, 3, DType::F32)?;
/// let table = spec.scheme().table::<f32>(spec.positions())?;
/// checkpoint::save(&path, &table, &spec)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if
/// - the shape or type of a table differs from the specification's,
/// - the path leads to anything but a regular file or a free name,
/// - the file system reports an error.
///
/// The old file, if any, is then unchanged.
pub fn save<S: Scheme, P: AsRef<Path>>(
    path: P,
    values: &impl Values,
    spec: &Spec<S>,
) -> Result<()> {
    SaveOptions::default().save(path, values, spec)
}

/// Computes the tables of a specification and writes the same bytes as [`save`], in blocks: memory never
/// holds a complete table.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("table.safetensors");
/// use candle_core::DType;
/// use pe_candle::RotaryConfig;
/// use pe_candle::checkpoint::{self, RotarySpec};
///
/// let spec = RotarySpec::new(RotaryConfig::new(128), 0, 4096, DType::BF16)?;
/// checkpoint::export(&path, &spec)?;
/// assert!(checkpoint::compare(&path, &spec)?.is_right());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns the errors of [`save`], or an error if the scheme has trained values.
pub fn export<S: Scheme, P: AsRef<Path>>(path: P, spec: &Spec<S>) -> Result<()> {
    SaveOptions::default().export(path, spec)
}

impl SaveOptions {
    /// Does the same as [`save`] with these options.
    ///
    /// # Errors
    /// Returns the errors of [`save`], or an error if the tensors cannot have the names.
    pub fn save<S: Scheme, P: AsRef<Path>>(
        &self,
        path: P,
        values: &impl Values,
        spec: &Spec<S>,
    ) -> Result<()> {
        let path = path.as_ref();
        let views = values.views().map_err(|e| error(path, &reason(&e)))?;
        let wanted = (vec![spec.rows(), spec.width()], spec.dtype());
        if views.len() != S::TABLES.len() {
            let (found, wanted) = (views.len(), S::TABLES.len());
            return Err(error(
                path,
                &format!("{found} tables, the scheme has {wanted}"),
            ));
        }
        for View { shape, dtype, .. } in &views {
            if *shape != wanted.0 {
                let reason = format!(
                    "the table has shape {shape:?}, the specification {:?}",
                    wanted.0
                );
                return Err(error(path, &reason));
            }
            if *dtype != wanted.1.as_str() {
                let wanted = wanted.1.as_str();
                let reason = format!("the table has dtype {dtype}, the specification {wanted}");
                return Err(error(path, &reason));
            }
        }
        let layout = self.layout(path, spec)?;
        put(path, |out| {
            layout.begin(spec, out)?;
            for (place, view) in layout.tables.iter().zip(&views) {
                out.seek(SeekFrom::Start(*place))?;
                (view.write)(out)?;
            }
            Ok(())
        })
    }

    /// Does the same as [`export`] with these options.
    ///
    /// # Errors
    /// Returns the errors of [`export`], or an error if the tensors cannot have the names.
    pub fn export<S: Scheme, P: AsRef<Path>>(&self, path: P, spec: &Spec<S>) -> Result<()> {
        let path = path.as_ref();
        if !S::COMPUTED {
            let reason = format!("{} tables cannot be computed", S::NAME);
            return Err(error(path, &reason));
        }
        with_element!(spec.dtype(), T => self.export_as::<S, T>(path, spec))
    }

    fn export_as<S: Scheme, T: Element>(&self, path: &Path, spec: &Spec<S>) -> Result<()> {
        let layout = self.layout(path, spec)?;
        let blocks = RowBlocks::new(spec.rows(), spec.width(), size_of::<T>())
            .map_err(|reason| error(path, &reason))?;
        let mut tables: Vec<Vec<T>> = vec![Vec::new(); S::TABLES.len()];
        let mut write = spec.scheme().writer(spec.positions())?;
        let mut bytes = Vec::new();
        put(path, |out| {
            layout.begin(spec, out)?;
            for block in blocks {
                for table in &mut tables {
                    table.resize(block.entries.len(), T::default());
                }
                write(&mut tables).map_err(std::io::Error::other)?;
                for (begin, table) in layout.tables.iter().zip(&tables) {
                    let place = begin.saturating_add(block.bytes.start as u64);
                    out.seek(SeekFrom::Start(place))?;
                    bytes.clear();
                    encode(table, &mut bytes);
                    out.write_all(&bytes)?;
                }
            }
            Ok(())
        })
    }

    fn layout<S: Scheme>(&self, path: &Path, spec: &Spec<S>) -> Result<Layout> {
        Layout::new(&self.tensor_names, spec).map_err(|reason| error(path, &reason))
    }
}

/// The bytes before the entries, and where in the file the tensors begin.
struct Layout {
    header: Vec<u8>,
    tables: Vec<u64>,
    constants: Vec<u64>,
}

impl Layout {
    /// Lays out the file of a specification. The error is the reason.
    fn new<S: Scheme>(names: &[String], spec: &Spec<S>) -> std::result::Result<Self, String> {
        let names = super::tables::names_of::<S>(names)?;
        if let Some(name) = names
            .iter()
            .find(|name| name.is_empty() || **name == METADATA)
        {
            return Err(format!("a tensor cannot have the name {name:?}"));
        }
        let table = (Dtype::from(spec.dtype()), vec![spec.rows(), spec.width()]);
        let constants = spec.scheme().constants(spec.dtype()).into_iter();
        let constants = constants.map(|c| (Dtype::from(c.dtype), c.shape));
        let tensors = S::TABLES.iter().map(|_| table.clone()).chain(constants);
        let mut tensors: Vec<_> = names.iter().zip(tensors).enumerate().collect();
        // As the safetensors crate does: wider types first, then by name.
        tensors.sort_by(|(_, (a, (a_dtype, _))), (_, (b, (b_dtype, _)))| {
            b_dtype.cmp(a_dtype).then(a.cmp(b))
        });
        let (mut infos, mut begins) = (Vec::new(), vec![0; tensors.len()]);
        let mut at = 0usize;
        for (index, (name, (dtype, shape))) in tensors {
            let mut sizes = shape.iter();
            let bits = sizes.try_fold(dtype.bitsize(), |bits, dim| bits.checked_mul(*dim));
            let end = bits.and_then(|bits| at.checked_add(bits / 8));
            let end = end.ok_or("the table is too large for this machine")?;
            if let Some(begin) = begins.get_mut(index) {
                *begin = at as u64;
            }
            let data_offsets = (at, end);
            let info = TensorInfo {
                dtype,
                shape,
                data_offsets,
            };
            infos.push(((*name).to_owned(), info));
            at = end;
        }
        let json = spec.to_json().map_err(|error| reason(&error))?;
        let header = header(json, infos)?;
        let begins = begins
            .iter()
            .map(|begin| begin.saturating_add(header.len() as u64));
        let mut tables: Vec<u64> = begins.collect();
        let constants = tables.split_off(S::TABLES.len().min(tables.len()));
        Ok(Self {
            header,
            tables,
            constants,
        })
    }

    /// Writes everything but the tables.
    fn begin<S: Scheme>(&self, spec: &Spec<S>, out: &mut dyn NewFile) -> std::io::Result<()> {
        out.write_all(&self.header)?;
        let mut bytes = Vec::new();
        let constants = spec.scheme().constants(spec.dtype());
        for (place, constant) in self.constants.iter().zip(constants) {
            bytes.clear();
            let encoded: Result<()> = with_element!(constant.dtype, T => {
                encode_values::<T>(&constant.values, &mut bytes);
                Ok(())
            });
            encoded.map_err(std::io::Error::other)?;
            out.seek(SeekFrom::Start(*place))?;
            out.write_all(&bytes)?;
        }
        Ok(())
    }
}

/// Appends values as little-endian elements of a type that can hold them.
fn encode_values<T: Element>(values: &[f64], bytes: &mut Vec<u8>) {
    let elements: Vec<T> = values.iter().map(|value| T::from_f64(*value)).collect();
    encode(&elements, bytes);
}

/// Builds an error about a file to be written.
fn error(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    message::error(format_args!("{}: {reason}", path.display()))
}

/// Builds the header's length, the header, and spaces up to a multiple of 8 bytes, as the safetensors
/// crate writes them.
fn header(
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

fn put(path: &Path, write: impl FnOnce(&mut dyn NewFile) -> std::io::Result<()>) -> Result<()> {
    replace(path, write).map_err(|reason| error(path, &reason))
}
