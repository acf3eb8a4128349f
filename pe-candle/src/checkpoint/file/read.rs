//! An open safetensors file, of which parts are read in blocks.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::{DType, Error, Result};
use pe_core::MAX_D_MODEL;
use safetensors::Dtype;

use super::message;

use super::blocks::{Block, RowBlocks};
use super::header::{Header, Limits, PREFIX, TensorInfo};
use super::message::quoted;

/// The tensor's name, unless another is asked for.
pub const DEFAULT_TENSOR: &str = "pe";

/// A file whose header has been read and checked.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) path: PathBuf,
    pub(crate) header: Header,
    pub(crate) bytes: u64,
    file: File,
    data: u64,
    limits: Limits,
}

/// A tensor of a file seen as a table.
#[derive(Debug, Clone)]
pub(crate) struct TableInfo {
    pub(crate) tensor: TensorInfo,
    /// The type that the elements are read as: f32 for those of eight bits, which it holds
    /// without loss, and else their own.
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

    /// As [`TableFile::open`]; the error is the reason alone.
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
            limits,
        })
    }

    /// An error about this file.
    pub(crate) fn error(&self, reason: impl std::fmt::Display) -> Error {
        message::error(format_args!("{}: {reason}", self.path.display()))
    }

    /// An error about a tensor of this file.
    pub(crate) fn error_of(&self, tensor: &str, reason: impl std::fmt::Display) -> Error {
        self.error(format_args!("tensor {}: {reason}", quoted(tensor)))
    }

    /// Reads bytes of a tensor, from one of its bytes on.
    pub(crate) fn read_at(&mut self, tensor: &TensorInfo, from: u64, out: &mut [u8]) -> Result<()> {
        self.seek(tensor, from)
            .and_then(|()| self.file.read_exact(out))
            .map_err(|error| self.error_of(&tensor.name, format!("byte {from}: {error}")))
    }

    /// Goes to a byte of a tensor.
    fn seek(&mut self, tensor: &TensorInfo, from: u64) -> std::io::Result<()> {
        let begin = self.data.checked_add(tensor.begin);
        let place = begin.and_then(|begin| begin.checked_add(from));
        let place = place.ok_or(std::io::ErrorKind::InvalidInput)?;
        self.file.seek(SeekFrom::Start(place)).map(|_| ())
    }

    /// The tensor asked for, or else `pe`, or else the only one that can be a table.
    pub(crate) fn table(&self, name: Option<&str>) -> Result<TableInfo> {
        let wanted = match name {
            Some(name) => self.header.tensor(name),
            None => self.header.tensor(DEFAULT_TENSOR).or_else(|| {
                let mut tables = self.header.tensors.iter().filter(|t| as_table(t).is_ok());
                let first = tables.next();
                first.filter(|_| tables.next().is_none())
            }),
        };
        let Some(tensor) = wanted else {
            let what = match name {
                Some(name) => format!("no tensor {}", quoted(name)),
                None => format!("no tensor {DEFAULT_TENSOR:?}, nor one alone that can be a table"),
            };
            return Err(self.error(format!("{what}; the file holds {}", self.list())));
        };
        match as_table(tensor) {
            Ok((rows, width, dtype)) => {
                if tensor.bytes > self.limits.table_bytes {
                    return Err(self.error_of(
                        &tensor.name,
                        format!(
                            "{} bytes, above the limit of {}",
                            tensor.bytes, self.limits.table_bytes
                        ),
                    ));
                }
                Ok(TableInfo {
                    tensor: tensor.clone(),
                    dtype,
                    rows,
                    width,
                })
            }
            Err(reason) => Err(self.error_of(&tensor.name, reason)),
        }
    }

    /// The tensors in words, not too many of them.
    fn list(&self) -> String {
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

    /// The table's rows, to be read block by block.
    pub(crate) fn blocks<'a>(&'a mut self, table: &'a TableInfo) -> Result<Blocks<'a>> {
        // The types that a table can have are of whole bytes.
        let rows = RowBlocks::new(table.rows, table.width, table.tensor.dtype.bitsize() / 8)
            .map_err(|reason| self.error_of(&table.tensor.name, reason))?;
        self.seek(&table.tensor, 0).map_err(|e| self.error(e))?;
        Ok(Blocks {
            rows,
            file: self,
            table,
        })
    }
}

/// The rows of a table in blocks of whole rows, in the order of the file.
#[derive(Debug)]
pub(crate) struct Blocks<'a> {
    rows: RowBlocks,
    file: &'a mut TableFile,
    table: &'a TableInfo,
}

impl Blocks<'_> {
    /// How many entries there are.
    pub(crate) fn entries(&self) -> usize {
        self.rows.entries()
    }

    /// The entries of every block but the last, which may have fewer.
    pub(crate) fn entries_per_block(&self) -> usize {
        self.rows.entries_per_block()
    }

    /// An error about the table.
    pub(crate) fn error(&self, reason: impl std::fmt::Display) -> Error {
        self.file.error_of(&self.table.tensor.name, reason)
    }

    /// Reads the next block; `None` at the end, and after an error.
    pub(crate) fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Block>> {
        let Some(block) = self.rows.next() else {
            return Ok(None);
        };
        bytes.resize(block.bytes.len(), 0);
        if let Err(error) = self.file.file.read_exact(bytes) {
            self.rows.by_ref().for_each(drop);
            return Err(self.error(format!("row {}: {error}", block.row)));
        }
        Ok(Some(block))
    }
}

/// Returns why a file is not a well-formed safetensors file, if it is none.
#[cfg(feature = "hub")]
pub(crate) fn check_file(path: &Path) -> std::result::Result<(), String> {
    TableFile::open_or(path, Limits::default()).map(|_| ())
}

/// Opens a regular file for reading, and nothing else: a pipe would wait for a writer, a device may not end.
pub(crate) fn open_regular(path: &Path) -> std::io::Result<File> {
    let regular = |metadata: std::fs::Metadata| match metadata.is_file() {
        true => Ok(()),
        false => Err(std::io::Error::other("not a regular file")),
    };
    regular(std::fs::metadata(path)?)?;
    let file = open_file(path)?;
    // Another may have taken the name by now.
    regular(file.metadata()?)?;
    Ok(file)
}

/// Opens a file for reading, without waiting even if it has become a pipe.
#[cfg(target_os = "linux")]
fn open_file(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    options.read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(not(target_os = "linux"))]
fn open_file(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Rows, width and type of a tensor of shape `[T, d]`, `[1, T, d]` or `[T, 1, d]`.
fn as_table(tensor: &TensorInfo) -> std::result::Result<(usize, usize, DType), String> {
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
    Ok((rows, width, dtype))
}

/// Makes room or says that there is none.
pub(crate) fn reserve<T>(list: &mut Vec<T>, count: usize) -> std::result::Result<(), String> {
    list.try_reserve_exact(count)
        .map_err(|_| format!("no memory for {count} elements of {} bytes", size_of::<T>()))
}
