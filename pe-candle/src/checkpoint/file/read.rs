//! An open safetensors file, read in blocks.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::{DType, Error, Result};
use pe_core::MAX_D_MODEL;
use safetensors::Dtype;

use super::message;

use super::blocks::{Block, RowBlocks};
use super::header::{Header, PREFIX, TensorInfo};
use super::limits::Limits;
use super::message::quoted;
use super::open::open_regular;

/// The usual name of a sinusoidal table's tensor.
pub const DEFAULT_TENSOR: &str = "pe";

/// A file with a checked header.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) bytes: u64,
    file: File,
    data: u64,
}

/// A tensor of a file that can be read as a table.
#[derive(Debug, Clone)]
pub(crate) struct TableInfo {
    pub(crate) tensor: TensorInfo,
    /// The type that the elements are read as: their own, or f32 for 8-bit types, which it holds
    /// without loss.
    pub(crate) dtype: DType,
    pub(crate) rows: usize,
    pub(crate) width: usize,
}

impl TableFile {
    /// Opens a regular file and reads its header.
    pub(crate) fn open(path: &Path, limits: Limits) -> Result<Self> {
        Self::open_or(path, limits)
            .map_err(|reason| message::error(format_args!("{}: {reason}", path.display())))
    }

    /// Does the same as [`TableFile::open`]. The error is the reason alone.
    pub(crate) fn open_or(path: &Path, limits: Limits) -> std::result::Result<Self, String> {
        let io = |error: std::io::Error| error.to_string();
        let mut file = open_regular(path).map_err(io)?;
        let bytes = file.metadata().map_err(io)?.len();
        if bytes > limits.file_bytes {
            return Err(format!(
                "the file has {bytes} bytes, above the limit of {}",
                limits.file_bytes
            ));
        }
        if bytes < PREFIX {
            return Err(format!(
                "the file has {bytes} bytes, too few for a safetensors header"
            ));
        }
        let mut prefix = [0; PREFIX as usize];
        file.read_exact(&mut prefix).map_err(io)?;
        let length = u64::from_le_bytes(prefix);
        if length > limits.header_bytes {
            return Err(format!(
                "the header's length is given as {length} bytes, above the limit of {} \
                 (is this a safetensors file?)",
                limits.header_bytes
            ));
        }
        let data = PREFIX.checked_add(length);
        let sizes = data.and_then(|data| Some((data, bytes.checked_sub(data)?)));
        let Some((data, data_bytes)) = sizes else {
            return Err(format!(
                "the header's length is given as {length} bytes, the file has only {bytes}"
            ));
        };
        let length = usize::try_from(length).map_err(|error| error.to_string())?;
        let mut text = Vec::new();
        reserve(&mut text, length)?;
        text.resize(length, 0);
        file.read_exact(&mut text).map_err(io)?;
        Ok(Self {
            path: path.to_owned(),
            header: Header::parse(&text, data_bytes)?,
            bytes,
            file,
            data,
        })
    }

    /// Builds an error about this file.
    pub(crate) fn error(&self, reason: impl std::fmt::Display) -> Error {
        message::error(format_args!("{}: {reason}", self.path.display()))
    }

    /// Builds an error about a tensor of this file.
    pub(crate) fn error_of(&self, tensor: &str, reason: impl std::fmt::Display) -> Error {
        self.error(format_args!("tensor {}: {reason}", quoted(tensor)))
    }

