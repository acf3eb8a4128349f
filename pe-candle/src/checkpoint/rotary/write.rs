//! From a specification to a file.

use std::io::{self, Write};
use std::path::Path;

use candle_core::Result;
use pe_core::{Element, RotaryFrequencies};
use safetensors::tensor::TensorInfo;

use super::{COS_TENSOR, INV_FREQ_TENSOR, RotarySpec, inv_freq_dtype, tensors};
use crate::checkpoint::file::blocks::RowBlocks;
use crate::checkpoint::file::element::{encode, with_element};
use crate::checkpoint::file::message::reason;
use crate::checkpoint::write::{error, header, put};

/// Computes the cosines and sines of a specification and writes them with their frequencies:
/// `cos` and `sin` of shape `[rows, rotary_dim/2]`, multiplied by the attention factor, and
/// `inv_freq` of shape `[rotary_dim/2]`.
///
/// `inv_freq` is f32, the type in which other programs keep it (f64 if the tables are): 16 bits
/// would be too few, because its error is multiplied by the position. The exact tables are made
/// from the real frequencies, not from these.
///
/// The file is put in place in one step as [`save`](crate::checkpoint::save) does it, and equal
/// input gives equal bytes. The tables are never in memory as a whole: they are computed in
/// blocks, once for the cosines and once for the sines, which stand apart in the file.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("rotary.safetensors");
/// use candle_core::{DType, Device};
/// use pe_candle::checkpoint::{self, RotarySpec};
/// use pe_candle::RotaryConfig;
///
/// let spec = RotarySpec::new(RotaryConfig::new(128), 0, 4096, DType::F32)?;
/// checkpoint::export_rotary(&path, &spec)?;
/// let loaded = checkpoint::load_rotary(&path, &Device::Cpu)?;
/// assert_eq!(loaded.cos.dims(), [4096, 64]);
/// assert_eq!(loaded.spec, spec);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A specification that [`RotarySpec::check`] refuses; a path that stands for anything but a
/// regular file or nothing; whatever the file system refuses. The old file, if any, is then as
/// it was.
pub fn export_rotary<P: AsRef<Path>>(path: P, spec: &RotarySpec) -> Result<()> {
    let path = path.as_ref();
    let of = |reason: &dyn std::fmt::Display| error(path, reason);
    let frequencies = spec.check().map_err(|error| of(&reason(&error)))?;
    let json = spec.to_json().map_err(|error| of(&reason(&error)))?;
    let infos = infos(spec).ok_or_else(|| of(&"the table is too large for this machine"))?;
    let header = header(json, infos).map_err(|error| of(&error))?;
    with_element!(spec.dtype, T => put(path, |out| {
        out.write_all(&header)?;
        write::<T>(spec, &frequencies, out)
    }))
}

/// Names, types, shapes and places, if all can be told as numbers.
fn infos(spec: &RotarySpec) -> Option<Vec<(String, TensorInfo)>> {
    let mut begin = 0usize;
    let place = |(name, dtype, shape): (&str, safetensors::Dtype, Vec<usize>)| {
        let bits = shape
            .iter()
            .try_fold(dtype.bitsize(), |bits, dim| bits.checked_mul(*dim))?;
        let end = begin.checked_add(bits / 8)?;
        let info = TensorInfo {
            dtype,
            shape,
            data_offsets: (begin, end),
        };
        begin = end;
        Some((name.to_owned(), info))
    };
    tensors(spec).into_iter().map(place).collect()
}

fn write<T: Element>(
    spec: &RotarySpec,
    frequencies: &RotaryFrequencies,
    out: &mut dyn Write,
) -> io::Result<()> {
    let pairs = frequencies.pairs();
    let blocks = RowBlocks::new(spec.rows, pairs, size_of::<T>()).map_err(io::Error::other)?;
    let (mut cos, mut sin, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for (name, ..) in tensors(spec) {
        if name == INV_FREQ_TENSOR {
            out.write_all(&inv_freq_bytes(spec, frequencies))?;
            continue;
        }
        for block in blocks.clone() {
            for entries in [&mut cos, &mut sin] {
                entries.resize(block.entries.len(), T::default());
            }
            frequencies
                .fill(spec.position(block.row), &mut cos, &mut sin)
                .map_err(io::Error::other)?;
            bytes.clear();
            encode(if name == COS_TENSOR { &cos } else { &sin }, &mut bytes);
            out.write_all(&bytes)?;
        }
    }
    Ok(())
}

/// The frequencies as they stand in the file.
pub(super) fn inv_freq_bytes(spec: &RotarySpec, frequencies: &RotaryFrequencies) -> Vec<u8> {
    let mut bytes = Vec::new();
    match inv_freq_dtype(spec.dtype) {
        candle_core::DType::F64 => encode(&frequencies.inv_freq(), &mut bytes),
        _ => encode(&frequencies.inv_freq_f32(), &mut bytes),
    }
    bytes
}
