//! Arrays of NumPy: .npy files, and .npz archives of them.
//!
//! Candle reads them too, but allocates what a header says before it reads a byte.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use flate2::read::DeflateDecoder;
use pe_candle::checkpoint::open_regular;
use zip::{CompressionMethod, ZipArchive};

use super::{Entries, FROM_TORCH, Float, Tensor, Wanted};

/// Longest header: shapes are short.
const MOST_HEADER: usize = 1 << 16;

pub(super) fn read(
    path: &Path,
    wanted: Wanted<'_>,
    visit: &mut dyn FnMut(Tensor) -> Result<()>,
) -> Result<()> {
    let file = open_regular(path)?;
    let bytes = file.metadata()?.len();
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if wanted.takes(&name) {
        visit(array(&name, std::io::BufReader::new(file), bytes, wanted)?)?;
    }
    Ok(())
}

pub(super) fn read_archive(
    path: &Path,
    wanted: Wanted<'_>,
    visit: &mut dyn FnMut(Tensor) -> Result<()>,
) -> Result<()> {
    let mut archive = ZipArchive::new(open_regular(path)?)?;
    let mut names = Vec::new();
    for index in 0..archive.len() {
        names.push(archive.by_index_raw(index)?.name()?.into_owned());
    }
    if names.iter().any(|name| name.ends_with("data.pkl")) {
        bail!("{FROM_TORCH}");
    }
    ensure!(
        names.iter().any(|name| name.ends_with(".npy")),
        "a zip archive without arrays of NumPy"
    );
    for (index, name) in names.iter().enumerate() {
        let Some(name) = name.strip_suffix(".npy").filter(|name| wanted.takes(name)) else {
            continue;
        };
        let entry = archive.by_index_raw(index)?;
        let size = entry.size();
        let tensor = match entry.compression() {
            CompressionMethod::Stored => array(name, entry, size, wanted),
            CompressionMethod::DEFLATE => array(name, DeflateDecoder::new(entry), size, wanted),
            other => Err(anyhow!("the compression {other:?} is not read")),
        };
        visit(tensor.with_context(|| format!("\"{}\"", name.escape_debug()))?)?;
    }
    Ok(())
}

/// Reads an array of at most `bytes` bytes with its header.
fn array(name: &str, mut reader: impl Read, bytes: u64, wanted: Wanted<'_>) -> Result<Tensor> {
    let mut start = [0; 8];
    reader.read_exact(&mut start)?;
    ensure!(start.starts_with(b"\x93NUMPY"), "not an array of NumPy");
    let mut length = [0; 4];
    let wide = start[6] >= 2;
    reader.read_exact(&mut length[..if wide { 4 } else { 2 }])?;
    let length = u32::from_le_bytes(length) as usize;
    ensure!(length <= MOST_HEADER, "the header has {length} bytes");
    let mut header = vec![0; length];
    reader.read_exact(&mut header)?;
    let header = String::from_utf8_lossy(&header).into_owned();
    let Header {
        dtype,
        fortran,
        shape,
    } = Header::parse(&header)?;
    let count = shape
        .iter()
        .try_fold(1u64, |n, side| n.checked_mul(*side as u64));
    let float = match dtype.trim_start_matches(['<', '=', '|', '>']) {
        "f4" => Some(Float::F32),
        "f8" => Some(Float::F64),
        "f2" => Some(Float::F16),
        _ => None,
    };
    let size = |float: Float| count.and_then(|count| count.checked_mul(float.bytes() as u64));
    let entries = match float {
        Some(float) => {
            let size = size(float).filter(|size| *size <= bytes);
            let size =
                size.ok_or_else(|| anyhow!("shape {shape:?} needs more bytes than there are"))?;
            if size > wanted.most_bytes {
                None
            } else {
                let mut data = Vec::new();
                reader.take(size).read_to_end(&mut data)?;
                ensure!(data.len() as u64 == size, "the file ends within the data");
                if dtype.starts_with('>') {
                    data.chunks_exact_mut(float.bytes())
                        .for_each(<[u8]>::reverse);
                }
                if fortran {
                    data = row_major(&data, &shape, float.bytes());
                }
                Some(float.read(&data))
            }
        }
        None => None,
    };
    Ok(Tensor {
        name: name.to_owned(),
        dtype: match &entries {
            Some(Entries::F32(_)) => "F32".to_owned(),
            Some(Entries::F64(_)) => "F64".to_owned(),
            Some(_) => "F16".to_owned(),
            None => dtype,
        },
        shape,
        entries,
    })
}

/// The header of an array: a dictionary of Python.
struct Header {
    dtype: String,
    fortran: bool,
    shape: Vec<usize>,
}

impl Header {
    fn parse(text: &str) -> Result<Self> {
        let value = |key: &str| {
            let rest = text.split_once(&format!("'{key}'"))?.1;
            Some(rest.trim_start().strip_prefix(':')?.trim_start())
        };
        let missing = |key: &str| anyhow!("the header has no {key}: {}", text.escape_debug());
        let dtype = value("descr").ok_or_else(|| missing("descr"))?;
        let dtype = dtype
            .strip_prefix('\'')
            .and_then(|rest| rest.split_once('\''))
            .ok_or_else(|| anyhow!("arrays of records are not read"))?
            .0;
        let fortran = value("fortran_order").is_some_and(|rest| rest.starts_with("True"));
        let shape = value("shape").ok_or_else(|| missing("shape"))?;
        let shape = shape
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
            .ok_or_else(|| missing("shape"))?
            .0;
        let sides = shape
            .split(',')
            .map(str::trim)
            .filter(|side| !side.is_empty());
        let shape = sides.map(|side| side.trim_end_matches('L').parse::<usize>());
        Ok(Self {
            dtype: dtype.to_owned(),
            fortran,
            shape: shape
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| missing("shape"))?,
        })
    }
}

/// Orders the entries of an array whose first axis is the fastest.
fn row_major(data: &[u8], shape: &[usize], size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut at = vec![0usize; shape.len()];
    for _ in 0..data.len() / size {
        let (mut place, mut stride) = (0, size);
        for (index, side) in at.iter().zip(shape) {
            place += index * stride;
            stride *= side;
        }
        out.extend_from_slice(&data[place..place + size]);
        for (index, side) in at.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < *side {
                break;
            }
            *index = 0;
        }
    }
    out
}
