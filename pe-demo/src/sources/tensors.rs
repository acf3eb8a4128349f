//! The tensors of files of several formats: safetensors, NumPy's .npy and .npz, CSV, GGUF.

mod csv;
mod gguf;
mod npy;
mod safetensors;

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use pe_core::{Identification, bf16, f16, identify};

use super::file;
use crate::terminal::width::{clean, clean_path};

/// A tensor of a file.
pub(crate) struct Tensor {
    pub(crate) name: String,
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    /// `None` if the type has no floats, or the tensor is larger than is wanted.
    pub(crate) entries: Option<Entries>,
}

/// The entries of a tensor in their own type.
pub(crate) enum Entries {
    F32(Vec<f32>),
    F64(Vec<f64>),
    F16(Vec<f16>),
    BF16(Vec<bf16>),
}

/// Evaluates an expression with the vector of entries, whatever their type.
macro_rules! each_type {
    ($entries:expr, $values:ident => $body:expr) => {
        match $entries {
            $crate::sources::tensors::Entries::F32($values) => $body,
            $crate::sources::tensors::Entries::F64($values) => $body,
            $crate::sources::tensors::Entries::F16($values) => $body,
            $crate::sources::tensors::Entries::BF16($values) => $body,
        }
    };
}
pub(crate) use each_type;

impl Entries {
    /// Names the convention of a tensor.
    ///
    /// # Errors
    /// Returns the errors of [`pe_core::identify`] with the tensor's name.
    pub(crate) fn identify(&self, name: &str, shape: &[usize]) -> Result<Identification> {
        each_type!(self, values => identify(values, shape))
            .map_err(|error| anyhow!("the tensor \"{}\": {error}", clean(name, 200)))
    }
}

/// Types of floats.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Float {
    F32,
    F64,
    F16,
    BF16,
}

impl Float {
    const fn bytes(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::BF16 => 2,
        }
    }

    /// Reads entries from little-endian bytes.
    fn read(self, bytes: &[u8]) -> Entries {
        macro_rules! read {
            ($type:ty) => {{
                let (entries, _) = bytes.as_chunks();
                entries
                    .iter()
                    .copied()
                    .map(<$type>::from_le_bytes)
                    .collect()
            }};
        }
        match self {
            Self::F32 => Entries::F32(read!(f32)),
            Self::F64 => Entries::F64(read!(f64)),
            Self::F16 => Entries::F16(read!(f16)),
            Self::BF16 => Entries::BF16(read!(bf16)),
        }
    }
}

/// The tensors of a file that are read.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The only one. `None` for all.
    pub(crate) name: Option<&'a str>,
    /// Most bytes of one, which has no entries above that.
    pub(crate) most_bytes: u64,
}

impl Wanted<'_> {
    /// Most bytes of a table of positions.
    pub(crate) const MOST: u64 = 1 << 30;

    fn takes(&self, name: &str) -> bool {
        self.name.is_none_or(|wanted| wanted == name)
    }
}

/// Reads the tensors of a file that are wanted, one after the other, in the file's order.
///
/// # Errors
/// Returns an error if the file cannot be read, or has another format. The message names it.
pub(crate) fn read(
    path: &Path,
    wanted: Wanted<'_>,
    visit: &mut dyn FnMut(Tensor) -> Result<()>,
) -> Result<()> {
    let here = || clean_path(path);
    let start = file::start(path, 16).with_context(here)?;
    let ending = path.extension().map(|e| e.to_ascii_lowercase());
    let ending = ending.as_ref().and_then(|e| e.to_str()).unwrap_or_default();
    match start.as_slice() {
        [b'G', b'G', b'U', b'F', ..] => gguf::read(path, wanted, visit),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => npy::read(path, wanted, visit),
        [b'P', b'K', 3, 4, ..] => npy::read_archive(path, wanted, visit),
        start => {
            if let Some(format) = other_format(start, ending) {
                bail!("{}: {}", here(), format);
            }
            match ending {
                "csv" | "tsv" | "txt" => csv::read(path, wanted, visit),
                _ => safetensors::read(path, wanted, visit),
            }
        }
    }
    .map_err(|error| {
        // The message of a format's reader, behind the name of the file.
        let message = format!("{error:#}");
        match message.starts_with(&here()) {
            true => error,
            false => anyhow!("{}: {}", here(), clean(&message, 400)),
        }
    })
}

/// How a file of PyTorch becomes one that can be read.
pub(super) const FROM_TORCH: &str = "a PyTorch file (pickle), which can run code when it is loaded; convert it where it \
    comes from: python -c \"import torch, safetensors.torch as s; \
    s.save_file(torch.load('FILE', weights_only=True), 'FILE.safetensors')\"";

/// Names the formats that are not read, by their first bytes, with the way out.
fn other_format(start: &[u8], ending: &str) -> Option<&'static str> {
    let is = |magic: &[u8]| start.starts_with(magic);
    Some(match start {
        [0x80, 2..=5, ..] => FROM_TORCH,
        _ if is(b"\x89HDF\r\n\x1a\n") => {
            "an HDF5 file (Keras); convert it: python -c \"import h5py, numpy; f = h5py.File('FILE'); \
             numpy.save('table.npy', f['NAME'][:])\""
        }
        _ if is(&[0x1f, 0x8b]) => "a file compressed by gzip; decompress it: gunzip FILE",
        _ if is(&[0x28, 0xb5, 0x2f, 0xfd]) => {
            "a file compressed by Zstandard; decompress it: unzstd FILE"
        }
        _ if is(b"PAR1") => "a Parquet file; save the table with numpy.save",
        _ if is(b"ARROW1") => "an Arrow file; save the table with numpy.save",
        _ if start.get(4..8) == Some(b"TFL3") => {
            "a TensorFlow Lite model; save the table with numpy.save"
        }
        _ if is(b"\x89PNG") || is(b"GIF8") || is(&[0xff, 0xd8, 0xff]) => "a picture",
        _ if ending == "onnx" => {
            "an ONNX model; save its tensor: numpy.save('table.npy', \
             onnx.numpy_helper.to_array(tensor))"
        }
        _ if ending == "msgpack" => {
            "a Flax file (MessagePack); load it with flax.serialization.msgpack_restore and save the \
             table with numpy.save"
        }
        _ if ending == "index" || ending == "meta" => {
            "part of a TensorFlow checkpoint; read the table with tf.train.load_checkpoint and save it \
             with numpy.save"
        }
        _ => return None,
    })
}