    /// Reads a whole tensor.
    pub(crate) fn read_all(&mut self, tensor: &TensorInfo) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        usize::try_from(tensor.bytes)
            .map_err(|error| error.to_string())
            .and_then(|length| {
                reserve(&mut bytes, length)?;
                bytes.resize(length, 0);
                Ok(())
            })
            .map_err(|reason| self.error_of(&tensor.name, reason))?;
        self.read_at(tensor, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads bytes of a tensor, starting at one of its bytes.
    pub(crate) fn read_at(&mut self, tensor: &TensorInfo, from: u64, out: &mut [u8]) -> Result<()> {
        let begin = self.data.checked_add(tensor.begin);
        let place = begin.and_then(|begin| begin.checked_add(from));
        place
            .ok_or_else(|| ErrorKind::InvalidInput.into())
            .and_then(|place| self.file.seek(SeekFrom::Start(place)))
            .and_then(|_| self.file.read_exact(out))
            .map_err(|error| self.error_of(&tensor.name, format!("byte {from}: {error}")))
    }

    /// Returns the tensor of this name. Without a name it is `pe`, or else the only one that can be a table. The
    /// error is the reason.
    pub(crate) fn table(&self, name: Option<&str>) -> std::result::Result<TableInfo, String> {
        let wanted = match name {
            Some(name) => self.header.tensor(name),
            None => self.header.tensor(DEFAULT_TENSOR).or_else(|| {
                let mut tables = self.header.tensors.iter().filter(|t| as_table(t).is_ok());
                let first = tables.next();
                first.filter(|_| tables.next().is_none())
            }),
        };
        let Some(tensor) = wanted else {
            let missing = match name {
                Some(name) => format!("no tensor {}", quoted(name)),
                None => format!("no tensor {DEFAULT_TENSOR:?}, nor one alone that can be a table"),
            };
            return Err(format!("{missing}; the file holds {}", self.list()));
        };
        as_table(tensor).map_err(|reason| format!("tensor {}: {reason}", quoted(&tensor.name)))
    }

    /// Lists the first tensors.
    pub(crate) fn list(&self) -> String {
        const SHOWN: usize = 16;
        let all = &self.header.tensors;
        if all.is_empty() {
            return "no tensors".to_owned();
        }
        let mut words: Vec<String> = all
            .iter()
            .take(SHOWN)
            .map(|t| format!("{} {} {:?}", quoted(&t.name), t.dtype, t.shape))
            .collect();
        let more = all.iter().skip(SHOWN).len();
        if more > 0 {
            words.push(format!("and {more} more"));
        }
        words.join(", ")
    }

    /// Reads tables of the same rows and width in blocks.
    pub(crate) fn blocks<'a>(
        &'a mut self,
        tables: &'a [TensorInfo],
        rows: RowBlocks,
    ) -> Blocks<'a> {
        let file = self;
        Blocks { rows, file, tables }
    }
}

/// The rows of tables in blocks of complete rows, in the order of the file.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    rows: RowBlocks,
    file: &'a mut TableFile,
    tables: &'a [TensorInfo],
}

impl Blocks<'_> {
    /// Reads the next block of every table. Returns `None` at the end, and after an error.
    pub(crate) fn next(&mut self, bytes: &mut Vec<Vec<u8>>) -> Result<Option<Block>> {
        let Some(block) = self.rows.next() else {
            return Ok(None);
        };
        bytes.resize_with(self.tables.len(), Vec::new);
        for (table, bytes) in self.tables.iter().zip(bytes) {
            bytes.resize(block.bytes.len(), 0);
            if let Err(error) = self.file.read_at(table, block.bytes.start as u64, bytes) {
                self.rows.by_ref().for_each(drop);
                return Err(error);
            }
        }
        Ok(Some(block))
    }
}

/// Checks that a file is a well-formed safetensors file. The error is the reason.
#[cfg(feature = "hub")]
pub(crate) fn check_file(path: &Path) -> std::result::Result<(), String> {
    TableFile::open_or(path, Limits::default()).map(|_| ())
}

/// Reads a tensor of shape `[T, d]`, `[1, T, d]`, or `[T, 1, d]` as a table.
fn as_table(tensor: &TensorInfo) -> std::result::Result<TableInfo, String> {
    let dtype = match tensor.dtype {
        Dtype::F32 | Dtype::F8_E4M3 | Dtype::F8_E5M2 => DType::F32,
        Dtype::F64 => DType::F64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        other => {
            return Err(format!(
                "elements of type {other} are not those of a table (F32, F64, F16, BF16, \
                 F8_E4M3, F8_E5M2)"
            ));
        }
    };
    let (rows, width) = match tensor.shape[..] {
        [rows, width] | [1, rows, width] | [rows, 1, width] => (rows, width),
        _ => {
            return Err(format!(
                "shape {:?} is not [T, d], [1, T, d] or [T, 1, d]",
                tensor.shape
            ));
        }
    };
    if width == 0 || width > MAX_D_MODEL {
        return Err(format!("the width {width} is outside 1..={MAX_D_MODEL}"));
    }
    Ok(TableInfo {
        tensor: tensor.clone(),
        dtype,
        rows,
        width,
    })
}

/// Reserves memory, or returns an error if the allocator has none.
pub(crate) fn reserve<T>(list: &mut Vec<T>, count: usize) -> std::result::Result<(), String> {
    list.try_reserve_exact(count)
        .map_err(|_| format!("no memory for {count} elements of {} bytes", size_of::<T>()))
}
